// Tested by: across_ranks_test.cpp
#include <fmt/format.h>

#include <algorithm>

#include "analysis/counted_steps.h"
#include "analysis/explain.h"
#include "analysis/phrases.h"

namespace ws {
namespace {

std::string ranks_text(const std::vector<int32_t>& ranks) {
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size() && i < 8; ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > 8) out += fmt::format(" and {} more", ranks.size() - 8);
  return out;
}

// Clocks that had to be moved, and how well they agree afterwards.
std::string clocks(const AcrossRanks& across, const std::vector<RankAnalysis>& ranks) {
  std::vector<int32_t> ahead, behind;
  TimeNs most_ahead = 0, most_behind = 0;
  for (const RankAnalysis& rank : ranks) {
    for (const DeviceAnalysis& device : rank.devices) {
      const TimeNs offset = device.clock_offset_ns.value_or(0);
      if (offset > kEndToleranceNs) {
        ahead.push_back(rank.rank);
        most_ahead = std::max(most_ahead, offset);
      } else if (-offset > kEndToleranceNs) {
        behind.push_back(rank.rank);
        most_behind = std::max(most_behind, -offset);
      }
    }
  }
  if (ahead.empty() && behind.empty()) return {};
  const auto run = [](const std::vector<int32_t>& who, TimeNs ns, const char* way) {
    return fmt::format("the clock{} of {} run{} {}{} {}", who.size() == 1 ? "" : "s",
                       ranks_text(who), who.size() == 1 ? "s" : "", who.size() == 1 ? "" : "up to ",
                       duration(ns), way);
  };
  std::string out;
  if (!ahead.empty()) out = run(ahead, most_ahead, "ahead");
  if (!behind.empty()) out += (out.empty() ? "" : ", ") + run(behind, most_behind, "behind");
  out += fmt::format(": aligned on the common end of {} collectives, to {}", across.clock_samples,
                     duration(across.clock_error_ns));
  if (across.straggler.kind == StragglerKind::none || across.late_ranks.empty())
    out += "; no straggler after that";
  return out;
}

// How exposed communication divides, where ranks were matched.
std::string division(const AcrossRanks& across, const RunMeans& means) {
  const PerGroup<LossNs> losses = losses_of(means.mean, means.offload_idle_ns, means.stage);
  const TimeNs transfer = at(losses, LossGroup::communication).lo_ns;
  const TimeNs wait = at(losses, LossGroup::imbalance).lo_ns;
  if (across.split == 0 || (transfer + wait) * 100 < means.step_ns()) return {};
  std::string out = fmt::format(
      "of the exposed collectives {} a step is transfer ({}) and {} is waiting for late ranks ({})",
      duration(transfer), percent(ratio(transfer, means.step_ns())), duration(wait),
      percent(ratio(wait, means.step_ns())));
  if (20 * wait < transfer) out += ": the ranks arrive together, this is transfer, not waiting";
  // Where part of it blocks nothing, the sentence on that part says what hiding gains.
  if (20 * wait < transfer && means.not_blocking_ns * 100 < means.step_ns())
    out += "; exposed time is an upper bound of what hiding it gains";
  return out + fmt::format(" ({} of {} collectives matched across {} ranks)", across.split,
                           across.instances, across.ranks);
}

std::string_view words(LateCategory c) {
  switch (c) {
    case LateCategory::gemm:
      return "GEMM";
    case LateCategory::expert_gemm:
      return "expert (grouped) GEMM";
    case LateCategory::attention:
      return "attention";
    case LateCategory::membound:
      return "memory bound kernels";
    case LateCategory::compute_other:
      return "other kernels";
    case LateCategory::recompute:
      return "recompute";
    case LateCategory::copy:
      return "copies from and to the host";
    case LateCategory::offload:
      return "offload copies";
    case LateCategory::launch:
      return "launching";
    case LateCategory::host:
      return "host time without launches";
    case LateCategory::sync:
      return "host synchronisation";
    case LateCategory::alloc:
      return "allocator calls";
    case LateCategory::dataload:
      return "data loading";
    case LateCategory::gc:
      return "Python garbage collection";
    case LateCategory::jit:
      return "code loading";
    case LateCategory::profiler:
      return "the profiler's own work";
    case LateCategory::unknown:
      break;
  }
  return "a reason the records do not show";
}

std::string who_waits(const AcrossRanks& across, const RunMeans& means) {
  const PerGroup<LossNs> losses = losses_of(means.mean, means.offload_idle_ns, means.stage);
  const TimeNs wait = at(losses, LossGroup::imbalance).lo_ns;
  if (across.causes.empty() || wait * 50 < means.step_ns()) return {};
  const LateCause& first = across.causes.front();
  TimeNs all = 0, alike = 0;  // alike: for this reason, whoever was late
  for (const LateCause& late : across.causes) {
    all += late.marginal_ns;
    if (late.category == first.category && late.transfer == first.transfer)
      alike += late.marginal_ns;
  }
  std::string out;
  switch (across.straggler.kind) {
    case StragglerKind::persistent:
      out = fmt::format("rank {} is the late one, step after step ({} of {} steps)",
                        across.straggler.rank, across.late_steps, across.steps);
      break;
    case StragglerKind::transient:
      out = fmt::format("rank {} is late in {}, only 1 of {} steps", across.straggler.rank,
                        across.straggler_step, across.steps);
      break;
    case StragglerKind::seldom:
      out = fmt::format(
          "rank {} is the late one in {} of {} steps: too few to tell a habit from an "
          "accident, record at least three",
          across.straggler.rank, across.late_steps, across.steps);
      break;
    default:
      out = fmt::format("the late rank changes ({} by turns)", ranks_text(across.late_ranks));
  }
  out += fmt::format(
      "; the other ranks wait for it in their collectives, {} a step: they are the victims, not "
      "the cause. What takes it longer than the others before it arrives: mostly {}",
      duration(wait),
      first.transfer ? fmt::format("slower {} transfers", name_of(*first.transfer))
                     : std::string(words(first.category)));
  if (all > 0) out += fmt::format(" ({} of the delay)", percent(ratio(alike, all)));
  return out;
}

std::string slow_gpu(const AcrossRanks& across) {
  const bool persistent = across.straggler.kind == StragglerKind::persistent;
  if (!persistent && across.straggler.kind != StragglerKind::seldom) return {};
  for (const LateRank& late : across.late) {
    if (late.rank != across.straggler.rank || late.equal_kernels == 0) continue;
    if (late.slower_kernels < 0.03) {
      return fmt::format(
          "rank {} runs the same kernels as fast as the others ({} names compared): it is late for "
          "what its host does",
          late.rank, late.equal_kernels);
    }
    return fmt::format(
        "rank {} runs the same kernels {} slower than the other ranks{} ({} names with equal "
        "counts compared)",
        late.rank, percent(late.slower_kernels), persistent ? ", on every step" : "",
        late.equal_kernels);
  }
  return {};
}

std::string experts(const AcrossRanks& across) {
  if (!across.experts || across.experts->max_over_mean < 1.1) return {};
  const ExpertBalance& e = *across.experts;
  return fmt::format(
      "expert (grouped) GEMM time differs {:.1f}x between ranks (maximum {:.2f} times the mean, "
      "over {} exchanges), which the ranks with less work spend waiting{}",
      e.max_over_min, e.max_over_mean, e.layers,
      e.hot_ranks > 1
          ? fmt::format("; the hot rank changes from layer to layer ({} different ones): routing, "
                        "not a slow GPU",
                        e.hot_ranks)
          : std::string("; it is always the same rank: expert placement"));
}

std::string pipeline(const AcrossRanks& across) {
  if (!across.pipeline || across.pipeline->bubble_hi_share < 0.02) return {};
  const PipelineShape& p = *across.pipeline;
  std::string out = fmt::format(
      "the {} pipeline stages wait {} of the step for each other: the long send and receive "
      "kernels "
      "are waiting, not transfer",
      p.stages,
      p.bubble_hi_share - p.bubble_share < 0.001
          ? percent(p.bubble_share)
          : fmt::format("{} to {}", percent(p.bubble_share), percent(p.bubble_hi_share)));
  if (p.micro_batches_like > 0) {
    out += fmt::format(
        ". A 1F1B schedule of {} equal stages with {} micro-batches has just this bubble by "
        "itself: (p-1)/(m+p-1) = {}/{} = {}",
        p.stages, p.micro_batches_like, p.stages - 1, p.micro_batches_like + p.stages - 1,
        percent(ratio(p.stages - 1, p.micro_batches_like + p.stages - 1)));
  }
  out += fmt::format("; the busiest stage computes {:.2f} times the mean", p.stage_max_over_mean);
  return out;
}

}  // namespace

void explain_across(const AcrossRanks& across, const std::vector<RankAnalysis>& ranks,
                    const RunMeans& means, RunVerdict& verdict) {
  const bool wait_matters =
      verdict.loss == LossGroup::imbalance || verdict.also == LossGroup::imbalance;
  std::vector<std::string> all = {who_waits(across, means)};
  if (wait_matters) {
    all.push_back(slow_gpu(across));
  }
  all.push_back(experts(across));
  all.push_back(pipeline(across));
  all.push_back(division(across, means));
  all.push_back(clocks(across, ranks));
  for (std::string& sentence : all)
    if (!sentence.empty()) verdict.why.push_back(std::move(sentence));
}

}  // namespace ws
