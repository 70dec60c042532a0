#pragma once
// The shape of the pipeline in a dependency graph: how many stages pass micro-batches on, and how
// many a step has.
#include <optional>

#include "analysis/replay_graph.h"

namespace ws {

struct PipelineSchedule {
  int64_t stages = 0;
  int64_t micro_batches = 0;  // times the chunks per stage

  // What a 1F1B schedule of equal stages waits, over its useful time (ALGORITHMS 5.5).
  double ideal_bubble() const {
    return static_cast<double>(stages - 1) / static_cast<double>(micro_batches);
  }
};

// nullopt: no stages whose transfers were matched.
std::optional<PipelineSchedule> pipeline_schedule(const ReplayGraph& graph);

}  // namespace ws
