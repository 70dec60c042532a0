// A record directly before a wait forms a pair. Single waits, and pairs that the clock contradicts,
// refer to an older record of a side stream.
// Tested by: replay_test.cpp
#include "analysis/replay_events.h"

#include <algorithm>

namespace ws {
namespace {
constexpr size_t kMostOutstanding = 1024;  // keeps files that never wait linear
}

uint32_t main_stream(const ReplayRank& rank) {
  std::vector<TimeNs> compute(rank.streams.size(), 0);
  for (const ReplayOp& o : rank.ops) {
    if (is_compute(o.cls)) compute[o.stream] += o.end_ns - o.begin_ns;
  }
  const auto it = std::max_element(compute.begin(), compute.end());
  return it == compute.end() || *it == 0 ? kNoRow : static_cast<uint32_t>(it - compute.begin());
}

EventInference::EventInference(ReplayGraph& graph, size_t rank_row, bool infer)
    : graph_(graph),
      rank_row_(rank_row),
      rank_(graph.ranks_[rank_row]),
      infer_(infer && std::any_of(rank_.calls.begin(), rank_.calls.end(),
                                  [](const ReplayCall& c) { return c.event == EventCall::wait; })),
      main_(main_stream(rank_)) {
  sync_kept_.assign(rank_.streams.size(), true);
}

void EventInference::add_event(uint32_t producer, uint32_t consumer) {
  const uint32_t a = graph_.node_of_op(rank_row_, producer),
                 b = graph_.node_of_op(rank_row_, consumer);
  if (graph_.nodes_[a].end_ns > graph_.nodes_[b].start_ns) return;
  graph_.add_edge(2 * b, 2 * a + 1, 0, EdgeTag::event);
  ++graph_.inferred_;
}

// Queued, yet started later than launch and stream order explain.
bool EventInference::starts_unexplained(uint32_t op) const {
  const uint32_t node = graph_.node_of_op(rank_row_, op);
  const TimeNs known = graph_.explained(2 * node);
  return known != kDropped && graph_.nodes_[node].start_ns > known;
}

// Waiting for an op covers what its stream ran before it.
void EventInference::forget_through(size_t i) {
  const uint32_t stream = op(outstanding_[i]).stream;
  size_t kept = 0;
  for (size_t j = 0; j < outstanding_.size(); ++j) {
    if (j != i && !(j < i && op(outstanding_[j]).stream == stream))
      outstanding_[kept++] = outstanding_[j];
  }
  outstanding_.resize(kept);
}

void EventInference::wait_for_pairs(uint32_t row) {
  int64_t older = 0;
  for (uint32_t source : pairs_) {
    if (source == kNoRow || op(source).end_ns > op(row).begin_ns) {
      ++older;
    } else if (op(source).stream != op(row).stream) {
      add_event(source, row);
      const auto it = std::find(outstanding_.begin(), outstanding_.end(), source);
      if (it != outstanding_.end()) outstanding_.erase(it);
    }
  }
  wait_for_older(row, older);
}

void EventInference::wait_for_older(uint32_t row, int64_t waits) {
  const TimeNs start = op(row).begin_ns;
  for (; waits > 0; --waits) {
    size_t oldest = outstanding_.size(), latest = outstanding_.size();
    for (size_t i = 0; i < outstanding_.size(); ++i) {
      const ReplayOp& x = op(outstanding_[i]);
      if (x.end_ns > start || x.stream == op(row).stream) continue;
      if (oldest == outstanding_.size()) oldest = i;
      const bool near = start - x.end_ns <= rank_.constants.launch_latency_ns;
      if (near && (latest == outstanding_.size() || x.end_ns > op(outstanding_[latest]).end_ns))
        latest = i;
    }
    if (oldest == outstanding_.size()) return;
    const bool use_latest = latest != outstanding_.size() && starts_unexplained(row);
    const size_t chosen = use_latest ? latest : oldest;
    add_event(outstanding_[chosen], row);
    forget_through(chosen);
  }
}

// What the host waited for stays ordered on the device if the wait is removed.
void EventInference::keep_sync_order(uint32_t row) {
  const uint32_t stream = op(row).stream;
  if (sync_kept_[stream]) return;
  sync_kept_[stream] = true;
  for (uint32_t x : synced_) {
    if (op(x).stream != stream) add_event(x, row);
  }
}

void EventInference::remember(uint32_t row) {
  if (op(row).stream == main_) return;
  if (outstanding_.size() == kMostOutstanding) outstanding_.erase(outstanding_.begin());
  outstanding_.push_back(row);
}

void EventInference::on_launch(uint32_t call) {
  const ReplayCall& c = rank_.calls[call];
  const uint32_t first = rank_.launched[c.first_op];
  if (infer_) {
    wait_for_pairs(first);
    remember(first);
  }
  keep_sync_order(first);
  pairs_.clear();
  after_record_ = false;
  for (uint32_t i = 0; i < c.op_count; ++i) {
    const uint32_t row = rank_.launched[c.first_op + i];
    last_op_[op(row).stream] = row;
    last_launch_ = row;
  }
  own_ = op(first).stream ==
         main_;  // a side-stream launch is followed by the record of its own completion
  Node& n = graph_.nodes_[graph_.node_of_call(rank_row_, call)];
  const bool copy_outlived = is_copy(op(first).cls) && c.end_ns >= op(first).end_ns;
  if (c.state == HostState::sync || copy_outlived) {  // blocking copy: ends with its own op
    n.duration_ns = 0;
    n.state = HostState::sync;
    for (uint32_t i = 0; i < c.op_count; ++i) {
      const uint32_t node = graph_.node_of_op(rank_row_, rank_.launched[c.first_op + i]);
      graph_.add_edge(2 * graph_.node_of_call(rank_row_, call) + 1, 2 * node + 1, 0, EdgeTag::sync);
    }
  }
}

void EventInference::on_record() {
  after_record_ = true;
  const auto main_op = last_op_.find(main_);
  recorded_ = own_ && main_op != last_op_.end() ? main_op->second : last_launch_;
  own_ = true;
}

void EventInference::on_wait() {
  pairs_.push_back(after_record_ ? recorded_ : kNoRow);
  if (pairs_.size() > kMostOutstanding) pairs_.pop_back();
  after_record_ = false;
}

void EventInference::on_wait_for_device(uint32_t call) {
  const ReplayCall& c = rank_.calls[call];
  const uint32_t node = graph_.node_of_call(rank_row_, call);
  Node& n = graph_.nodes_[node];
  const auto end_of = [&](uint32_t row) {
    return graph_.nodes_[graph_.node_of_op(rank_row_, row)].end_ns;
  };
  std::vector<uint32_t> waited;
  for (const auto& [stream, row] : last_op_) {
    if (rank_.streams[stream].process == c.process && end_of(row) <= n.end_ns)
      waited.push_back(row);
  }
  const bool is_sync = c.state == HostState::sync;
  if (is_sync && !c.whole_device) {
    const auto known = std::lower_bound(rank_.host_waits.begin(), rank_.host_waits.end(),
                                        std::make_pair(call, uint32_t{0}));
    if (known != rank_.host_waits.end() && known->first == call) {
      waited = {known->second};
    } else if (c.stream >= 0) {
      waited.erase(std::remove_if(waited.begin(), waited.end(),
                                  [&](uint32_t row) {
                                    return rank_.streams[op(row).stream].number != c.stream;
                                  }),
                   waited.end());
    } else if (last_launch_ != kNoRow && op(last_launch_).cls == OpClass::d2h &&
               std::find(waited.begin(), waited.end(), last_launch_) != waited.end()) {
      waited = {last_launch_};
    } else if (!waited.empty()) {
      waited = {*std::max_element(waited.begin(), waited.end(),
                                  [&](uint32_t a, uint32_t b) { return end_of(a) < end_of(b); })};
    }
  }
  TimeNs own_work = 0;
  if (!is_sync && !waited.empty()) {  // cudaFree: waits for the device, then works
    TimeNs free_from = INT64_MIN;
    for (uint32_t row : waited) free_from = std::max(free_from, end_of(row));
    n.duration_ns = own_work = n.end_ns - std::max(n.start_ns, free_from);
  }
  for (uint32_t row : waited) {
    graph_.add_edge(2 * node + 1, 2 * graph_.node_of_op(rank_row_, row) + 1, own_work,
                    EdgeTag::sync);
  }
  if (is_sync) {
    synced_ = std::move(waited);
    sync_kept_.assign(rank_.streams.size(), false);
  }
}

void EventInference::run() {
  for (uint32_t i = 0; i < rank_.calls.size(); ++i) {
    const ReplayCall& c = rank_.calls[i];
    if (c.op_count > 0) {
      on_launch(i);
    } else if (c.event == EventCall::record) {
      on_record();
    } else if (c.event == EventCall::wait) {
      on_wait();
    } else if (c.state == HostState::sync || (c.state == HostState::alloc && c.frees)) {
      on_wait_for_device(i);
    }
  }
}

}  // namespace ws
