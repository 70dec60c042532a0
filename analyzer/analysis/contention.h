#pragma once
// What overlap with communication costs compute (ALGORITHMS 3.5): one slowdown per rank from
// kernels seen both alone and beside communication.
#include <map>
#include <vector>

#include "analysis/replay_graph.h"

namespace ws {

// Per node: duration of compute ops without the slowdown by communication of these kinds (bit per
// CommKind); -1 where it does not change. Slowdowns below 3 % are ignored.
std::vector<TimeNs> durations_alone(const ReplayGraph& graph, uint8_t kinds);

// Latency part of a transfer per (kind, operation): never above the shortest transfer seen.
std::map<std::pair<CommKind, CollectiveOp>, TimeNs> transfer_latency(const ReplayGraph& graph);

}  // namespace ws
