#pragma once
// A simulated timeline as columns again, so that the one partition of the program reads it too
// (ALGORITHMS 6: the next wall is the partition of the simulated timeline).
#include "analysis/replay_graph.h"

namespace ws {

// Times of one rank under a scenario, on the reference clock.
struct SimulatedRank {
  Trace trace;
  OpLabels labels;
  std::vector<TimeNs> arrivals;           // per op of the trace; kNoArrival: peers not known
  std::vector<std::vector<TimeNs>> cuts;  // as ReplayRank::cuts
};

// events: of ReplayGraph::run. ends: covered kinds whose host ranges the change removed, a bit per
// CoverKind. Unchanged events give the records as they were.
SimulatedRank simulated_rank(const ReplayGraph& graph, size_t rank_row,
                             const std::vector<TimeNs>& events, uint8_t removed_covers = 0);

}  // namespace ws
