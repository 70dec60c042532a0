// Where no event call was recorded, what one stream waits for on another is not known:
// communication and copies may have to wait for the compute launched before them, and the next
// compute for them, as far as the clock allows both. Where one such piece of work is seen to run
// beside that compute, on any rank, data do not order its kind: the dependency binds conservative
// runs only. Where none ever was, no record speaks against it, and it binds all runs: that work
// which blocks would be hidden as well is no part of what another change gains. Tested by:
// replay_test.cpp
#include <algorithm>
#include <set>
#include <tuple>

#include "analysis/replay_events.h"
#include "analysis/replay_graph.h"

namespace ws {
namespace {

uint32_t start_of(uint32_t node) { return 2 * node; }
uint32_t end_of(uint32_t node) { return 2 * node + 1; }

bool has_events(const ReplayRank& rank) {
  return !rank.waits.empty() ||
         std::any_of(rank.calls.begin(), rank.calls.end(),
                     [](const ReplayCall& c) { return c.event != EventCall::none; });
}

// Compute of the busiest stream that is in order of launch and of begin.
struct MainCompute {
  MainCompute() = default;
  explicit MainCompute(const ReplayRank& rank) : stream(main_stream(rank)) {
    for (uint32_t i = 0; i < rank.ops.size(); ++i) {
      const ReplayOp& o = rank.ops[i];
      const bool in_order = rows.empty() || rank.ops[rows.back()].order_ns <= o.order_ns;
      if (o.stream == stream && is_compute(o.cls) && o.order_ns >= 0 && in_order) rows.push_back(i);
    }
  }
  uint32_t stream = kNoRow;
  std::vector<uint32_t> rows;
};

using Kind = std::tuple<OpClass, CommKind, CollectiveOp>;
Kind kind_of(const ReplayOp& o) { return {o.cls, o.kind, o.coll}; }

// One piece of side work between compute: rows of MainCompute::rows.
struct Place {
  uint32_t op = 0;
  size_t launched_after = 0;  // first compute launched after it
  size_t begins_after = 0;    // first compute that begins when it has ended
  size_t ended_before = 0;    // first compute that had not ended when it began
  bool beside_later = false, beside_earlier = false;
};

std::vector<Place> places_of(const ReplayRank& rank, const MainCompute& compute) {
  const std::vector<uint32_t>& rows = compute.rows;
  const auto row_at = [&](auto it) { return static_cast<size_t>(it - rows.begin()); };
  const TimeNs jitter = rank.constants.kernel_gap_ns;
  std::vector<Place> out;
  for (uint32_t i = 0; i < rank.ops.size(); ++i) {
    const ReplayOp& o = rank.ops[i];
    if (is_compute(o.cls) || o.stream == compute.stream || o.order_ns < 0 || o.call == kNoRow)
      continue;
    const auto begins = [&](uint32_t c, TimeNs t) { return rank.ops[c].begin_ns < t; };
    const auto ends = [&](TimeNs t, uint32_t c) { return t < rank.ops[c].end_ns; };
    Place p;
    p.op = i;
    p.launched_after =
        row_at(std::upper_bound(rows.begin(), rows.end(), o.order_ns,
                                [&](TimeNs t, uint32_t c) { return t < rank.ops[c].order_ns; }));
    p.begins_after = row_at(std::lower_bound(rows.begin(), rows.end(), o.end_ns, begins));
    p.ended_before = row_at(std::upper_bound(rows.begin(), rows.end(), o.begin_ns, ends));
    p.beside_later = row_at(std::lower_bound(rows.begin(), rows.end(), o.end_ns - jitter, begins)) >
                     p.launched_after;
    p.beside_earlier = row_at(std::upper_bound(rows.begin(), rows.end(), o.begin_ns + jitter,
                                               ends)) < p.launched_after;
    out.push_back(p);
  }
  return out;
}

}  // namespace

void ReplayGraph::add_possible() {
  std::vector<MainCompute> compute(ranks_.size());
  std::vector<std::vector<Place>> places(ranks_.size());
  std::set<Kind> beside_later, beside_earlier;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const ReplayRank& rank = ranks_[r];
    if (has_events(rank)) continue;
    compute[r] = MainCompute(rank);
    places[r] = places_of(rank, compute[r]);
    for (const Place& p : places[r]) {
      if (p.beside_later) beside_later.insert(kind_of(rank.ops[p.op]));
      if (p.beside_earlier) beside_earlier.insert(kind_of(rank.ops[p.op]));
    }
  }
  const auto tag = [](bool beside) { return beside ? EdgeTag::possible : EdgeTag::presumed; };
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const std::vector<uint32_t>& rows = compute[r].rows;
    for (const Place& p : places[r]) {
      const Kind kind = kind_of(ranks_[r].ops[p.op]);
      const uint32_t node = node_of_op(r, p.op);
      const size_t next = std::max(p.launched_after, p.begins_after);
      if (next < rows.size())
        add_edge(start_of(node_of_op(r, rows[next])), end_of(node), 0,
                 tag(beside_later.count(kind) > 0));
      const size_t before = std::min(p.launched_after, p.ended_before);
      if (before > 0)
        add_edge(start_of(node), end_of(node_of_op(r, rows[before - 1])), 0,
                 tag(beside_earlier.count(kind) > 0));
    }
  }
}

}  // namespace ws
