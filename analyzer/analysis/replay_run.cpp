// The replay of a built graph: order of events, residuals that make the recording exact, and runs
// of changed scenarios. Construction: replay_graph.cpp. Tested by: replay_test.cpp
#include <algorithm>

#include "analysis/replay_graph.h"

namespace ws {

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
      if (is_floor(edges_[e].tag)) continue;
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

Scenario ReplayGraph::scenario(bool keep_residuals) const {
  Scenario s;
  s.duration_ns.reserve(nodes_.size());
  for (const Node& n : nodes_) s.duration_ns.push_back(n.duration_ns);
  s.lag_ns.reserve(edges_.size());
  for (const Edge& e : edges_)
    s.lag_ns.push_back(e.tag == EdgeTag::possible && !keep_residuals ? kDropped : e.lag_ns);
  s.keep.assign(nodes_.size(), keep_residuals ? 1 : 0);
  return s;
}

std::vector<TimeNs> ReplayGraph::run(const Scenario& s) const {
  std::vector<TimeNs> done(head_.size(), origin_ns_);
  for (uint32_t event : order_) {
    const uint32_t node = event / 2;
    TimeNs t = event % 2 == 1 ? done[event - 1] + s.duration_ns[node] : kDropped;
    TimeNs floor = INT64_MIN;
    for (uint32_t e = head_[event]; e != kNoRow; e = edges_[e].next) {
      if (s.lag_ns[e] == kDropped) continue;
      TimeNs& latest = is_floor(edges_[e].tag) ? floor : t;
      latest = std::max(latest, done[edges_[e].from] + s.lag_ns[e]);
    }
    const bool root = t == kDropped;
    if (root) t = origin_ns_;
    done[event] = std::max(floor, t + (s.keep[node] != 0 || root ? residual_ns_[event] : 0));
  }
  return done;
}

std::vector<TimeNs> ReplayGraph::step_ends(const std::vector<TimeNs>& events) const {
  std::vector<TimeNs> out;
  for (const auto& ops : step_ops_) {
    TimeNs t = INT64_MIN;
    for (uint32_t node : ops) t = std::max(t, events[2 * node + 1]);
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
