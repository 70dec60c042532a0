// Changes that compare ranks: a late rank brought to its peers, experts balanced.
// Tested by: replay_test.cpp
#include <algorithm>
#include <map>

#include "analysis/expert_layers.h"
#include "analysis/what_if_changes.h"

namespace ws::change {

// Residuals of launch-bound starts go with the calls they came from.
bool straggler_fixed(const ReplayGraph& g, const std::vector<PeerTime>& peers, bool keep,
                     Scenario& s) {
  std::vector<bool> fixed(g.nodes().size(), false);
  for (const PeerTime& t : peers) {
    if (t.slow || !keep) s.duration_ns[t.node] = std::min(s.duration_ns[t.node], t.duration_ns);
    const bool lag = t.lag_edge != kNoRow && (t.slow_lag || !keep);
    if (lag) s.lag_ns[t.lag_edge] = std::min(s.lag_ns[t.lag_edge], t.lag_ns);
    fixed[t.node] = !keep || t.slow || lag;
  }
  for (uint32_t i = 0; !peers.empty() && i < g.nodes().size(); ++i) {
    const Node& n = g.nodes()[i];
    if (n.kind != NodeKind::op || n.bound_by != EdgeTag::launch) continue;
    const uint32_t call = g.op(n).call;
    if (call != kNoRow && fixed[g.node_of_call(n.rank, call)]) s.keep[i] = 0;
  }
  return !peers.empty();
}

namespace {

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
  for (const auto& group : groups) {
    const auto& key = group.first;
    const std::vector<ExpertLayer>& layers = group.second;  // a lambda may not take a binding
    const bool grouped =
        std::any_of(layers.begin(), layers.end(), [](const ExpertLayer& l) { return l.grouped; });
    if (layers.size() < 2 || !grouped) continue;
    any = true;
    const auto n = static_cast<TimeNs>(layers.size());
    std::vector<TimeNs> total(layers.size(), 0);
    for (size_t j = 0; j < key.second; ++j) {
      TimeNs sum = 0;
      for (size_t l = 0; l < layers.size(); ++l) {
        const TimeNs d = s.duration_ns[layers[l].compute[j]];  // other changes first
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
