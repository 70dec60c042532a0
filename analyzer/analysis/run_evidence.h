#pragma once
// What the verdict asks of the run as a whole: are there enough steps, are the records complete,
// how surely can anything be said.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/losses.h"

namespace ws {

// Steps that are always enough; two or more below that are where their times agree.
inline constexpr int64_t kEnoughSteps = 5;
std::string rule_for_few_steps();

struct RunEvidence {
  int64_t complete_steps = 0;                    // of the device with most
  int64_t steady_steps = 0;                      // of the device with fewest
  TimeNs median_ns = 0, min_ns = 0, max_ns = 0;  // over (device, steady step)
  double spread_share = 0;
  double linked_share = 1;    // records of counted steps with a launch call
  double profiler_share = 0;  // idle.profiler over all complete steps
  double unknown_share = 0;
  double opaque_share = 0;  // inside CUDA graphs that were recorded as a whole
  bool microseconds = false;
  bool parallel_job = false;  // more ranks belong to the job than one
  bool peers_missing = false;
  bool single_rank = false;  // one rank of a parallel job
  bool some_chosen = false;  // others are in the input and were left out
};
RunEvidence evidence_of(const std::vector<RankAnalysis>& ranks, const RunMeans& means);

// More ranks belong to the job than the input has; recorded: usable ranks of it, chosen or not.
bool ranks_missing(const std::vector<RankAnalysis>& ranks, int64_t recorded);

struct NotEnough {
  Cause cause = Cause::unknown;
  std::string why, missing;
};
// Rules before anything else: without these no verdict.
std::optional<NotEnough> not_enough(const std::vector<RankAnalysis>& ranks, const RunMeans& means,
                                    const RunEvidence& evidence);

// The part of these rules that looks at records alone: cut off, dropped, not linked.
std::optional<NotEnough> lost_records(std::span<const RankAnalysis> ranks);

// Steps from 3 % on, and so on: high, less one level for each failed item.
Confidence confidence_of(const RunEvidence& evidence, bool sure_winner, bool stable_constants);

}  // namespace ws
