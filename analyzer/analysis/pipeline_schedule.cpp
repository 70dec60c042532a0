// Stages are the ranks that matched pipeline transfers join. The outer stages have one neighbour:
// per micro-batch one transfer in each direction, which a grouped send and receive does in one.
// Tested by: replay_test.cpp
#include "analysis/pipeline_schedule.h"

#include <algorithm>
#include <unordered_map>

namespace ws {
namespace {

class Replicas {  // disjoint sets of ranks
 public:
  explicit Replicas(size_t ranks) {
    for (uint32_t r = 0; r < ranks; ++r) parent_.push_back(r);
  }
  uint32_t root(uint32_t rank) {
    while (parent_[rank] != rank) rank = parent_[rank] = parent_[parent_[rank]];
    return rank;
  }
  void join(uint32_t a, uint32_t b) {
    parent_[std::max(root(a), root(b))] = std::min(root(a), root(b));
  }

 private:
  std::vector<uint32_t> parent_;
};

bool passes_on(const ReplayOp& o) { return o.cls == OpClass::comm && o.kind == CommKind::pp; }

int64_t transfers_per_step(const ReplayGraph& g, uint32_t rank_row) {
  int64_t count = 0;
  const auto& ops = g.ranks()[rank_row].ops;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (!passes_on(ops[i]) || g.step_of(g.node_of_op(rank_row, i)) < 0) continue;
    count += ops[i].coll == CollectiveOp::send_recv ? 2 : 1;
  }
  return count / static_cast<int64_t>(std::max<size_t>(1, g.step_count()));
}

}  // namespace

std::optional<PipelineSchedule> pipeline_schedule(const ReplayGraph& g) {
  Replicas replicas(g.ranks().size());
  std::unordered_map<uint32_t, uint32_t> met;  // event of a meeting -> one of its ranks
  for (uint32_t e = 0; e < g.edges().size(); ++e) {
    if (g.edges()[e].tag != EdgeTag::collective) continue;
    const Node& n = g.nodes()[g.destination(e) / 2];
    if (!passes_on(g.op(n))) continue;
    replicas.join(n.rank, met.try_emplace(g.edges()[e].from, n.rank).first->second);
  }
  std::vector<int64_t> size(g.ranks().size(), 0);
  for (uint32_t r = 0; r < g.ranks().size(); ++r) ++size[replicas.root(r)];
  const auto largest = std::max_element(size.begin(), size.end());
  if (largest == size.end() || *largest < 2) return std::nullopt;
  const auto replica = static_cast<uint32_t>(largest - size.begin());
  int64_t transfers = INT64_MAX;
  for (uint32_t r = 0; r < g.ranks().size(); ++r)
    if (replicas.root(r) == replica) transfers = std::min(transfers, transfers_per_step(g, r));
  return PipelineSchedule{*largest, std::max<int64_t>(1, transfers / 2)};
}

}  // namespace ws
