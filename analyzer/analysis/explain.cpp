// Tested by: explain_test.cpp
#include "analysis/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/causes.h"
#include "analysis/how_to_record.h"
#include "analysis/phrases.h"

namespace ws {
namespace {

std::string range_text(const std::string& lo, const std::string& hi) {
  return lo == hi ? lo : lo + " to " + hi;
}

std::string span_text(TimeNs lo, TimeNs hi, TimeNs step) {
  return fmt::format("{} ({})", range_text(percent(ratio(lo, step)), percent(ratio(hi, step))),
                     range_text(duration(lo), duration(hi)));
}

// As the headline calls it.
std::string_view words_in(LossGroup loss, Cause cause) {
  if (cause == Cause::unknown && loss == LossGroup::communication)
    return "collectives of unknown groups";
  return cause == Cause::unknown && loss == LossGroup::host ? "other host work" : words_of(cause);
}

std::string group_sentence(LossGroup loss, const RunMeans& means, const RunVerdict& verdict,
                           const std::vector<RankAnalysis>& ranks) {
  const LossRow& row = at(verdict.losses, loss);
  std::string out = fmt::format("{} takes {} of the {} step", words_of(loss),
                                span_text(row.ns.lo_ns, row.ns.hi_ns, means.step_ns()),
                                duration(means.step_ns()));
  const std::vector<CauseShare> parts = causes_of(loss, ranks, means);
  if (parts.size() == 1 && words_in(loss, parts[0].cause) == words_of(loss)) return out;
  for (size_t i = 0; i < std::min<size_t>(3, parts.size()); ++i) {
    if (i == 0 || 200 * parts[i].ns >= means.step_ns())
      out += fmt::format("{}{} {}", i == 0 ? ": " : ", ", words_in(loss, parts[i].cause),
                         percent(ratio(parts[i].ns, means.step_ns())));
  }
  return out;
}

// What one rank can tell of its collectives (ALGORITHMS 3.2): an estimate, no bound.
void explain_unsplit(const std::vector<RankAnalysis>& ranks, const RunMeans& means,
                     const RunEvidence& evidence, RunVerdict& verdict) {
  double best = 0;
  TimeNs exposed = 0, sized = 0;
  for (const DeviceMeans& row : means.devices) {
    for (const CollectiveRow& c : ranks[row.rank_row].devices[row.device_row].collectives) {
      if (c.unsplit_ns == 0 || c.total_ns == 0 || row.steps == 0) continue;
      const double shortest = static_cast<double>(c.min_ns) * static_cast<double>(c.count) /
                              static_cast<double>(c.total_ns);
      best += static_cast<double>(c.unsplit_ns) * std::min(1.0, shortest) /
              static_cast<double>(row.steps);
      exposed += c.unsplit_ns / row.steps;
      if (c.bytes >= 0) sized += c.unsplit_ns / row.steps;
    }
  }
  if (exposed == 0) return;
  const auto devices = static_cast<int64_t>(means.devices.size());
  const std::string who = evidence.some_chosen   ? "only ranks chosen with --rank were analyzed"
                          : evidence.single_rank ? "one rank of the job was recorded"
                          : evidence.peers_missing
                              ? "only some ranks of the job were recorded"
                              : "the collectives of the ranks were not matched";
  std::string out = fmt::format(
      "{}: how much of the {} of exposed collectives is waiting for late peers and how much is "
      "transfer can not be told",
      who, duration(exposed / devices));
  // Without recorded sizes the shortest may be of another size.
  if (10 * sized >= 9 * exposed) {
    out += fmt::format(
        ". If every collective were as fast as the shortest of its size, {} would be transfer; "
        "that is an estimate, since the shortest may contain waiting as well",
        duration(static_cast<TimeNs>(best) / devices));
  }
  verdict.why.push_back(std::move(out));
  if (evidence.some_chosen) {
    verdict.missing.emplace_back("nothing new: analyze the same files without --rank");
  } else if (evidence.peers_missing) {
    verdict.missing.push_back(how_to_record_peers(ranks));
  }
}

void explain_not_blocking(const RunMeans& means, RunVerdict& verdict) {
  if (means.not_blocking_ns * 100 < means.step_ns()) return;
  verdict.why.push_back(fmt::format(
      "{} of communication a step is exposed but blocks nothing: the compute that follows waits "
      "for the host, which is busy elsewhere ({}). Hiding this communication gains nothing by "
      "itself",
      duration(means.not_blocking_ns), words_of(at(verdict.losses, LossGroup::host).cause)));
}

void explain_hidden(const std::vector<RankAnalysis>& ranks, const RunMeans& means,
                    RunVerdict& verdict) {
  TimeNs total = 0;
  for (const DeviceMeans& row : means.devices)
    total += ranks[row.rank_row].devices[row.device_row].comm.total_ns;
  total /= static_cast<int64_t>(means.devices.size());
  const TimeNs exposed = exposed_communication(means.mean);
  if (total == 0 || exposed * 10 > total) return;
  verdict.why.push_back(
      fmt::format("communication runs for {} of the step and is hidden: {} of it are exposed",
                  duration(total), duration(exposed)));
}

void explain_run_ahead(const std::vector<RankAnalysis>& ranks, const RunMeans& means,
                       RunVerdict& verdict) {
  for (const DeviceMeans& row : means.devices) {
    const TimeNs marker = ranks[row.rank_row].devices[row.device_row].counts.host_marker_ns;
    if (marker == 0 || marker * 2 > row.mean.total()) continue;
    verdict.why.push_back(fmt::format(
        "the host's step markers last {}, much shorter than the GPU work they launch: the step "
        "time is the GPU's period of {}",
        duration(marker), duration(row.mean.total())));
    return;
  }
}

void explain_profiler(const std::vector<RankAnalysis>& ranks, const RunMeans& means,
                      RunVerdict& verdict) {
  for (const DeviceMeans& row : means.devices) {
    const DeviceAnalysis& device = ranks[row.rank_row].devices[row.device_row];
    for (size_t i = 0; i < device.steps.size(); ++i) {
      const Step& step = device.steps[i];
      const TimeNs host =
          i < device.evidence.profiler_ns.size() ? device.evidence.profiler_ns[i] : 0;
      const TimeNs idle = device.breakdowns[i][Leaf::idle_profiler];
      if (!step.complete || idle * 100 < step.window.length() * 3) continue;
      verdict.why.push_back(fmt::format(
          "{} of {} is the profiler's own work (buffer requests and flushes); the GPU idles {} for "
          "it. {}",
          duration(std::max(host, idle)), step.name, duration(idle),
          step.steady ? "Not a property of the run" : "The step is left out of the means"));
    }
  }
}

// The same rule as in `not_enough`, for those that passed it.
void explain_few_steps(const RunEvidence& evidence, RunVerdict& verdict) {
  if (evidence.steady_steps < 2 || evidence.steady_steps >= kEnoughSteps) return;
  verdict.why.push_back(
      fmt::format("only {} steps count: {}", evidence.steady_steps, rule_for_few_steps()));
}

void explain_faint_losses(const RunMeans& means, RunVerdict& verdict) {
  LossGroup largest = LossGroup::memory;
  for (size_t g = 1; g < kLossGroupCount; ++g)
    if (verdict.losses[g].ns.hi_ns > at(verdict.losses, largest).ns.hi_ns)
      largest = static_cast<LossGroup>(g);
  const LossRow& row = at(verdict.losses, largest);
  if (row.ns.hi_ns == 0) return;
  verdict.why.push_back(fmt::format("no loss reaches 10 % of the step; the largest is {} with {}",
                                    words_of(largest),
                                    span_text(row.ns.lo_ns, row.ns.hi_ns, means.step_ns())));
}

}  // namespace

void explain(const std::vector<RankAnalysis>& ranks, const RunMeans& means,
             const RunEvidence& evidence, const AcrossRanks& across, RunVerdict& verdict) {
  const auto say = [&](std::string sentence) {
    if (!sentence.empty()) verdict.why.push_back(std::move(sentence));
  };
  say(why_cause(verdict.cause, ranks, means, verdict));
  if (verdict.kind == VerdictKind::none)
    explain_faint_losses(means, verdict);
  else
    say(group_sentence(*verdict.loss, means, verdict, ranks));
  if (verdict.also && unsplit_communication(means.mean) == 0) {
    RunVerdict second = verdict;
    second.loss = verdict.also;
    say(why_cause(verdict.also_cause, ranks, means, second));
    say(group_sentence(*verdict.also, means, verdict, ranks));
  }
  const LossRow& host = at(verdict.losses, LossGroup::host);
  if (verdict.kind == VerdictKind::mixed && *verdict.loss != LossGroup::host &&
      verdict.also != LossGroup::host && host.lo_share >= 0.10) {
    RunVerdict third = verdict;
    third.loss = LossGroup::host;
    say(why_cause(host.cause, ranks, means, third));
    say(group_sentence(LossGroup::host, means, verdict, ranks));
  }
  explain_across(across, ranks, means, verdict);
  explain_not_blocking(means, verdict);
  // A bubble is told from the sends between the stages: those are waits.
  const bool bubble = verdict.loss == LossGroup::bubble || verdict.also == LossGroup::bubble;
  if (exposed_communication(means.mean) > 0 && evidence.parallel_job && !bubble)
    explain_unsplit(ranks, means, evidence, verdict);
  explain_hidden(ranks, means, verdict);
  explain_run_ahead(ranks, means, verdict);
  explain_profiler(ranks, means, verdict);
  explain_few_steps(evidence, verdict);
}

void explain_undecided(const std::vector<RankAnalysis>& ranks, const RunMeans& means,
                       LossGroup open, RunVerdict& verdict) {
  verdict.why.push_back(
      fmt::format("not enough evidence: {}", group_sentence(open, means, verdict, ranks)));
  const TimeNs unknown = means.mean[Leaf::idle_unknown];
  const TimeNs dependency = means.mean[Leaf::idle_dependency];
  const TimeNs unsplit = unsplit_communication(means.mean);
  if (unknown + dependency > 0) {
    verdict.why.push_back(fmt::format(
        "the GPU is idle for {} without a known launch and for {} with work already launched",
        duration(unknown), duration(dependency)));
  }
  if (unsplit > 0)
    verdict.why.push_back(
        fmt::format("{} of exposed collectives can be transfer or waiting", duration(unsplit)));
  if (verdict.cause == Cause::graph_level_trace)
    verdict.missing.push_back(how_to_record_graphs(ranks));
  else if (open == LossGroup::host)
    verdict.missing.push_back(dependency > unknown ? how_to_record_waits(ranks)
                                                   : how_to_record_host(ranks));
  if (open == LossGroup::memory) {
    verdict.missing.push_back(
        "memory events and offload or recompute ranges: torch.profiler with profile_memory=True, "
        "or NVTX ranges around offload");
  }
  if (unsplit > 0 && ranks_missing(ranks, 0)) verdict.missing.push_back(how_to_record_peers(ranks));
}

}  // namespace ws
