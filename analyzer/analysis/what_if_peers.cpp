// Changes that compare ranks: a late rank brought to its peers, experts balanced.
// Tested by: replay_test.cpp
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "analysis/median.h"

#include "analysis/what_if_changes.h"

namespace ws::change {
namespace {

// Names of all ranks as common numbers.
class CommonNames {
 public:
  explicit CommonNames(const ReplayGraph& g) {
    std::unordered_map<std::string, uint32_t> ids;
    for (const ReplayRank& r : g.ranks()) {
      auto& list = of_rank_.emplace_back();
      for (const std::string& n : r.names) {
        list.push_back(ids.try_emplace(n, static_cast<uint32_t>(ids.size())).first->second);
      }
    }
  }
  uint32_t of(size_t rank_row, uint32_t name) const { return of_rank_[rank_row][name]; }

 private:
  std::vector<std::vector<uint32_t>> of_rank_;
};

// Ranks that run the same kernels, about as often per step, play the same role (stage, expert
// group).
std::vector<uint32_t> roles(const ReplayGraph& g, const CommonNames& names) {
  using Signature = std::map<uint32_t, int64_t>;
  const auto steps = static_cast<int64_t>(std::max<size_t>(1, g.step_count()));
  std::map<Signature, uint32_t> known;
  std::vector<uint32_t> out;
  for (size_t r = 0; r < g.ranks().size(); ++r) {
    Signature count;
    for (const ReplayOp& o : g.ranks()[r].ops) {
      if (is_compute(o.cls)) ++count[names.of(r, o.name)];
    }
    for (auto& [name, n] : count) n = (n + steps / 2) / steps;
    out.push_back(known.try_emplace(count, static_cast<uint32_t>(known.size())).first->second);
  }
  return out;
}

int64_t step_at(const ReplayRank& rank, TimeNs t) {
  const auto it = std::upper_bound(rank.host_steps.begin(), rank.host_steps.end(), t,
                                   [](TimeNs x, const Interval& s) { return x < s.begin_ns; });
  return it - rank.host_steps.begin() - 1;
}

// The k-th occurrence of the same kernel or call in the same step, on every rank of a role.
using Key = std::tuple<uint32_t, int64_t, uint32_t, uint32_t>;  // role, step, name, occurrence
using Occurrences = std::map<Key, std::vector<uint32_t>>;       // nodes, by rank

Occurrences occurrences(const ReplayGraph& g, const CommonNames& names, NodeKind kind) {
  Occurrences out;
  const std::vector<uint32_t> role = roles(g, names);
  for (size_t r = 0; r < g.ranks().size(); ++r) {
    const ReplayRank& rank = g.ranks()[r];
    struct Item {
      TimeNs order_ns, begin_ns;
      uint32_t node, name;
    };
    std::vector<Item> items;
    if (kind == NodeKind::op) {
      for (size_t i = 0; i < rank.ops.size(); ++i) {
        const ReplayOp& o = rank.ops[i];
        if (is_compute(o.cls)) {
          items.push_back({o.order_ns >= 0 ? o.order_ns : o.begin_ns, o.begin_ns,
                           g.node_of_op(r, i), names.of(r, o.name)});
        }
      }
    } else {
      for (size_t i = 0; i < rank.calls.size(); ++i) {
        const ReplayCall& c = rank.calls[i];
        items.push_back({c.begin_ns, c.begin_ns, g.node_of_call(r, i), names.of(r, c.name)});
      }
    }
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
      return std::tie(a.order_ns, a.begin_ns, a.node) < std::tie(b.order_ns, b.begin_ns, b.node);
    });
    std::map<std::pair<int64_t, uint32_t>, uint32_t> seen;
    for (const Item& x : items) {
      const int64_t step = step_at(rank, x.order_ns);
      out[{role[r], step, x.name, seen[{step, x.name}]++}].push_back(x.node);
    }
  }
  return out;
}

// Lag of the host edge into a call, -1: it has none.
TimeNs host_lag(const ReplayGraph& g, uint32_t node, uint32_t* edge) {
  for (uint32_t e = g.first_edge(2 * node); e != kNoRow; e = g.edges()[e].next) {
    if (g.edges()[e].tag != EdgeTag::thread) continue;
    *edge = e;
    return g.edges()[e].lag_ns;
  }
  return -1;
}

}  // namespace

bool straggler_fixed(const ReplayGraph& g, const std::vector<uint32_t>& late, Scenario& s) {
  if (late.empty() || g.ranks().size() < 2) return false;
  const auto is_late = [&](uint32_t rank) {
    return std::find(late.begin(), late.end(), rank) != late.end();
  };
  const CommonNames names(g);
  bool any = false;
  for (const NodeKind kind : {NodeKind::op, NodeKind::call}) {
    for (const auto& [key, nodes] : occurrences(g, names, kind)) {
      for (uint32_t node : nodes) {
        const uint32_t rank = g.nodes()[node].rank;
        if (!is_late(rank)) continue;
        std::vector<uint32_t> peers;
        for (uint32_t x : nodes) {
          if (!is_late(g.nodes()[x].rank)) peers.push_back(x);
        }
        if (peers.empty()) {
          for (uint32_t x : nodes) {
            if (g.nodes()[x].rank != rank) peers.push_back(x);
          }
        }
        if (peers.empty()) continue;
        any = true;
        std::vector<TimeNs> durations, lags;
        uint32_t edge = kNoRow;
        for (uint32_t x : peers) {
          durations.push_back(g.nodes()[x].duration_ns);
          const TimeNs lag = kind == NodeKind::call ? host_lag(g, x, &edge) : -1;
          if (lag >= 0) lags.push_back(lag);
        }
        s.duration_ns[node] = std::min(s.duration_ns[node], median_of(durations));
        if (kind == NodeKind::call && host_lag(g, node, &edge) >= 0 && !lags.empty()) {
          s.lag_ns[edge] = std::min(s.lag_ns[edge], median_of(lags));
        }
      }
    }
  }
  for (uint32_t i = 0; any && i < g.nodes().size(); ++i) {
    if (g.nodes()[i].bound_by == EdgeTag::launch && is_late(g.nodes()[i].rank)) s.keep[i] = 0;
  }
  return any;
}

namespace {

struct ExpertLayer {
  uint32_t dispatch = 0, combine = 0;  // nodes of the two exchanges
  std::vector<uint32_t> compute;       // nodes between them, in launch order
  bool grouped = false;
};

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

// Of what the members of one exchange send or receive; 1 where that was not recorded.
double mean_over_most_bytes(const ReplayGraph& g, const std::vector<ExpertLayer>& layers,
                            uint32_t ExpertLayer::*exchange) {
  double sum = 0, most = 0;
  for (const ExpertLayer& l : layers) {
    const auto bytes = static_cast<double>(g.op(g.nodes()[l.*exchange]).bytes);
    if (bytes <= 0) return 1;
    sum += bytes;
    most = std::max(most, bytes);
  }
  return sum / static_cast<double>(layers.size()) / most;
}

}  // namespace

// Tokens are conserved: the compute between two exchanges takes the mean over the group, op by op.
// Their transfer shrinks as far as recorded sizes differ; optimistically by mean / max of the
// compute too.
bool experts_balanced(const ReplayGraph& g, bool keep, Scenario& s) {
  if (g.ranks().size() < 2) return false;
  using Key = std::pair<size_t, size_t>;  // position, number of ops
  std::map<Key, std::vector<ExpertLayer>> groups;
  for (size_t r = 0; r < g.ranks().size(); ++r) {
    std::vector<ExpertLayer> layers = expert_layers(g, r);
    for (size_t i = 0; i < layers.size(); ++i) {
      if (!layers[i].compute.empty())
        groups[{i, layers[i].compute.size()}].push_back(std::move(layers[i]));
    }
  }
  bool any = false;
  for (const auto& [key, layers] : groups) {
    const bool grouped =
        std::any_of(layers.begin(), layers.end(), [](const ExpertLayer& l) { return l.grouped; });
    if (layers.size() < 2 || !grouped) continue;
    any = true;
    const auto n = static_cast<TimeNs>(layers.size());
    std::vector<TimeNs> total(layers.size(), 0);
    for (size_t j = 0; j < key.second; ++j) {
      TimeNs sum = 0;
      for (size_t l = 0; l < layers.size(); ++l) {
        const TimeNs d = g.nodes()[layers[l].compute[j]].duration_ns;
        sum += d;
        total[l] += d;
      }
      for (const ExpertLayer& l : layers) s.duration_ns[l.compute[j]] = sum / n;
    }
    TimeNs sum = 0, most = 1;
    for (TimeNs t : total) sum += t, most = std::max(most, t);
    const double by_time =
        static_cast<double>(sum) / static_cast<double>(n) / static_cast<double>(most);
    const auto shrink = [&](uint32_t ExpertLayer::*exchange) {
      const double by_bytes = mean_over_most_bytes(g, layers, exchange);
      return keep ? by_bytes : std::min(by_bytes, by_time);
    };
    const double dispatch = shrink(&ExpertLayer::dispatch), combine = shrink(&ExpertLayer::combine);
    for (const ExpertLayer& l : layers) {
      for (uint32_t node : {l.dispatch, l.combine}) {
        for (uint32_t e = g.first_edge(2 * node + 1); e != kNoRow; e = g.edges()[e].next) {
          if (g.edges()[e].tag != EdgeTag::collective || s.lag_ns[e] == kDropped) continue;
          const double share = node == l.dispatch ? dispatch : combine;
          const auto lag = static_cast<TimeNs>(static_cast<double>(g.edges()[e].lag_ns) * share);
          s.lag_ns[e] = std::min(s.lag_ns[e], lag);
        }
      }
    }
  }
  return any;
}

}  // namespace ws::change
