// Tested by: replay_test.cpp
#include "analysis/peer_times.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "analysis/expert_layers.h"
#include "analysis/median.h"

namespace ws {
namespace {

constexpr double kSlow = 1.03;     // all of one name together: as in ALGORITHMS 5.4
constexpr double kOutlier = 1.25;  // one of many (D)

// Names of all ranks as common numbers.
std::vector<std::vector<uint32_t>> common_names(const ReplayGraph& g) {
  std::vector<std::vector<uint32_t>> out;
  std::unordered_map<std::string_view, uint32_t> ids;
  for (const ReplayRank& r : g.ranks()) {
    auto& list = out.emplace_back();
    for (const std::string& n : r.names)
      list.push_back(ids.try_emplace(n, static_cast<uint32_t>(ids.size())).first->second);
  }
  return out;
}
using CommonNames = std::vector<std::vector<uint32_t>>;  // per rank and name of it

// Ranks that run the same kernels, about as often per step, play the same role (stage, expert
// group).
std::vector<uint32_t> roles(const ReplayGraph& g, const CommonNames& names) {
  using Signature = std::map<uint32_t, int64_t>;
  const auto steps = static_cast<int64_t>(std::max<size_t>(1, g.step_count()));
  std::map<Signature, uint32_t> known;
  std::vector<uint32_t> out;
  for (size_t r = 0; r < g.ranks().size(); ++r) {
    std::vector<int64_t> count(g.ranks()[r].names.size(), 0);
    for (const ReplayOp& o : g.ranks()[r].ops)
      if (is_compute(o.cls)) ++count[o.name];
    Signature signature;
    for (size_t n = 0; n < count.size(); ++n)
      if (count[n] > 0) signature[names[r][n]] += count[n];
    for (auto& [name, n] : signature) n = (n + steps / 2) / steps;
    out.push_back(known.try_emplace(signature, static_cast<uint32_t>(known.size())).first->second);
  }
  return out;
}

struct Item {
  TimeNs order_ns, begin_ns;
  uint32_t node, name;  // name: of the rank's own list
};

std::vector<Item> items_of(const ReplayGraph& g, size_t rank_row, NodeKind kind) {
  const ReplayRank& rank = g.ranks()[rank_row];
  std::vector<Item> out;
  for (size_t i = 0; kind == NodeKind::op && i < rank.ops.size(); ++i) {
    const ReplayOp& o = rank.ops[i];
    if (is_compute(o.cls))
      out.push_back({o.order_ns >= 0 ? o.order_ns : o.begin_ns, o.begin_ns,
                     g.node_of_op(rank_row, i), o.name});
  }
  for (size_t i = 0; kind == NodeKind::call && i < rank.calls.size(); ++i) {
    const ReplayCall& c = rank.calls[i];
    out.push_back({c.begin_ns, c.begin_ns, g.node_of_call(rank_row, i), c.name});
  }
  const auto before = [](const Item& a, const Item& b) {
    return std::tie(a.order_ns, a.begin_ns, a.node) < std::tie(b.order_ns, b.begin_ns, b.node);
  };
  if (!std::is_sorted(out.begin(), out.end(), before)) std::sort(out.begin(), out.end(), before);
  return out;
}

int64_t step_at(const ReplayRank& rank, TimeNs t) {
  const auto it = std::upper_bound(rank.host_steps.begin(), rank.host_steps.end(), t,
                                   [](TimeNs x, const Interval& s) { return x < s.begin_ns; });
  return it - rank.host_steps.begin() - 1;
}

// The k-th occurrence of the same kernel or call in the same step, on every rank of a role: nodes
// by slot, those of one slot in the order of ranks.
struct Slots {
  std::vector<uint32_t> first;  // per slot, and the end
  std::vector<uint32_t> nodes;
};

Slots slots_of(const ReplayGraph& g, const CommonNames& names, const std::vector<uint32_t>& role,
               NodeKind kind) {
  struct Place {
    uint32_t group, occurrence, node;
  };
  std::map<std::tuple<uint32_t, int64_t, uint32_t>, uint32_t> groups;  // role, step, name
  std::vector<uint32_t> most;  // per group: occurrences on the rank that has most
  std::vector<Place> places;
  for (size_t r = 0; r < g.ranks().size(); ++r) {
    struct Open {
      int64_t step = INT64_MIN;
      uint32_t group = 0, count = 0;
    };
    std::vector<Open> open(g.ranks()[r].names.size());  // items come in the order of steps
    for (const Item& x : items_of(g, r, kind)) {
      const int64_t step = step_at(g.ranks()[r], x.order_ns);
      Open& o = open[x.name];
      if (o.step != step) {
        const auto next = static_cast<uint32_t>(most.size());
        o = {step, groups.try_emplace({role[r], step, names[r][x.name]}, next).first->second, 0};
        if (o.group == next) most.push_back(0);
      }
      places.push_back({o.group, o.count++, x.node});
      most[o.group] = std::max(most[o.group], o.count);
    }
  }
  std::vector<uint32_t> first_slot(most.size() + 1, 0);
  for (size_t i = 0; i < most.size(); ++i) first_slot[i + 1] = first_slot[i] + most[i];
  Slots out;
  out.first.assign(first_slot.back() + 1, 0);
  for (const Place& p : places) ++out.first[first_slot[p.group] + p.occurrence + 1];
  for (size_t k = 1; k < out.first.size(); ++k) out.first[k] += out.first[k - 1];
  std::vector<uint32_t> next(out.first.begin(), out.first.end() - 1);
  out.nodes.resize(places.size());
  for (const Place& p : places) out.nodes[next[first_slot[p.group] + p.occurrence]++] = p.node;
  return out;
}

uint32_t host_edge(const ReplayGraph& g, uint32_t node) {
  for (uint32_t e = g.first_edge(2 * node); e != kNoRow; e = g.edges()[e].next)
    if (g.edges()[e].tag == EdgeTag::thread) return e;
  return kNoRow;
}

// Medians over those of a slot that are not late; where all are, over all others.
class SlotMedians {
 public:
  SlotMedians(const ReplayGraph& g, const std::vector<bool>& late) : g_(g), late_(late) {}

  // false: no other rank has this occurrence.
  bool of(const uint32_t* begin, const uint32_t* end, PeerTime& t) {
    for (const bool also_late : {false, true}) {
      durations_.clear();
      lags_.clear();
      for (const uint32_t* x = begin; x != end; ++x) {
        const Node& n = g_.nodes()[*x];
        if (n.rank == g_.nodes()[t.node].rank || (late_[n.rank] && !also_late)) continue;
        durations_.push_back(n.duration_ns);
        const uint32_t e = n.kind == NodeKind::call ? host_edge(g_, *x) : kNoRow;
        if (e != kNoRow) lags_.push_back(g_.edges()[e].lag_ns);
      }
      if (!durations_.empty()) break;
    }
    if (durations_.empty()) return false;
    t.duration_ns = median_of(durations_);
    if (!lags_.empty()) t.lag_edge = host_edge(g_, t.node);
    if (t.lag_edge != kNoRow) t.lag_ns = median_of(lags_);
    return true;
  }

 private:
  const ReplayGraph& g_;
  const std::vector<bool>& late_;
  std::vector<TimeNs> durations_, lags_;
};

bool above(double factor, TimeNs own_ns, TimeNs peers_ns) {
  return static_cast<double>(own_ns) > factor * static_cast<double>(peers_ns);
}

// The tokens of a hot expert have to be computed somewhere, so what its rank computes more than the
// others there is no slowness that could be mended: those ops shrink by as much as the rank takes
// longer for everything else.
void leave_tokens(const ReplayGraph& g, const std::vector<bool>& late,
                  std::vector<PeerTime>& times) {
  std::vector<bool> of_expert(g.nodes().size(), false);
  for (size_t r = 0; r < g.ranks().size(); ++r) {
    if (!late[r]) continue;
    for (const ExpertLayer& layer : expert_layers(g, r))
      for (uint32_t node : layer.compute) of_expert[node] = layer.grouped;
  }
  struct Taken {
    double own_ns = 0, peers_ns = 0;
  };
  std::vector<Taken> taken(g.ranks().size());
  for (const PeerTime& t : times) {
    const Node& n = g.nodes()[t.node];
    if (n.kind != NodeKind::op || of_expert[t.node]) continue;
    taken[n.rank].own_ns += static_cast<double>(n.duration_ns);
    taken[n.rank].peers_ns += static_cast<double>(t.duration_ns);
  }
  for (PeerTime& t : times) {
    const Node& n = g.nodes()[t.node];
    const Taken& all = taken[n.rank];
    if (!of_expert[t.node] || all.peers_ns <= 0) continue;
    const double slower = all.own_ns / all.peers_ns;
    t.duration_ns = slower <= kSlow
                        ? n.duration_ns
                        : static_cast<TimeNs>(static_cast<double>(n.duration_ns) / slower);
  }
}

// Pauses stand out one by one; what is left tells whether a rank is slower throughout.
void mark_slow(const ReplayGraph& g, std::vector<PeerTime>& times) {
  struct Taken {  // by a rank and its peers, for all of a name
    TimeNs own_ns = 0, peers_ns = 0, own_lag_ns = 0, peers_lag_ns = 0;
  };
  std::vector<std::vector<Taken>> taken(g.ranks().size());  // per name of the rank: ops, calls
  const auto taken_by = [&](const PeerTime& t) -> Taken& {
    const Node& n = g.nodes()[t.node];
    taken[n.rank].resize(2 * g.ranks()[n.rank].names.size());
    return taken[n.rank][n.kind == NodeKind::op ? 2 * g.op(n).name : 2 * g.call(n).name + 1];
  };
  for (PeerTime& t : times) {
    const TimeNs own = g.nodes()[t.node].duration_ns;
    const TimeNs lag = t.lag_edge == kNoRow ? 0 : g.edges()[t.lag_edge].lag_ns;
    t.slow = above(kOutlier, own, t.duration_ns);
    t.slow_lag = above(kOutlier, lag, t.lag_ns);
    Taken& all = taken_by(t);
    if (!t.slow) all.own_ns += own, all.peers_ns += t.duration_ns;
    if (!t.slow_lag) all.own_lag_ns += lag, all.peers_lag_ns += t.lag_ns;
  }
  for (PeerTime& t : times) {
    const Taken& all = taken_by(t);
    t.slow = t.slow || above(kSlow, all.own_ns, all.peers_ns);
    t.slow_lag = t.slow_lag || above(kSlow, all.own_lag_ns, all.peers_lag_ns);
  }
}

}  // namespace

std::vector<PeerTime> peer_times(const ReplayGraph& g, const std::vector<uint32_t>& late) {
  std::vector<PeerTime> out;
  if (late.empty() || g.ranks().size() < 2) return out;
  std::vector<bool> is_late(g.ranks().size(), false);
  for (uint32_t rank : late) is_late[rank] = true;
  const CommonNames names = common_names(g);
  const std::vector<uint32_t> role = roles(g, names);
  SlotMedians medians(g, is_late);
  for (const NodeKind kind : {NodeKind::op, NodeKind::call}) {
    const Slots slots = slots_of(g, names, role, kind);
    for (size_t k = 0; k + 1 < slots.first.size(); ++k) {
      const uint32_t *begin = slots.nodes.data() + slots.first[k],
                     *end = slots.nodes.data() + slots.first[k + 1];
      for (const uint32_t* x = begin; x != end; ++x) {
        PeerTime t;
        t.node = *x;
        if (is_late[g.nodes()[*x].rank] && medians.of(begin, end, t)) out.push_back(t);
      }
    }
  }
  leave_tokens(g, is_late, out);
  mark_slow(g, out);
  return out;
}

}  // namespace ws
