// Stages are the ranks that matched pipeline transfers join. The outer stages have one neighbour:
// per micro-batch one transfer in each direction, which a grouped send and receive does in one.
// Tested by: pipeline_schedule_test.cpp
#include "analysis/pipeline_schedule.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/contention.h"
#include "analysis/median.h"

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

using Latencies = decltype(transfer_latency(std::declval<const ReplayGraph&>()));

TimeNs lag_into(const ReplayGraph& g, uint32_t event, EdgeTag tag) {
  for (uint32_t e = g.first_edge(event); e != kNoRow; e = g.edges()[e].next)
    if (g.edges()[e].tag == tag) return g.edges()[e].lag_ns;
  return 0;
}

// What a rank's part of the schedule costs, per step.
void add_costs(const ReplayGraph& g, uint32_t rank_row, const Latencies& latencies,
               PipelineSchedule& out) {
  const ReplayRank& rank = g.ranks()[rank_row];
  const auto steps = static_cast<TimeNs>(std::max<size_t>(1, g.step_count()));
  TimeNs repeated = 0, host = 0, compute = 0;
  std::vector<TimeNs> transfers;
  for (uint32_t i = 0; i < rank.ops.size(); ++i) {
    const ReplayOp& o = rank.ops[i];
    const uint32_t node = g.node_of_op(rank_row, i);
    if (g.step_of(node) < 0) continue;
    if (is_compute(o.cls)) {
      compute += o.end_ns - o.begin_ns;
      repeated += lag_into(g, 2 * node, EdgeTag::stream);
    } else if (o.cls == OpClass::comm && o.kind != CommKind::dp) {
      const auto it = latencies.find({o.kind, o.coll});
      // A hand-over is a record on either side of it, and each waits once.
      if (it != latencies.end()) repeated += passes_on(o) ? it->second / 2 : it->second;
      if (passes_on(o) && g.is_matched(node))
        transfers.push_back(lag_into(g, 2 * node + 1, EdgeTag::collective));
    }
  }
  for (uint32_t i = 0; i < rank.calls.size(); ++i) {
    const uint32_t node = g.node_of_call(rank_row, i);
    const ReplayCall& c = rank.calls[i];
    if (c.begin_ns < rank.host_steps.front().begin_ns ||
        c.begin_ns >= rank.host_steps.back().end_ns || g.nodes()[node].state == HostState::sync)
      continue;
    host += g.nodes()[node].duration_ns + c.lag_ns;
  }
  out.repeated_ns = std::max(out.repeated_ns, repeated / steps);
  out.host_ns = std::max(out.host_ns, host / steps);
  if (!transfers.empty()) out.transfer_ns = std::max(out.transfer_ns, median_of(transfers));
  const TimeNs pass = compute / steps / (2 * out.micro_batches);
  out.pass_ns = out.pass_ns == 0 ? pass : std::min(out.pass_ns, pass);
}

}  // namespace

double least_of_half(const std::optional<PipelineSchedule>& schedule, LossNs bubble,
                     TimeNs useful_ns, TimeNs step_ns) {
  const auto share = [&](double ns) { return ns / static_cast<double>(step_ns); };
  const double least = share(static_cast<double>(bubble.lo_ns)) / 2;
  if (!schedule) return least;
  const double ideal =
      std::min(least, share(schedule->ideal_bubble() * static_cast<double>(useful_ns)) / 2);
  return std::min({ideal - share(static_cast<double>(schedule->repeated_ns)),
                   ideal - share(static_cast<double>(schedule->chunked_ns())),
                   1 - share(2.0 * static_cast<double>(schedule->host_ns))});
}

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
  PipelineSchedule out;
  out.stages = *largest;
  out.micro_batches = std::max<int64_t>(1, transfers / 2);
  const Latencies latencies = transfer_latency(g);
  for (uint32_t r = 0; r < g.ranks().size(); ++r)
    if (replicas.root(r) == replica && !g.ranks()[r].host_steps.empty())
      add_costs(g, r, latencies, out);
  return out;
}

}  // namespace ws
