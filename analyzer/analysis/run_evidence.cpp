// Tested by: run_evidence_test.cpp
#include "analysis/run_evidence.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/counted_steps.h"
#include "analysis/how_to_record.h"
#include "analysis/median.h"
#include "analysis/phrases.h"

namespace ws {
namespace {

bool is_cut_off(const RankAnalysis& rank) { return is_incomplete(rank.notes); }

int64_t count_of(std::span<const RankAnalysis> ranks, NoteCode code) {
  int64_t out = 0;
  for (const RankAnalysis& rank : ranks) out += rank.notes.count(code);
  return out;
}

std::string how_to_get_the_file() {
  return "the whole file: copy or export it again, or record again and let the profiler finish "
         "writing";
}

bool steady(const Step& step) { return step.complete && step.steady; }

bool has_collectives(const RankAnalysis& rank) {
  for (const DeviceAnalysis& device : rank.devices)
    for (const CollectiveRow& row : device.collectives)
      if (!row.peer_copy) return true;
  return false;
}

int64_t job_size(const std::vector<RankAnalysis>& ranks) {
  int64_t size = 0;
  for (const RankAnalysis& rank : ranks) {
    size = std::max<int64_t>(size, rank.world_size);
    for (const Communicator& c : rank.communicators)
      size = std::max({size, c.size, static_cast<int64_t>(c.members.size())});
    if (size == 0 && has_collectives(rank)) size = 2;
  }
  return size;
}

// Devices of one process are ranks of one communicator when a single process drives them all.
int64_t participants(const std::vector<RankAnalysis>& ranks) {
  int64_t count = 0;
  for (const RankAnalysis& rank : ranks)
    count += std::max<int64_t>(1, static_cast<int64_t>(rank.devices.size()));
  return count;
}

std::vector<TimeNs> steady_times(const DeviceAnalysis& device) {
  std::vector<TimeNs> out;
  for (const Step& step : device.steps)
    if (steady(step)) out.push_back(step.window.length());
  return out;
}

// Every step faster than the one before by more than jitter.
bool keeps_falling(const std::vector<TimeNs>& times, TimeNs median) {
  for (size_t i = 1; i < times.size(); ++i)
    if ((times[i - 1] - times[i]) * 50 < median) return false;
  return true;
}

// Below kEnoughSteps the times must agree; a run that still gets faster is warming up.
std::optional<NotEnough> unsteady(const std::vector<RankAnalysis>& ranks) {
  for (const RankAnalysis& rank : ranks) {
    for (const DeviceAnalysis& device : rank.devices) {
      const std::vector<TimeNs> times = steady_times(device);
      const auto count = static_cast<int64_t>(times.size());
      if (count < 2 || count >= kEnoughSteps) continue;
      std::vector<TimeNs> sorted = times;
      const TimeNs median = quantile(sorted, 1, 2);
      const auto [lo, hi] = std::minmax_element(times.begin(), times.end());
      if ((*hi - *lo) * 10 <= median) continue;
      // Of two times one is always the larger: that is no trend.
      const bool falling = times.size() >= 3 && keeps_falling(times, median);
      return NotEnough{
          falling ? Cause::only_warmup : Cause::too_few_steps,
          fmt::format(
              "only {} steps to compare, and their times differ from {} to {}: {}", count,
              duration(*lo), duration(*hi),
              falling ? "the run still gets faster, this is warm-up" : rule_for_few_steps()),
          how_to_record_steps(ranks)};
    }
  }
  return std::nullopt;
}

// Of several complete steps all but one were left out of the means.
std::optional<NotEnough> one_counts(const std::vector<RankAnalysis>& ranks,
                                    const RunEvidence& evidence) {
  size_t most = 0;
  for (const RankAnalysis& rank : ranks)
    for (const DeviceAnalysis& device : rank.devices)
      most = std::max(most, steady_times(device).size());
  if (most > 1) return std::nullopt;
  return NotEnough{
      Cause::too_few_steps,
      fmt::format("only {} of {} complete steps counts, the others are left out as start-up or "
                  "interrupted: nothing tells whether it is like the others",
                  most == 1 ? "one" : "none", evidence.complete_steps),
      how_to_record_steps(ranks)};
}

struct StartUp {
  int64_t steps = 0, loading_steps = 0;
  TimeNs jit_ns = 0, alloc_ns = 0;
};

StartUp start_up_of(const std::vector<RankAnalysis>& ranks) {
  StartUp out;
  for (const RankAnalysis& rank : ranks) {
    for (const DeviceAnalysis& device : rank.devices) {
      for (size_t i = 0; i < device.steps.size(); ++i) {
        if (!device.steps[i].complete) continue;
        const Breakdown& p = device.breakdowns[i];
        ++out.steps;
        out.loading_steps += p[Leaf::idle_jit] * 20 >= p.total() && p.total() > 0 ? 1 : 0;
        out.jit_ns += p[Leaf::idle_jit];
        out.alloc_ns += p[Leaf::idle_alloc];
      }
    }
  }
  return out;
}

NotEnough one_step(const std::vector<RankAnalysis>& ranks) {
  const StartUp start = start_up_of(ranks);
  const Step* step = nullptr;
  for (const RankAnalysis& rank : ranks) {
    for (const DeviceAnalysis& device : rank.devices)
      for (const Step& s : device.steps)
        if (s.complete && step == nullptr) step = &s;
  }
  const bool first = step != nullptr && step->index == 0;
  if (!first && start.loading_steps == 0)
    return {Cause::too_few_steps, "one step only: nothing tells whether it is like the others",
            how_to_record_steps(ranks)};
  std::string why = fmt::format(
      "one step only ({}), and it is a first one: compilation, module loading, first allocations "
      "and NCCL start-up are inside it",
      step != nullptr ? step->name : "");
  if (start.jit_ns + start.alloc_ns > 0)
    why += fmt::format(" (the GPU idles {} for code loading and {} for allocation)",
                       duration(start.jit_ns), duration(start.alloc_ns));
  return {Cause::only_warmup, why, how_to_record_steps(ranks)};
}

// Events stand in the file in no order of time, so a cut takes some out of every step.
std::optional<NotEnough> cut_off(std::span<const RankAnalysis> ranks) {
  if (std::none_of(ranks.begin(), ranks.end(), is_cut_off)) return std::nullopt;
  if (count_of(ranks, NoteCode::truncated_file) == 0)
    return NotEnough{Cause::records_lost,
                     "the file is damaged: records of any step may be missing or wrong",
                     how_to_get_the_file()};
  return NotEnough{Cause::records_lost,
                   "the file is cut off: events stand in it in no order of time, so that records "
                   "may be missing in any step",
                   how_to_get_the_file()};
}

}  // namespace

std::optional<NotEnough> lost_records(std::span<const RankAnalysis> ranks) {
  if (auto out = cut_off(ranks)) return out;
  int64_t ops = 0, linked = 0, launches = 0, without_op = 0, spanning = 0;
  bool graphs = false, ambiguous = false;
  for (const RankAnalysis& rank : ranks) {
    ambiguous |= rank.notes.count(NoteCode::ambiguous_correlation) > 0;
    for (const DeviceAnalysis& device : rank.devices) {
      ops += device.evidence.step_ops;
      linked += device.evidence.step_ops_with_launch;
      launches += device.expected_launches;
      without_op += device.launches_without_op;
      spanning += device.evidence.ops_over_steps;
      graphs |= device.evidence.opaque_ns > 0;
    }
  }
  if (spanning > 0) {
    return NotEnough{graphs ? Cause::graph_level_trace : Cause::too_few_steps,
                     fmt::format("{} device records are longer than a whole step", spanning),
                     graphs ? how_to_record_graphs(ranks) : how_to_record_steps(ranks)};
  }
  if (without_op * 20 > ops) {
    return NotEnough{Cause::records_lost,
                     fmt::format("{} of {} launches in the steps have no device record: what the "
                                 "GPU did is only partly known",
                                 without_op, launches),
                     how_to_record_gpu(ranks)};
  }
  // The records are there, the link is not: nothing was lost that was recorded.
  if ((ops - linked) * 20 > ops) {
    return NotEnough{Cause::unknown,
                     fmt::format("{} of {} device records in the steps {}: why the GPU was idle "
                                 "can not be told",
                                 ops - linked, ops,
                                 ambiguous ? "share their correlation id with unrelated calls, so "
                                             "that their launch is not known"
                                           : "have no launch call in the recording"),
                     how_to_record_host(ranks)};
  }
  return std::nullopt;
}

std::string rule_for_few_steps() {
  return "fewer than five give a verdict where their times lie within 10 % of each other, of "
         "medium confidence at most";
}

bool ranks_missing(const std::vector<RankAnalysis>& ranks, int64_t recorded) {
  return job_size(ranks) > std::max(recorded, participants(ranks));
}

RunEvidence evidence_of(const std::vector<RankAnalysis>& ranks, const RunMeans& means) {
  RunEvidence out;
  std::vector<TimeNs> times;
  int64_t ops = 0, linked = 0;
  TimeNs profiler = 0, complete_ns = 0;
  out.steady_steps = INT64_MAX;
  for (const RankAnalysis& rank : ranks) {
    out.microseconds |= rank.tick_ns > 1;
    for (const DeviceAnalysis& device : rank.devices) {
      int64_t complete = 0;
      const std::vector<TimeNs> own = steady_times(device);
      for (size_t i = 0; i < device.steps.size(); ++i) {
        if (!device.steps[i].complete || rank.step_origin == StepOrigin::whole) continue;
        ++complete;
        profiler += device.breakdowns[i][Leaf::idle_profiler];
        complete_ns += device.steps[i].window.length();
      }
      if (rank.step_origin != StepOrigin::whole) times.insert(times.end(), own.begin(), own.end());
      out.complete_steps = std::max(out.complete_steps, complete);
      out.steady_steps = std::min(out.steady_steps, static_cast<int64_t>(own.size()));
      ops += device.evidence.step_ops;
      linked += device.evidence.step_ops_with_launch;
    }
  }
  if (out.complete_steps == 0) out.steady_steps = 0;
  if (!times.empty()) {
    const auto [lo, hi] = std::minmax_element(times.begin(), times.end());
    out.min_ns = *lo;
    out.max_ns = *hi;
    out.median_ns = median_of(times);
    if (out.median_ns > 0) out.spread_share = ratio(out.max_ns - out.min_ns, out.median_ns);
  }
  if (ops > 0) out.linked_share = ratio(linked, ops);
  if (complete_ns > 0) out.profiler_share = ratio(profiler, complete_ns);
  if (means.step_ns() > 0)
    out.unknown_share = ratio(means.mean[Leaf::idle_unknown], means.step_ns());
  if (means.step_ns() > 0) out.opaque_share = ratio(means.opaque_ns, means.step_ns());
  const int64_t job = job_size(ranks);
  out.parallel_job = job > 1;
  out.peers_missing = job > participants(ranks);
  out.single_rank = out.peers_missing && ranks.size() == 1;
  return out;
}

namespace {

// Most of the time is inside whole graphs: then their nodes are what is missing most.
std::optional<NotEnough> opaque(const std::vector<RankAnalysis>& ranks, const RunMeans& means,
                                std::string_view of, bool steps_too) {
  if (means.opaque_ns == 0 || 2 * means.opaque_ns < means.step_ns()) return std::nullopt;
  return NotEnough{
      Cause::graph_level_trace,
      fmt::format("{} of the {} is inside CUDA graphs that were recorded as a whole: their "
                  "kernels and collectives are unknown",
                  percent(ratio(means.opaque_ns, means.step_ns())), of),
      how_to_record_graphs(ranks) + (steps_too ? "; and " + how_to_record_steps(ranks) : "")};
}

}  // namespace

std::optional<NotEnough> not_enough(const std::vector<RankAnalysis>& ranks, const RunMeans& means,
                                    const RunEvidence& evidence) {
  if (means.devices.empty()) {
    for (const RankAnalysis& rank : ranks) {
      if (rank.notes.count(NoteCode::other_accelerator) > 0) {
        return NotEnough{Cause::no_gpu_events,
                         "the device records in the file are of an accelerator that is no GPU, and "
                         "are not read",
                         "the same training on a CUDA or ROCm GPU, with torch.profiler or nsys"};
      }
    }
    if (std::any_of(ranks.begin(), ranks.end(), is_cut_off)) {
      const bool cut = count_of(ranks, NoteCode::truncated_file) > 0;
      return NotEnough{Cause::records_lost,
                       cut ? "the file is cut off, and no GPU activity stands before the cut"
                           : "the file is damaged, and no GPU activity is in what can be read",
                       how_to_get_the_file()};
    }
    if (const int64_t n = count_of(ranks, NoteCode::time_out_of_range); n > 0) {
      return NotEnough{
          Cause::records_lost,
          fmt::format("times out of range: {} records lie more than 146 years from the "
                      "clock's zero and were left out, and no GPU activity is left",
                      n),
          "the file as the profiler wrote it, or another recording"};
    }
    return NotEnough{Cause::no_gpu_events,
                     "no GPU activity was recorded: the GPU side of the run is unknown",
                     how_to_record_gpu(ranks)};
  }
  if (auto out = cut_off(ranks)) return out;
  if (evidence.complete_steps <= 1) {
    const bool none = evidence.complete_steps == 0;
    if (auto out = opaque(ranks, means, none ? "recording" : "only step", true)) return out;
  }
  if (evidence.complete_steps == 0) {
    int64_t ops = 0;
    TimeNs span = 0;
    for (const DeviceMeans& row : means.devices) {
      const DeviceAnalysis& device = ranks[row.rank_row].devices[row.device_row];
      ops += device.evidence.step_ops;
      span =
          std::max(span, device.steps.back().window.end_ns - device.steps.front().window.begin_ns);
    }
    return NotEnough{Cause::too_few_steps,
                     fmt::format("no complete step in the recording ({} device records in {})", ops,
                                 duration(span)),
                     how_to_record_steps(ranks)};
  }
  if (evidence.complete_steps == 1) return one_step(ranks);
  const StartUp start = start_up_of(ranks);
  if (start.loading_steps * 2 > start.steps) {
    return NotEnough{Cause::only_warmup,
                     fmt::format("{} of {} steps load code while the GPU waits: this is warm-up",
                                 start.loading_steps, start.steps),
                     how_to_record_steps(ranks)};
  }
  if (auto out = one_counts(ranks, evidence)) return out;
  if (auto out = unsteady(ranks)) return out;
  if (auto out = lost_records(ranks)) return out;
  return opaque(ranks, means, "step", false);
}

Confidence confidence_of(const RunEvidence& evidence, bool sure_winner, bool stable_constants) {
  int level = 2;
  level -= evidence.steady_steps < kEnoughSteps ? 1 : 0;
  level -= evidence.linked_share < 0.98 ? 1 : 0;
  level -= evidence.unknown_share >= 0.02 ? 1 : 0;
  level -= evidence.opaque_share >= 0.02 ? 1 : 0;
  level -= evidence.spread_share >= 0.05 ? 1 : 0;
  level -= evidence.profiler_share >= 0.03 ? 1 : 0;
  level -= stable_constants ? 0 : 1;
  const bool capped = !sure_winner || evidence.microseconds || evidence.single_rank;
  return static_cast<Confidence>(std::clamp(level, 0, capped ? 1 : 2));
}

}  // namespace ws
