#pragma once
// The wall that a change would expose: losses of the simulated timeline's partition.
#include "analysis/simulated_trace.h"
#include "analysis/verdict.h"

namespace ws {

// ranks: as analyzed, one per rank of the graph in its order; their counts (launches, kernels,
// pageable copies) stand for the simulated steps too.
LeadingLoss next_wall(const ReplayGraph& graph, const std::vector<const RankAnalysis*>& ranks,
                      const RunMeans& recorded, const std::vector<TimeNs>& events,
                      uint8_t removed_covers);

// The same ranks with the partition of the simulated steps; the step before the first counted one
// is left out.
std::vector<RankAnalysis> simulated_ranks(const ReplayGraph& graph,
                                          const std::vector<const RankAnalysis*>& ranks,
                                          const std::vector<TimeNs>& events,
                                          uint8_t removed_covers);

}  // namespace ws
