// Tested by: replay_test.cpp (checks of the reference, exactness on random inputs)
#include "analysis/replay_graph.h"

#include <algorithm>
#include <map>

#include "analysis/median.h"
#include "analysis/replay_events.h"

namespace ws {
namespace {

constexpr TimeNs kUsualGapNs = 1000;  // typical kernel gap when fewer than 20 were seen (D)
constexpr size_t kEnoughSamples = 20;
constexpr TimeNs kSlotFreedNs =
    50'000;  // from a freed slot of a full queue to the launch's end (D)

uint32_t start_of(uint32_t node) { return 2 * node; }
uint32_t end_of(uint32_t node) { return 2 * node + 1; }

TimeNs usual_launch_ns(const ReplayRank& rank) {
  std::vector<TimeNs> v;
  for (const ReplayCall& c : rank.calls)
    if (c.state == HostState::launch && c.op_count > 0) v.push_back(c.end_ns - c.begin_ns);
  return v.empty() ? 0 : median_of(v);
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
    recorded_ += static_cast<int64_t>(ranks_[r].waits.size());
    EventInference(*this, r, options.infer_events).run();
  }
  add_collectives(instances, communicators);
  drop_violated();
  if (options.infer_events) {
    for (size_t r = 0; r < ranks_.size(); ++r) bind_unexplained(r);
    add_possible();
  }
  set_loose_stream_lags();
  order_events();
  calibrate();
  mark_steps();
  as_recorded_ = scenario(true);
  without_residuals_ = scenario(false);
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
  const TimeNs usual = usual_launch_ns(rank);
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
      if (2 * queue.size() >= queue_depth) bound_by_full_queue(node, queue, queue_depth, usual);
      queue.push_back(node);
    }
    last[o.stream] = i;
  }
}

// A launch that took unusually long while its stream was far behind waited for a slot of the full
// queue: it ends when an earlier op starts, and takes its usual time where the device keeps up.
void ReplayGraph::bound_by_full_queue(uint32_t node, const std::vector<uint32_t>& queue,
                                      uint32_t queue_depth, TimeNs usual_ns) {
  const size_t rank_row = nodes_[node].rank;
  Node& call = nodes_[node_of_call(rank_row, op(nodes_[node]).call)];
  if (call.state != HostState::launch && call.state != HostState::graph_launch) return;
  if (call.duration_ns <= 4 * usual_ns) return;
  const auto behind =
      std::upper_bound(queue.begin(), queue.end(), call.end_ns,
                       [&](TimeNs t, uint32_t n) { return t < nodes_[n].start_ns; });
  if (behind == queue.begin() || 2 * (queue.end() - behind) < static_cast<int64_t>(queue_depth))
    return;
  const TimeNs lag = call.end_ns - nodes_[*(behind - 1)].start_ns;
  if (lag > kSlotFreedNs || nodes_[*(behind - 1)].start_ns <= call.start_ns) return;
  call.duration_ns = usual_ns;
  add_edge(end_of(node_of_call(rank_row, op(nodes_[node]).call)), start_of(*(behind - 1)), lag,
           EdgeTag::sync);
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
    ++meetings_;
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

bool ReplayGraph::is_matched(uint32_t node) const {
  for (uint32_t e = head_[end_of(node)]; e != kNoRow; e = edges_[e].next)
    if (edges_[e].tag == EdgeTag::collective) return true;
  return false;
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
      if (edges_[e].tag == EdgeTag::stream || is_floor(edges_[e].tag)) continue;
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
  assumes_gap_ = all[0].size() < kEnoughSamples;
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

}  // namespace ws
