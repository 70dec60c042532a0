// Tested by: replay_test.cpp
#include "analysis/what_if_changes.h"

#include <algorithm>

#include "analysis/contention.h"

namespace ws::change {
namespace {

constexpr TimeNs kLongHostWorkNs = 1'000'000;  // longer host work is not the cost of one call (D)
constexpr TimeNs kCallOverheadNs = 100'000;    // conservative: at most this per call goes (D)

bool of_kind(const ReplayOp& o, KindSet kinds) {
  return is_comm(o.cls) && (kinds & bit(o.kind)) != 0;
}

const ReplayOp* op_of(const ReplayGraph& g, uint32_t node) {
  const Node& n = g.nodes()[node];
  return n.kind == NodeKind::op ? &g.op(n) : nullptr;
}

// f(node row, op) -> new duration; true when any op was asked for.
template <class Want, class Duration>
bool set_ops(const ReplayGraph& g, Scenario& s, Want want, Duration duration) {
  bool any = false;
  for (uint32_t i = 0; i < g.nodes().size(); ++i) {
    const ReplayOp* o = op_of(g, i);
    if (o == nullptr || !want(*o)) continue;
    any = true;
    s.duration_ns[i] = std::min(s.duration_ns[i], duration(s.duration_ns[i], *o));
  }
  return any;
}

template <class Visit>
void each_edge(const ReplayGraph& g, Scenario& s, EdgeTag tag, Visit visit) {
  for (uint32_t e = 0; e < g.edges().size(); ++e) {
    if (g.edges()[e].tag == tag && s.lag_ns[e] != kDropped) visit(e, g.destination(e) / 2);
  }
}

// divisor: what part of the slowdown goes.
void lose_slowdown(const ReplayGraph& g, KindSet kinds, int64_t divisor, Scenario& s) {
  const std::vector<TimeNs> alone = durations_alone(g, kinds);
  for (size_t i = 0; i < alone.size(); ++i) {
    if (alone[i] < 0) continue;
    const TimeNs d = g.nodes()[i].duration_ns;
    s.duration_ns[i] = std::min(s.duration_ns[i], d - (d - alone[i]) / divisor);
  }
}

bool comm_changed(const ReplayGraph& g, KindSet kinds, bool keep, TimeNs lag, Scenario& s) {
  const bool any = set_ops(
      g, s, [&](const ReplayOp& o) { return of_kind(o, kinds); },
      [](TimeNs, const ReplayOp&) { return TimeNs{0}; });
  if (!any) return false;
  each_edge(g, s, EdgeTag::collective, [&](uint32_t e, uint32_t node) {
    if (of_kind(*op_of(g, node), kinds)) s.lag_ns[e] = lag;
  });
  lose_slowdown(g, kinds, keep ? 2 : 1, s);  // conservative: half of it (D)
  return true;
}

}  // namespace

bool comm_zero(const ReplayGraph& g, KindSet kinds, bool keep, Scenario& s) {
  return comm_changed(g, kinds, keep, 0, s);
}

bool comm_removed(const ReplayGraph& g, KindSet kinds, bool keep, Scenario& s) {
  return comm_changed(g, kinds, keep, kDropped, s);
}

bool network_faster(const ReplayGraph& g, int64_t factor, bool keep, Scenario& s) {
  const bool any = set_ops(
      g, s, [](const ReplayOp& o) { return o.cls == OpClass::comm; },
      [&](TimeNs d, const ReplayOp&) { return d / factor; });
  if (!any) return false;
  const auto latency = keep ? transfer_latency(g) : decltype(transfer_latency(g)){};
  each_edge(g, s, EdgeTag::collective, [&](uint32_t e, uint32_t node) {
    const ReplayOp& o = *op_of(g, node);
    const auto it = latency.find({o.kind, o.coll});
    const TimeNs fixed = it == latency.end() ? 0 : std::min(s.lag_ns[e], it->second);
    s.lag_ns[e] = fixed + (s.lag_ns[e] - fixed) / factor;
  });
  if (!keep) {  // less overlap, less slowdown
    const std::vector<TimeNs> alone = durations_alone(g, kAllKinds);
    for (uint32_t i = 0; i < alone.size(); ++i) {
      if (alone[i] < 0) continue;
      const TimeNs d = g.nodes()[i].duration_ns;
      s.duration_ns[i] = std::min(s.duration_ns[i], d - (d - alone[i]) * (factor - 1) / factor);
    }
  }
  return true;
}

namespace {

// Of the host's time before a call, what is not there for the call: data loading and the like, and
// long work.
TimeNs host_work_besides(const ReplayCall& call, TimeNs lag_ns, bool keep) {
  TimeNs covered = 0;
  for (TimeNs v : call.covered_ns) covered += v;
  covered = std::min(covered, lag_ns);
  const TimeNs rest = lag_ns - covered;
  if (rest > kLongHostWorkNs) return lag_ns;
  return covered + (keep ? std::max<TimeNs>(0, rest - kCallOverheadNs) : 0);
}

}  // namespace

bool launch_zero(const ReplayGraph& g, bool keep, Scenario& s) {
  bool any = false;
  for (uint32_t i = 0; i < g.nodes().size(); ++i) {
    const Node& n = g.nodes()[i];
    if (n.kind == NodeKind::call &&
        (n.state == HostState::launch || n.state == HostState::graph_launch ||
         n.state == HostState::other)) {
      s.duration_ns[i] = 0;
      any = true;
    }
    if (n.bound_by == EdgeTag::launch) s.keep[i] = 0;  // a launch-bound start is what goes
  }
  each_edge(g, s, EdgeTag::thread, [&](uint32_t e, uint32_t node) {
    s.lag_ns[e] = host_work_besides(g.call(g.nodes()[node]), s.lag_ns[e], keep);
  });
  each_edge(g, s, EdgeTag::launch, [&](uint32_t e, uint32_t) { s.lag_ns[e] = 0; });
  return any;
}

void longer_gaps(const ReplayGraph& g, Scenario& s) {
  each_edge(g, s, EdgeTag::stream, [&](uint32_t e, uint32_t) { s.lag_ns[e] += s.lag_ns[e] / 2; });
}

namespace {

// Calls of one state take no time and no longer wait for the device.
bool calls_zero(const ReplayGraph& g, HostState state, Scenario& s) {
  bool any = false;
  for (uint32_t i = 0; i < g.nodes().size(); ++i) {
    if (g.nodes()[i].kind != NodeKind::call || g.nodes()[i].state != state) continue;
    s.duration_ns[i] = 0;
    s.keep[i] = 0;  // the wake-up goes with it
    any = true;
  }
  each_edge(g, s, EdgeTag::sync, [&](uint32_t e, uint32_t node) {
    if (g.nodes()[node].state == state) s.lag_ns[e] = kDropped;
  });
  return any;
}

}  // namespace

bool sync_zero(const ReplayGraph& g, Scenario& s) { return calls_zero(g, HostState::sync, s); }
bool alloc_zero(const ReplayGraph& g, Scenario& s) { return calls_zero(g, HostState::alloc, s); }

bool cover_zero(const ReplayGraph& g, CoverKind kind, Scenario& s) {
  bool any = false;
  each_edge(g, s, EdgeTag::thread, [&](uint32_t e, uint32_t node) {
    const TimeNs covered = g.call(g.nodes()[node]).covered_ns[static_cast<size_t>(kind)];
    any = any || covered > 0;
    s.lag_ns[e] -= std::min(s.lag_ns[e], covered);
  });
  return any;
}

namespace {

bool recomputes(const ReplayOp& o) { return (o.flags & kFlagRecompute) != 0; }

// What is not computed again is not launched again: the calls of recomputation, and calls without
// device work between two of them, are gone with the host's work for them.
void recompute_launches_zero(const ReplayGraph& g, Scenario& s) {
  for (size_t r = 0; r < g.ranks().size(); ++r) {
    const ReplayRank& rank = g.ranks()[r];
    std::vector<uint8_t> gone(rank.calls.size(), 0);
    std::vector<uint32_t> between;
    bool inside = false;
    for (uint32_t i = 0; i < rank.calls.size(); ++i) {
      const ReplayCall& c = rank.calls[i];
      if (c.op_count == 0) {
        if (inside && (c.event != EventCall::none || c.state == HostState::other))
          between.push_back(i);
        continue;
      }
      const auto first = rank.launched.begin() + c.first_op;
      inside = std::all_of(first, first + c.op_count,
                           [&](uint32_t op) { return recomputes(rank.ops[op]); });
      if (inside) {
        for (uint32_t b : between) gone[b] = 1;
        gone[i] = 1;
      }
      between.clear();
    }
    for (uint32_t i = 0; i < rank.calls.size(); ++i) {
      const uint32_t node = g.node_of_call(r, i);
      if (gone[i] == 0 || g.nodes()[node].state == HostState::sync) continue;
      s.duration_ns[node] = 0;
      s.keep[node] = 0;
      for (uint32_t e = g.first_edge(2 * node); e != kNoRow; e = g.edges()[e].next) {
        if (g.edges()[e].tag != EdgeTag::thread) continue;
        s.lag_ns[e] = std::min(s.lag_ns[e], host_work_besides(rank.calls[i], s.lag_ns[e], true));
      }
    }
  }
}

}  // namespace

bool recompute_zero(const ReplayGraph& g, Scenario& s) {
  const auto flagged = recomputes;
  const bool any = set_ops(g, s, flagged, [](TimeNs, const ReplayOp&) { return TimeNs{0}; });
  if (!any) return false;
  recompute_launches_zero(g, s);
  for (uint32_t e = 0; e < g.edges().size(); ++e) {
    const ReplayOp* o = op_of(g, g.destination(e) / 2);
    if (o == nullptr || !flagged(*o) || s.lag_ns[e] == kDropped) continue;
    const EdgeTag tag = g.edges()[e].tag;
    if (tag == EdgeTag::collective) {
      s.lag_ns[e] = kDropped;
    } else if (tag == EdgeTag::stream || tag == EdgeTag::launch || tag == EdgeTag::event ||
               tag == EdgeTag::overlap) {
      s.lag_ns[e] = 0;
    }
  }
  return true;
}

bool offload_zero(const ReplayGraph& g, Scenario& s) {
  return set_ops(
      g, s, [](const ReplayOp& o) { return (o.flags & kFlagOffload) != 0; },
      [](TimeNs, const ReplayOp&) { return TimeNs{0}; });
}

bool copy_zero(const ReplayGraph& g, Scenario& s) {
  return set_ops(
      g, s, [](const ReplayOp& o) { return is_copy(o.cls) && (o.flags & kFlagOffload) == 0; },
      [](TimeNs, const ReplayOp&) { return TimeNs{0}; });
}

bool class_faster(const ReplayGraph& g, OpClass cls, int64_t factor, Scenario& s) {
  return set_ops(
      g, s, [&](const ReplayOp& o) { return o.cls == cls; },
      [&](TimeNs d, const ReplayOp&) { return d / factor; });
}

}  // namespace ws::change
