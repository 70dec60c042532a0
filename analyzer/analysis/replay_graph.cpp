// Tested by: replay_test.cpp (checks of the reference, exactness on random inputs)
#include "analysis/replay_graph.h"

#include <algorithm>
#include <map>

#include "analysis/replay_events.h"

namespace ws {
namespace {

constexpr TimeNs kUsualGapNs = 1000;  // typical kernel gap when fewer than 20 were seen (D)
constexpr size_t kEnoughSamples = 20;

uint32_t start_of(uint32_t node) { return 2 * node; }
uint32_t end_of(uint32_t node) { return 2 * node + 1; }

TimeNs median_of(std::vector<TimeNs>& v) {  // lower of the two middles' mean, as integers
  const auto mid = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), mid, v.end());
  if (v.size() % 2 == 1) return *mid;
  return (*std::max_element(v.begin(), mid) + *mid) / 2;
}

}  // namespace

ReplayGraph::ReplayGraph(std::vector<ReplayRank> ranks, const Offsets& offsets,
                         const std::vector<Instance>& instances,
                         const std::vector<CommIdentity>& communicators,
                         const GraphOptions& options)
    : ranks_(std::move(ranks)) {
  add_nodes(offsets);
  for (size_t r = 0; r < ranks_.size(); ++r) {
    add_host_edges(r);
    add_device_edges(r, options.queue_depth);
    for (const auto& [producer, consumer] : ranks_[r].waits) {
      add_edge(start_of(node_of_op(r, consumer)), end_of(node_of_op(r, producer)), 0,
               EdgeTag::event);
    }
    EventInference(*this, r, options.infer_events && ranks_[r].waits.empty()).run();
  }
  add_collectives(instances, communicators);
  drop_violated();
  if (options.infer_events) {
    for (size_t r = 0; r < ranks_.size(); ++r) bind_unexplained(r);
  }
  set_loose_stream_lags();
  order_events();
  calibrate();
  mark_steps();
}

void ReplayGraph::add_edge(uint32_t to_event, uint32_t from_event, TimeNs lag_ns, EdgeTag tag) {
  const auto id = static_cast<uint32_t>(edges_.size());
  edges_.push_back({from_event, kNoRow, lag_ns, tag});
  to_.push_back(to_event);
  if (head_[to_event] == kNoRow) {
    head_[to_event] = id;
  } else {
    edges_[tail_[to_event]].next = id;
  }
  tail_[to_event] = id;
}

void ReplayGraph::add_nodes(const Offsets& offsets) {
  for (uint32_t r = 0; r < ranks_.size(); ++r) {
    const TimeNs offset = offsets[r].value_or(0);
    offsets_.push_back(offset);
    call_base_.push_back(static_cast<uint32_t>(nodes_.size()));
    for (uint32_t i = 0; i < ranks_[r].calls.size(); ++i) {
      const ReplayCall& c = ranks_[r].calls[i];
      const bool waits = c.state == HostState::sync;
      nodes_.push_back({c.begin_ns - offset, c.end_ns - offset, waits ? 0 : c.end_ns - c.begin_ns,
                        r, i, NodeKind::call, c.state});
    }
    op_base_.push_back(static_cast<uint32_t>(nodes_.size()));
    for (uint32_t i = 0; i < ranks_[r].ops.size(); ++i) {
      const ReplayOp& o = ranks_[r].ops[i];
      nodes_.push_back(
          {o.begin_ns - offset, o.end_ns - offset, o.end_ns - o.begin_ns, r, i, NodeKind::op});
    }
  }
  head_.assign(2 * nodes_.size(), kNoRow);
  tail_.assign(2 * nodes_.size(), kNoRow);
}

void ReplayGraph::add_host_edges(size_t rank_row) {
  const auto& calls = ranks_[rank_row].calls;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].pred == kNoRow) continue;
    add_edge(start_of(node_of_call(rank_row, i)), end_of(node_of_call(rank_row, calls[i].pred)),
             calls[i].lag_ns, EdgeTag::thread);
  }
}

void ReplayGraph::add_device_edges(size_t rank_row, uint32_t queue_depth) {
  const ReplayRank& rank = ranks_[rank_row];
  std::vector<uint32_t> last(rank.streams.size(), kNoRow);
  std::vector<std::vector<uint32_t>> started(
      rank.streams.size());  // nodes with a launch, per stream
  for (uint32_t i = 0; i < rank.ops.size(); ++i) {
    const ReplayOp& o = rank.ops[i];
    const uint32_t node = node_of_op(rank_row, i);
    const Node& n = nodes_[node];
    const uint32_t prev = last[o.stream];
    const bool same_graph =
        prev != kNoRow && o.graph != 0 && rank.ops[prev].call == o.call && o.call != kNoRow;
    const bool launched = o.call != kNoRow && !same_graph;
    if (launched) {
      const uint32_t call = node_of_call(rank_row, o.call);
      const TimeNs delay = std::max<TimeNs>(0, n.start_ns - nodes_[call].start_ns);
      add_edge(start_of(node), start_of(call), std::min(rank.constants.launch_latency_ns, delay),
               EdgeTag::launch);
    }
    if (prev != kNoRow) {
      const uint32_t before = node_of_op(rank_row, prev);
      const Node& p = nodes_[before];
      if (p.end_ns <= n.start_ns) {
        add_edge(start_of(node), end_of(before),
                 std::min(rank.constants.kernel_gap_ns, n.start_ns - p.end_ns), EdgeTag::stream);
      } else {  // programmatic dependent launch: kernels of one stream overlap
        add_edge(start_of(node), start_of(before), n.start_ns - p.start_ns, EdgeTag::overlap);
        if (n.end_ns >= p.end_ns)
          add_edge(end_of(node), end_of(before), n.end_ns - p.end_ns, EdgeTag::overlap);
      }
    }
    if (launched) {
      auto& queue = started[o.stream];
      if (queue.size() >= queue_depth) {
        add_edge(start_of(node_of_call(rank_row, o.call)),
                 start_of(queue[queue.size() - queue_depth]), 0, EdgeTag::queue);
      }
      queue.push_back(node);
    }
    last[o.stream] = i;
  }
}

// One rendezvous node per instance: it starts with the last member, and every member ends its own
// transfer after it. Instances whose members were not inside together keep their own durations.
void ReplayGraph::add_collectives(const std::vector<Instance>& instances,
                                  const std::vector<CommIdentity>& communicators) {
  std::vector<std::vector<uint32_t>> op_of(ranks_.size());  // comm record -> op row
  for (size_t r = 0; r < ranks_.size(); ++r) {
    for (uint32_t i = 0; i < ranks_[r].ops.size(); ++i) {
      const uint32_t record = ranks_[r].ops[i].comm_record;
      if (record == kNoRow) continue;
      if (op_of[r].size() <= record) op_of[r].resize(record + 1, kNoRow);
      op_of[r][record] = i;
    }
  }
  for (uint32_t k = 0; k < instances.size(); ++k) {
    std::vector<uint32_t> members;
    for (const Member& m : instances[k].members) {
      if (m.record < op_of[m.rank].size() && op_of[m.rank][m.record] != kNoRow) {
        members.push_back(node_of_op(m.rank, op_of[m.rank][m.record]));
      }
    }
    const auto need =
        static_cast<size_t>(std::max<int64_t>(2, communicators[instances[k].communicator].size));
    if (members.size() < 2 || members.size() < instances[k].members.size()) continue;
    const bool pair = is_point_to_point(op(nodes_[members.front()]).coll);
    if (!pair && members.size() < need) continue;
    TimeNs arrived = INT64_MIN, left = INT64_MAX;
    for (uint32_t m : members) {
      arrived = std::max(arrived, nodes_[m].start_ns);
      left = std::min(left, nodes_[m].end_ns);
    }
    if (left < arrived) {
      ++violated_;
      continue;
    }
    const auto meeting = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back({arrived, arrived, 0, nodes_[members.front()].rank, k, NodeKind::rendezvous});
    head_.resize(2 * nodes_.size(), kNoRow);
    tail_.resize(2 * nodes_.size(), kNoRow);
    for (uint32_t m : members) {
      add_edge(start_of(meeting), start_of(m), 0, EdgeTag::own);
      nodes_[m].duration_ns = 0;
      add_edge(end_of(m), start_of(meeting), nodes_[m].end_ns - arrived, EdgeTag::collective);
    }
  }
}

TimeNs ReplayGraph::explained(uint32_t event) const {
  TimeNs t = kDropped;
  for (uint32_t e = head_[event]; e != kNoRow; e = edges_[e].next) {
    t = std::max(t, observed(edges_[e].from) + edges_[e].lag_ns);
  }
  return t;
}

// Last resort: an op that started more than kappa later than everything known explains waited for
// the op of another stream of its device that ended last, less than Lambda before.
void ReplayGraph::bind_unexplained(size_t rank_row) {
  const ReplayRank& rank = ranks_[rank_row];
  std::map<uint32_t, std::vector<std::pair<TimeNs, uint32_t>>> ends;  // per device: end, op
  for (uint32_t i = 0; i < rank.ops.size(); ++i) {
    if (rank.ops[i].end_ns > rank.ops[i].begin_ns) {
      ends[rank.streams[rank.ops[i].stream].device].emplace_back(rank.ops[i].end_ns, i);
    }
  }
  for (auto& [device, list] : ends) std::sort(list.begin(), list.end());
  for (uint32_t i = 0; i < rank.ops.size(); ++i) {
    const ReplayOp& o = rank.ops[i];
    if (o.call == kNoRow) continue;
    const uint32_t node = node_of_op(rank_row, i);
    const TimeNs known = explained(start_of(node));
    if (known == kDropped || nodes_[node].start_ns - known <= rank.constants.kernel_gap_ns)
      continue;
    const auto& list = ends[rank.streams[o.stream].device];
    auto it = std::upper_bound(list.begin(), list.end(), std::make_pair(o.begin_ns, kNoRow));
    uint32_t found = kNoRow;
    for (int seen = 0; it != list.begin() && seen < 64; ++seen) {
      --it;
      if (o.begin_ns - it->first > rank.constants.launch_latency_ns) break;
      if (it->second != i && rank.ops[it->second].stream != o.stream) {
        found = it->second;
        break;
      }
    }
    if (found == kNoRow || rank.calls[o.call].end_ns > rank.ops[found].end_ns) continue;
    add_edge(start_of(node), end_of(node_of_op(rank_row, found)), 0, EdgeTag::event);
    ++inferred_;
  }
}

void ReplayGraph::drop_violated() {
  for (uint32_t event = 0; event < head_.size(); ++event) {
    uint32_t* link = &head_[event];
    uint32_t kept = kNoRow;
    while (*link != kNoRow) {
      Edge& e = edges_[*link];
      if (observed(e.from) + e.lag_ns > observed(event)) {
        ++violated_;
        *link = e.next;
      } else {
        kept = *link;
        link = &e.next;
      }
    }
    tail_[event] = kept;
  }
}

// A stream gap is device cost only where stream order binds; elsewhere the edge carries the
// stream's typical gap, which becomes real once a change makes stream order binding.
void ReplayGraph::set_loose_stream_lags() {
  using Key = std::tuple<uint32_t, uint32_t, bool>;  // rank, device, in graph
  struct Loose {
    uint32_t edge, node;
    Key key;
  };
  std::map<Key, std::vector<TimeNs>> gaps;
  std::array<std::vector<TimeNs>, 2> all;
  std::vector<Loose> loose;
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    const Node& n = nodes_[node];
    if (n.kind != NodeKind::op) continue;
    TimeNs other = kDropped;
    for (uint32_t e = head_[start_of(node)]; e != kNoRow; e = edges_[e].next) {
      if (edges_[e].tag == EdgeTag::stream || edges_[e].tag == EdgeTag::queue) continue;
      other = std::max(other, observed(edges_[e].from) + edges_[e].lag_ns);
    }
    const ReplayOp& o = op(n);
    const Key key{n.rank, ranks_[n.rank].streams[o.stream].device, o.graph != 0};
    for (uint32_t e = head_[start_of(node)]; e != kNoRow; e = edges_[e].next) {
      if (edges_[e].tag != EdgeTag::stream) continue;
      const TimeNs before = observed(edges_[e].from);
      if (other != kDropped && other > before) {
        loose.push_back({e, node, key});
      } else {
        gaps[key].push_back(n.start_ns - before);
        all[o.graph != 0 ? 1 : 0].push_back(n.start_ns - before);
      }
    }
  }
  std::map<Key, TimeNs> typical;
  std::array<TimeNs, 2> typical_all{};
  for (size_t g = 0; g < 2; ++g)
    typical_all[g] = all[g].size() >= kEnoughSamples ? median_of(all[g]) : kUsualGapNs;
  for (const Loose& x : loose) {
    const auto [it, fresh] = typical.try_emplace(x.key, 0);
    if (fresh) {
      auto& v = gaps[x.key];
      it->second =
          v.size() >= kEnoughSamples ? median_of(v) : typical_all[std::get<2>(x.key) ? 1 : 0];
      it->second = std::min(
          it->second, std::max(kUsualGapNs, ranks_[std::get<0>(x.key)].constants.kernel_gap_ns));
    }
    edges_[x.edge].lag_ns =
        std::min(it->second, nodes_[x.node].start_ns - observed(edges_[x.edge].from));
  }
}

void ReplayGraph::order_events() {
  const size_t events = head_.size();
  std::vector<uint32_t> need(events, 0), first(events + 1, 0), out;
  for (uint32_t event = 0; event < events; ++event) {
    if (event % 2 == 1) ++need[event], ++first[event - 1];  // an end follows its start
    for (uint32_t e = head_[event]; e != kNoRow; e = edges_[e].next)
      ++need[event], ++first[edges_[e].from];
  }
  uint32_t sum = 0;
  for (uint32_t& f : first) {
    const uint32_t count = f;
    f = sum;
    sum += count;
  }
  out.resize(sum);
  std::vector<uint32_t> at(first.begin(), first.end() - 1);
  for (uint32_t event = 0; event < events; ++event) {
    if (event % 2 == 1) out[at[event - 1]++] = event;
    for (uint32_t e = head_[event]; e != kNoRow; e = edges_[e].next)
      out[at[edges_[e].from]++] = event;
  }
  std::vector<uint32_t> ready;
  for (uint32_t event = 0; event < events; ++event) {
    if (need[event] == 0) ready.push_back(event);
  }
  order_.reserve(events);
  while (!ready.empty()) {
    const uint32_t event = ready.back();
    ready.pop_back();
    order_.push_back(event);
    for (uint32_t i = first[event]; i < first[event + 1]; ++i) {
      if (--need[out[i]] == 0) ready.push_back(out[i]);
    }
  }
  // Every edge leads forward in recorded time; equal times can still close a ring in hostile files:
  // what is left then keeps its recorded order, and edges against that order never bind.
  if (order_.size() < events) {
    std::vector<uint32_t> rest;
    for (uint32_t event = 0; event < events; ++event) {
      if (need[event] > 0) rest.push_back(event);
    }
    std::stable_sort(rest.begin(), rest.end(),
                     [&](uint32_t a, uint32_t b) { return observed(a) < observed(b); });
    std::vector<uint32_t> position(events, 0);
    order_.insert(order_.end(), rest.begin(), rest.end());
    for (uint32_t i = 0; i < order_.size(); ++i) position[order_[i]] = i;
    for (uint32_t event = 0; event < events; ++event) {
      uint32_t* link = &head_[event];
      while (*link != kNoRow) {
        Edge& e = edges_[*link];
        if (position[e.from] > position[event]) {
          ++violated_;
          *link = e.next;
        } else {
          link = &e.next;
        }
      }
    }
  }
}

void ReplayGraph::calibrate() {
  residual_ns_.assign(head_.size(), 0);
  origin_ns_ = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    origin_ns_ = i == 0 ? nodes_[i].start_ns : std::min(origin_ns_, nodes_[i].start_ns);
  }
  // The recording itself: every event at its observed time, so residuals come without a replay.
  for (uint32_t event = 0; event < head_.size(); ++event) {
    Node& n = nodes_[event / 2];
    TimeNs t = kDropped;
    for (uint32_t e = head_[event]; e != kNoRow; e = edges_[e].next) {
      if (edges_[e].tag == EdgeTag::queue) continue;  // binds only in what-ifs
      const TimeNs x = observed(edges_[e].from) + edges_[e].lag_ns;
      if (x > t) {
        t = x;
        if (event % 2 == 0) n.bound_by = edges_[e].tag;
      }
    }
    if (event % 2 == 1) t = std::max(t, n.start_ns + n.duration_ns);
    if (t == kDropped) t = origin_ns_;
    residual_ns_[event] = observed(event) - t;
  }
}

void ReplayGraph::mark_steps() {
  step_of_.assign(nodes_.size(), -1);
  size_t most = 0;
  for (const ReplayRank& r : ranks_) most = std::max(most, r.host_steps.size());
  step_ops_.resize(most);
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const auto& steps = ranks_[r].host_steps;
    for (uint32_t i = 0; i < ranks_[r].ops.size(); ++i) {
      const ReplayOp& o = ranks_[r].ops[i];
      const TimeNs at = o.call != kNoRow ? ranks_[r].calls[o.call].begin_ns : o.begin_ns;
      const auto it = std::upper_bound(steps.begin(), steps.end(), at,
                                       [](TimeNs t, const Interval& s) { return t < s.begin_ns; });
      if (it == steps.begin() || at >= steps.back().end_ns) continue;
      const auto step = static_cast<size_t>(it - steps.begin() - 1);
      const uint32_t node = node_of_op(r, i);
      step_of_[node] = static_cast<int32_t>(step);
      if (!is_comm(o.cls)) step_ops_[step].push_back(node);
    }
  }
  step_ops_.erase(
      std::remove_if(step_ops_.begin(), step_ops_.end(), [](const auto& s) { return s.empty(); }),
      step_ops_.end());
}

Scenario ReplayGraph::recorded(bool keep_residuals) const {
  Scenario s;
  s.duration_ns.reserve(nodes_.size());
  for (const Node& n : nodes_) s.duration_ns.push_back(n.duration_ns);
  s.lag_ns.reserve(edges_.size());
  for (const Edge& e : edges_) s.lag_ns.push_back(e.lag_ns);
  s.keep.assign(nodes_.size(), keep_residuals ? 1 : 0);
  return s;
}

std::vector<TimeNs> ReplayGraph::run(const Scenario& s) const {
  std::vector<TimeNs> done(head_.size(), origin_ns_);
  for (uint32_t event : order_) {
    const uint32_t node = event / 2;
    TimeNs t = event % 2 == 1 ? done[event - 1] + s.duration_ns[node] : kDropped;
    TimeNs queue = INT64_MIN;  // a floor, not a cause: residuals do not come on top of it
    for (uint32_t e = head_[event]; e != kNoRow; e = edges_[e].next) {
      if (s.lag_ns[e] == kDropped) continue;
      TimeNs& latest = edges_[e].tag == EdgeTag::queue ? queue : t;
      latest = std::max(latest, done[edges_[e].from] + s.lag_ns[e]);
    }
    const bool root = t == kDropped;
    if (root) t = origin_ns_;
    done[event] = std::max(queue, t + (s.keep[node] != 0 || root ? residual_ns_[event] : 0));
  }
  return done;
}

std::vector<TimeNs> ReplayGraph::step_ends(const std::vector<TimeNs>& events) const {
  std::vector<TimeNs> out;
  for (const auto& ops : step_ops_) {
    TimeNs t = INT64_MIN;
    for (uint32_t node : ops) t = std::max(t, events[end_of(node)]);
    out.push_back(t);
  }
  return out;
}

double ReplayGraph::mean_step_ns(const std::vector<TimeNs>& events) const {
  const std::vector<TimeNs> ends = step_ends(events);
  if (ends.empty()) return static_cast<double>(makespan(events));
  if (ends.size() == 1) return static_cast<double>(ends[0] - origin_ns_);
  return static_cast<double>(ends.back() - ends.front()) / static_cast<double>(ends.size() - 1);
}

TimeNs ReplayGraph::makespan(const std::vector<TimeNs>& events) const {
  if (events.empty()) return 0;
  return *std::max_element(events.begin(), events.end()) - origin_ns_;
}

}  // namespace ws
