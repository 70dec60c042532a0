#pragma once
// Mixture of experts in a replay graph: what a rank computes between the two exchanges of a layer.
#include <cstdint>
#include <vector>

#include "analysis/replay_graph.h"

namespace ws {

struct ExpertLayer {
  uint32_t dispatch = 0, combine = 0;  // nodes of the two exchanges
  std::vector<uint32_t> compute;       // nodes between them, in launch order
  bool grouped = false;                // a grouped GEMM is among them: experts, not attention
};

// All stretches between one exchange of the rank and the next, in launch order.
std::vector<ExpertLayer> expert_layers(const ReplayGraph& g, size_t rank_row);

}  // namespace ws
