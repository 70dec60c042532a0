#pragma once
// What the recorded steps waited for (ALGORITHMS 6): back from the last event along the edges that
// set its time. Every nanosecond between two step ends belongs to one rank and one leaf.
#include "analysis/replay_graph.h"

namespace ws {

struct PathPart {
  int32_t rank = 0;
  Leaf leaf{};
  TimeNs ns = 0;  // over all priced steps
};

struct CriticalPath {
  TimeNs length_ns = 0;         // from the end of the first priced step to the end of the last
  std::vector<PathPart> parts;  // by rank, then leaf; they sum to length_ns
};

CriticalPath critical_path(const ReplayGraph& graph);

}  // namespace ws
