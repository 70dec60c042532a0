#pragma once
// What the ops, calls and host lags of late ranks take on the ranks that play the same role.
#include <vector>

#include "analysis/replay_graph.h"

namespace ws {

struct PeerTime {
  uint32_t node = 0;                   // of a late rank
  uint32_t lag_edge = kNoRow;          // of the host before a call
  TimeNs duration_ns = 0, lag_ns = 0;  // medians of the others
  // More than jitter: the rank takes longer for all of this name, or this once by far.
  bool slow = false, slow_lag = false;
};

// late: rows of the graph's ranks. Matched by step, name and occurrence in host order (ALGORITHMS
// 6): names alone would mix sizes. What experts compute goes by how much slower the rank is
// besides.
std::vector<PeerTime> peer_times(const ReplayGraph& graph, const std::vector<uint32_t>& late);

}  // namespace ws
