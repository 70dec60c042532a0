#pragma once
// The shape of the pipeline in a dependency graph: how many stages pass micro-batches on, and how
// many a step has.
#include <algorithm>
#include <optional>

#include "analysis/losses.h"
#include "analysis/replay_graph.h"

namespace ws {

struct PipelineSchedule {
  int64_t stages = 0;
  int64_t micro_batches = 0;  // times the chunks per stage
  // Per step, of the rank that has most of it.
  TimeNs repeated_ns =
      0;               // gaps between kernels and latency of exchanges: not shorter for less data
  TimeNs host_ns = 0;  // the host's time for its calls and between them
  TimeNs transfer_ns = 0;  // longest hand-over from stage to stage: median of a rank
  TimeNs pass_ns = 0;      // compute between two hand-overs: mean of the rank with least

  // What a 1F1B schedule of equal stages waits, over its useful time (ALGORITHMS 5.5).
  double ideal_bubble() const {
    return static_cast<double>(stages - 1) / static_cast<double>(micro_batches);
  }
  // What twice as many hand-overs cost: one hides beside the forward and the backward pass of a
  // chunk, which together take as long as one pass now.
  TimeNs chunked_ns() const {
    return std::max<TimeNs>(0, transfer_ns - pass_ns) * 2 * micro_batches;
  }
};

// nullopt: no stages whose transfers were matched.
std::optional<PipelineSchedule> pipeline_schedule(const ReplayGraph& graph);

// Share of the step that half the bubble gains at the least: half of what the formula explains (all
// where there is no schedule), less what the costlier of the two ways adds. Micro-batches of half
// the size have as many gaps, latencies and launches each, chunks hand over twice as often.
double least_of_half(const std::optional<PipelineSchedule>& schedule, LossNs bubble,
                     TimeNs useful_ns, TimeNs step_ns);

}  // namespace ws
