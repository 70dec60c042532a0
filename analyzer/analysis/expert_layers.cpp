// Tested by: replay_test.cpp
#include "analysis/expert_layers.h"

#include <algorithm>

namespace ws {

std::vector<ExpertLayer> expert_layers(const ReplayGraph& g, size_t rank_row) {
  const ReplayRank& rank = g.ranks()[rank_row];
  std::vector<uint32_t> rows;
  for (uint32_t i = 0; i < rank.ops.size(); ++i) {
    const ReplayOp& o = rank.ops[i];
    if (o.order_ns >= 0 &&
        (is_compute(o.cls) || (o.cls == OpClass::comm && o.kind == CommKind::ep)))
      rows.push_back(i);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
    return rank.ops[a].order_ns < rank.ops[b].order_ns;
  });
  std::vector<ExpertLayer> out;
  ExpertLayer open;
  bool any = false;
  for (uint32_t i : rows) {
    const ReplayOp& o = rank.ops[i];
    const uint32_t node = g.node_of_op(rank_row, i);
    if (o.cls == OpClass::comm) {
      if (any) {
        open.combine = node;
        out.push_back(std::move(open));
      }
      open = {};
      open.dispatch = node;
      any = true;
    } else if (any) {
      open.compute.push_back(node);
      open.grouped = open.grouped || (o.flags & kFlagGrouped) != 0;
    }
  }
  return out;
}

}  // namespace ws
