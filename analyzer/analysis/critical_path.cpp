// Of several edges that bind at the same time the one whose source starts earlier, then the smaller
// number is followed, so the path is the same on every machine. A stretch that no edge explains
// belongs to what the event is: a late launch is the host's, a late start after a dependency idle.
// Tested by: price_run_test.cpp
#include "analysis/critical_path.h"

#include <algorithm>
#include <map>

namespace ws {
namespace {

Leaf leaf_of_op(const ReplayOp& o, bool transfer) {
  if (is_compute(o.cls) && (o.flags & kFlagRecompute) != 0) return Leaf::recompute;
  switch (o.cls) {
    case OpClass::gemm:
      return Leaf::gemm;
    case OpClass::attention:
      return Leaf::attention;
    case OpClass::membound:
      return Leaf::membound;
    case OpClass::h2d:
    case OpClass::d2h:
      if ((o.flags & kFlagOffload) != 0) return Leaf::copy_offload;
      return o.cls == OpClass::h2d ? Leaf::copy_h2d : Leaf::copy_d2h;
    case OpClass::comm:
    case OpClass::p2p:
      return comm_leaf(o.cls, o.kind, transfer ? CommPart::transfer : CommPart::unsplit);
    case OpClass::compute_other:
      break;
  }
  return Leaf::compute_other;
}

Leaf leaf_of_call(HostState state) {
  switch (state) {
    case HostState::alloc:
      return Leaf::idle_alloc;
    case HostState::sync:
      return Leaf::idle_sync;
    case HostState::jit:
      return Leaf::idle_jit;
    case HostState::graph_build:
    case HostState::graph_launch:
      return Leaf::idle_graph_launch;
    case HostState::launch:
      return Leaf::idle_launch;
    default:
      return Leaf::idle_host;
  }
}

class Path {
 public:
  explicit Path(const ReplayGraph& graph)
      : graph_(graph), at_(graph.run(graph.recorded(true))), ends_(graph.step_ends(at_)) {}

  CriticalPath run() {
    CriticalPath out;
    if (ends_.size() < 2 || ends_.back() <= ends_.front()) return out;
    from_ns_ = ends_.front();
    out.length_ns = ends_.back() - from_ns_;
    walk(last_event());
    for (const auto& [key, ns] : sums_)
      if (ns > 0) out.parts.push_back({key.first, key.second, ns});
    return out;
  }

 private:
  struct Source {
    uint32_t event = kNoRow;
    EdgeTag tag = EdgeTag::own;
    TimeNs explains_ns = kDropped;
    uint32_t edge = kNoRow;
  };

  uint32_t last_event() const {
    uint32_t best = kNoRow;
    for (uint32_t node = 0; node < graph_.nodes().size(); ++node) {
      if (graph_.nodes()[node].kind != NodeKind::op || graph_.step_of(node) < 0) continue;
      if (is_comm(graph_.op(graph_.nodes()[node]).cls) || at_[2 * node + 1] != ends_.back())
        continue;
      if (best == kNoRow) best = 2 * node + 1;
    }
    return best;
  }

  // What set the event's time.
  Source source_of(uint32_t event) const {
    Source best;
    const auto offer = [&](Source s) {
      const bool better = best.event == kNoRow || s.explains_ns > best.explains_ns ||
                          (s.explains_ns == best.explains_ns &&
                           std::make_pair(at_[s.event & ~1u], s.event) <
                               std::make_pair(at_[best.event & ~1u], best.event));
      if (better) best = s;
    };
    for (uint32_t e = graph_.first_edge(event); e != kNoRow; e = graph_.edges()[e].next) {
      const Edge& edge = graph_.edges()[e];
      if (!is_floor(edge.tag)) offer({edge.from, edge.tag, at_[edge.from] + edge.lag_ns, e});
    }
    if (event % 2 == 1)
      offer({event - 1, EdgeTag::own, at_[event - 1] + graph_.nodes()[event / 2].duration_ns,
             kNoRow});
    return best;
  }

  void charge(uint32_t node, Leaf leaf, Interval span) {
    const TimeNs ns = span.end_ns - std::max(span.begin_ns, from_ns_);
    if (ns > 0) sums_[{graph_.ranks()[graph_.nodes()[node].rank].rank, leaf}] += ns;
  }

  // Host time between two calls: data loading and its like first, the rest is the host's own.
  void charge_host(uint32_t node, Interval span) {
    static constexpr Leaf kLeaves[kCoverKinds] = {Leaf::idle_dataload, Leaf::idle_gc,
                                                  Leaf::idle_jit, Leaf::idle_profiler};
    const ReplayCall& call = graph_.call(graph_.nodes()[node]);
    for (size_t k = 0; k < kCoverKinds; ++k) {
      const TimeNs part = std::min(call.covered_ns[k], span.length());
      charge(node, kLeaves[k], {span.end_ns - part, span.end_ns});
      span.end_ns -= part;
    }
    charge(node, Leaf::idle_host, span);
  }

  void charge_from(uint32_t event, const Source& s) {
    const uint32_t node = event / 2;
    const Node& n = graph_.nodes()[node];
    const Interval span{at_[s.event], at_[event]};
    switch (s.tag) {
      case EdgeTag::thread:
        charge_host(node, span);
        break;
      case EdgeTag::launch:
        charge(node, Leaf::idle_launch, span);
        break;
      case EdgeTag::stream:
        charge(node, Leaf::idle_kernel_gap, span);
        break;
      case EdgeTag::sync:
        charge(node, leaf_of_call(n.state), span);
        break;
      case EdgeTag::overlap:
      case EdgeTag::collective:
        charge(node, leaf_of_op(graph_.op(n), s.tag == EdgeTag::collective), span);
        break;
      case EdgeTag::own:
        if (n.kind == NodeKind::op) charge(node, leaf_of_op(graph_.op(n), false), span);
        if (n.kind == NodeKind::call) charge(node, leaf_of_call(n.state), span);
        if (n.kind == NodeKind::rendezvous) charge(node, Leaf::idle_dependency, span);
        break;
      case EdgeTag::event:
      case EdgeTag::queue:
      case EdgeTag::possible:
      case EdgeTag::presumed:
        charge(node, Leaf::idle_dependency, span);
        break;
    }
  }

  void walk(uint32_t event) {
    while (event != kNoRow && at_[event] > from_ns_) {
      const Source s = source_of(event);
      if (s.event == kNoRow) {  // nothing known before it
        charge(event / 2, Leaf::idle_unknown, {from_ns_, at_[event]});
        return;
      }
      charge_from(event, s);
      event = s.event;
    }
  }

  const ReplayGraph& graph_;
  const std::vector<TimeNs> at_;
  const std::vector<TimeNs> ends_;
  TimeNs from_ns_ = 0;
  std::map<std::pair<int32_t, Leaf>, TimeNs> sums_;
};

}  // namespace

CriticalPath critical_path(const ReplayGraph& graph) { return Path(graph).run(); }

}  // namespace ws
