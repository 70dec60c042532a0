#pragma once
// What only all ranks together can tell (ALGORITHMS 5.2 to 5.5), ready for verdict, facts and
// reports: how surely the ranks were joined, who was late and why, how experts and pipeline stages
// are balanced. Everything is over counted steps.
#include <optional>
#include <string>
#include <vector>

#include "analysis/cross_rank.h"

namespace ws {

// One reason for which ranks were late, the largest first.
struct LateCause {
  int32_t rank = 0;  // where the delay began, not where it was met
  LateCategory category = LateCategory::unknown;
  std::optional<CommKind> transfer;  // slower transfer of this kind instead of a category
  Cause cause = Cause::unknown;
  TimeNs marginal_ns = 0;  // sum of what it delayed instances
  int64_t instances = 0;
  int64_t steps = 0;  // in which it happened
};

struct LateRank {
  int32_t rank = 0, device = 0;
  TimeNs marginal_ns = 0;  // last minus second-last arrival, where it was last
  int64_t times_last = 0;
  TimeNs wait_ns = 0;         // waited for others, hidden or not
  double slower_kernels = 0;  // same kernels, median ratio to the other ranks minus 1
  int64_t equal_kernels = 0;  // names behind that ratio
};

// Expert GEMMs between two exchanges of an expert layer.
struct ExpertBalance {
  int64_t layers = 0;        // exchanges with expert work before them
  double max_over_mean = 1;  // mean over layers
  double max_over_min = 1;
  TimeNs lost_ns = 0;     // max - mean, summed
  int64_t hot_ranks = 0;  // different ranks with most work
};

struct PipelineShape {
  int64_t stages = 0;  // ranks joined by pipeline transfers
  // Share of the step that stages wait for each other, and the number of micro-batches of which a
  // 1F1B schedule of equal stages has that share: (p - 1) / (m + p - 1).
  double bubble_share = 0, bubble_hi_share = 0;
  int64_t micro_batches_like = 0;  // 0: no whole number fits
  double stage_max_over_mean = 1;  // useful time of the stages
};

// POP hierarchy on device time. load balance x communication efficiency = parallel efficiency.
struct Efficiency {
  double load_balance = 1, communication = 1, parallel = 1, host = 1;
};

struct AcrossRanks {
  int64_t ranks = 0;      // with communication
  int64_t instances = 0;  // collectives of two ranks or more
  int64_t split = 0;      // of these, split into wait and transfer
  int64_t inconsistent = 0, incomplete = 0;
  ClockMethod clock_method = ClockMethod::shared;
  TimeNs clock_error_ns = 0;  // largest residual
  int64_t clock_samples = 0;  // collectives behind the offsets
  int64_t clock_violations = 0;
  bool clock_unknown = false;           // nothing told whether the clocks agree: nothing was split
  TimeNs wait_ns = 0, transfer_ns = 0;  // per counted step, mean over devices, exposed
  std::vector<LateRank> late;           // every device, by rank
  std::vector<int32_t> late_ranks;      // at least a tenth of all marginal delay
  std::vector<LateCause> causes;
  Straggler straggler;
  std::string straggler_step;         // name, transient only
  int64_t steps = 0, late_steps = 0;  // counted steps of the rank with most; those with any delay
  std::optional<ExpertBalance> experts;
  std::optional<PipelineShape> pipeline;
  std::optional<Efficiency> efficiency;
};

AcrossRanks look_across(const CrossRank& cross, const std::vector<RankAnalysis>& ranks);

// Cause of imbalance: the largest known one, if it holds a quarter of the lateness.
Cause imbalance_cause(const AcrossRanks& across);

}  // namespace ws
