// Device records and calls have simulated times of their own. What has none (host ranges, step
// boundaries) moves with its neighbours: a boundary with the record that stands at it, a range with
// the calls of its thread; ranges keep their length as far as the host's time between the calls
// allows.
// Tested by: price_run_test.cpp (an unchanged scenario gives the recorded partition)
#include "analysis/simulated_trace.h"

#include <algorithm>
#include <numeric>

namespace ws {
namespace {

// Begin and end of a node are two events.
TimeNs begin_of(const std::vector<TimeNs>& events, uint32_t node) {
  return events[size_t{2} * node];
}
TimeNs end_of(const std::vector<TimeNs>& events, uint32_t node) {
  return events[size_t{2} * node + 1];
}

class HostClock {
 public:
  HostClock(const ReplayGraph& graph, size_t rank_row, const std::vector<TimeNs>& events)
      : graph_(graph), rank_(graph.ranks()[rank_row]), row_(rank_row), events_(events) {
    by_thread_.resize(rank_.thread_process.size());
    for (uint32_t i = 0; i < rank_.calls.size(); ++i) {
      all_.push_back(i);
      by_thread_[rank_.calls[i].thread].push_back(i);
    }
  }

  TimeNs at(TimeNs t) const { return map(all_, t); }
  Interval range(const ReplayRange& r) const {
    const bool calls = r.thread < by_thread_.size() && !by_thread_[r.thread].empty();
    const std::vector<uint32_t>& list = calls ? by_thread_[r.thread] : all_;
    const size_t before = last_before(list, r.begin_ns);
    const size_t before_end = last_before(list, r.end_ns - 1);
    const Interval mapped{map(list, r.begin_ns), map(list, r.end_ns)};
    if (before != before_end || before == list.size() || before + 1 >= list.size()) return mapped;
    if (r.begin_ns < rank_.calls[list[before]].end_ns) return mapped;
    // Inside one stretch of host time: the length stays, what is around it gives way.
    const TimeNs from = sim_end(list[before]), to = std::max(from, sim_begin(list[before + 1]));
    const TimeNs length = std::min(r.end_ns - r.begin_ns, to - from);
    const TimeNs begin =
        std::min(from + (r.begin_ns - rank_.calls[list[before]].end_ns), to - length);
    return {begin, begin + length};
  }

 private:
  // Row of the list of the last call that begins at or before t; size(): none.
  size_t last_before(const std::vector<uint32_t>& list, TimeNs t) const {
    const auto it = std::upper_bound(list.begin(), list.end(), t, [&](TimeNs x, uint32_t call) {
      return x < rank_.calls[call].begin_ns;
    });
    return it == list.begin() ? list.size() : static_cast<size_t>(it - list.begin()) - 1;
  }
  TimeNs map(const std::vector<uint32_t>& list, TimeNs t) const {
    if (list.empty()) return t - graph_.offset_of(row_);
    const size_t i = last_before(list, t);
    if (i == list.size()) return sim_begin(list.front()) - (rank_.calls[list.front()].begin_ns - t);
    const ReplayCall& c = rank_.calls[list[i]];
    if (t <= c.end_ns) return std::min(sim_begin(list[i]) + (t - c.begin_ns), sim_end(list[i]));
    const TimeNs free = sim_end(list[i]) + (t - c.end_ns);
    if (i + 1 == list.size()) return free;
    return std::clamp(free, sim_end(list[i]), std::max(sim_end(list[i]), sim_begin(list[i + 1])));
  }
  TimeNs sim_begin(uint32_t call) const {
    return begin_of(events_, graph_.node_of_call(row_, call));
  }
  TimeNs sim_end(uint32_t call) const { return end_of(events_, graph_.node_of_call(row_, call)); }

  const ReplayGraph& graph_;
  const ReplayRank& rank_;
  size_t row_;
  const std::vector<TimeNs>& events_;
  std::vector<uint32_t> all_;
  std::vector<std::vector<uint32_t>> by_thread_;
};

std::vector<uint32_t> sorted_rows(size_t count, const std::vector<TimeNs>& begin,
                                  const std::vector<TimeNs>& end) {
  std::vector<uint32_t> rows(count);
  std::iota(rows.begin(), rows.end(), 0U);
  const auto before = [&](uint32_t a, uint32_t b) {
    return begin[a] != begin[b] ? begin[a] < begin[b] : end[a] > end[b];
  };
  // Most changes leave the order as it was recorded.
  if (!std::is_sorted(rows.begin(), rows.end(), before))
    std::stable_sort(rows.begin(), rows.end(), before);
  return rows;
}

class Columns {
 public:
  Columns(const ReplayGraph& graph, size_t rank_row, const std::vector<TimeNs>& events)
      : graph_(graph), rank_(graph.ranks()[rank_row]), row_(rank_row), events_(events) {}

  SimulatedRank run(uint8_t removed_covers) {
    add_tables();
    add_calls();
    add_ops();
    const HostClock clock(graph_, row_, events_);
    add_ranges(clock, removed_covers);
    add_cuts(clock);
    return std::move(out_);
  }

 private:
  void add_tables() {
    Trace& t = out_.trace;
    t.rank = rank_.rank;
    t.has_api_records = !rank_.calls.empty();
    t.has_host_ranges = !rank_.ranges.empty();
    uint32_t processes = 1, devices = 1;
    for (uint32_t p : rank_.thread_process) processes = std::max(processes, p + 1);
    for (const ReplayStream& s : rank_.streams) {
      processes = std::max(processes, s.process + 1);
      devices = std::max(devices, s.device + 1);
    }
    t.processes.resize(processes);
    t.devices.resize(devices);
    t.ops_by_device.resize(devices);
    for (uint32_t p : rank_.thread_process) t.threads.push_back({ProcessId{p}, 0});
    for (const ReplayStream& s : rank_.streams)
      t.streams.push_back({ProcessId{s.process}, DeviceId{s.device}, 0, s.number});
    for (const std::string& name : rank_.names) names_.push_back(t.strings.intern(name));
  }

  void add_calls() {
    std::vector<TimeNs> begin, end;
    begin.reserve(rank_.calls.size());
    end.reserve(rank_.calls.size());
    for (size_t i = 0; i < rank_.calls.size(); ++i) {
      const uint32_t node = graph_.node_of_call(row_, i);
      begin.push_back(begin_of(events_, node));
      end.push_back(end_of(events_, node));
    }
    const auto rows = sorted_rows(rank_.calls.size(), begin, end);
    call_at_.resize(rows.size());
    ApiCalls& c = out_.trace.calls;
    for (auto* times : {&c.begin_ns, &c.end_ns}) times->reserve(rows.size());
    c.name.reserve(rows.size());
    c.thread.reserve(rows.size());
    for (uint32_t i = 0; i < rows.size(); ++i) {
      const ReplayCall& call = rank_.calls[rows[i]];
      c.begin_ns.push_back(begin[rows[i]]);
      c.end_ns.push_back(end[rows[i]]);
      c.name.push_back(names_[call.name]);
      c.thread.push_back(ThreadId{call.thread});
      call_at_[rows[i]] = i;
    }
  }

  void add_ops() {
    const size_t count = rank_.ops.size();
    std::vector<TimeNs> begin, end, order_end;
    begin.reserve(count);
    end.reserve(count);
    for (size_t i = 0; i < rank_.ops.size(); ++i) {
      const uint32_t node = graph_.node_of_op(row_, i);
      begin.push_back(begin_of(events_, node));
      end.push_back(end_of(events_, node));
    }
    order_end.assign(begin.size(), 0);  // device records are in order of begin, then row
    GpuOps& o = out_.trace.ops;
    OpLabels& l = out_.labels;
    reserve_ops(count);
    for (const uint32_t i : sorted_rows(rank_.ops.size(), begin, order_end)) {
      const ReplayOp& op = rank_.ops[i];
      out_.trace.ops_by_device[rank_.streams[op.stream].device].push_back(
          static_cast<uint32_t>(o.size()));
      o.begin_ns.push_back(begin[i]);
      o.end_ns.push_back(end[i]);
      o.name.push_back(names_[op.name]);
      o.stream.push_back(StreamId{op.stream});
      o.kind.push_back(op.what);
      o.launch.push_back(op.call == kNoRow ? kNoRow : call_at_[op.call]);
      o.graph.add(o.launch.size() - 1, op.graph);
      o.copy.push_back(kNoRow);
      l.cls.push_back(op.cls);
      l.kind.push_back(op.kind);
      l.coll.push_back(op.coll);
      l.flags.push_back(op.flags);
      l.communicator.push_back(kNoRow);
      out_.arrivals.push_back(arrival(graph_.node_of_op(row_, i)));
    }
  }

  void reserve_ops(size_t count) {
    GpuOps& o = out_.trace.ops;
    OpLabels& l = out_.labels;
    const auto all = [count](auto&... columns) { (columns.reserve(count), ...); };
    all(o.begin_ns, o.end_ns, o.name, o.stream, o.kind, o.launch, o.copy, l.cls, l.kind, l.coll,
        l.flags, l.communicator, out_.arrivals);
  }

  // Begin of the rendezvous that the op's end waits for.
  TimeNs arrival(uint32_t node) const {
    for (uint32_t e = graph_.first_edge(2 * node + 1); e != kNoRow; e = graph_.edges()[e].next)
      if (graph_.edges()[e].tag == EdgeTag::collective) return events_[graph_.edges()[e].from];
    return kNoArrival;
  }

  void add_ranges(const HostClock& clock, uint8_t removed_covers) {
    std::vector<TimeNs> begin, end;
    std::vector<uint32_t> kept;
    for (uint32_t i = 0; i < rank_.ranges.size(); ++i) {
      const ReplayRange& r = rank_.ranges[i];
      const HostState state = state_of_range(rank_.names[r.name], r.source);
      const auto bit = [](CoverKind k) { return 1u << static_cast<unsigned>(k); };
      if (state == HostState::dataload && (removed_covers & bit(CoverKind::dataload)) != 0)
        continue;
      if (state == HostState::gc && (removed_covers & bit(CoverKind::gc)) != 0) continue;
      const Interval span = clock.range(r);
      begin.push_back(span.begin_ns);
      end.push_back(span.end_ns);
      kept.push_back(i);
    }
    HostRanges& h = out_.trace.ranges;
    for (const uint32_t i : sorted_rows(kept.size(), begin, end)) {
      const ReplayRange& r = rank_.ranges[kept[i]];
      h.begin_ns.push_back(begin[i]);
      h.end_ns.push_back(end[i]);
      h.name.push_back(names_[r.name]);
      h.thread.push_back(ThreadId{r.thread});
      h.source.push_back(r.source);
      h.collective.push_back(kNoRow);
      h.sequence.push_back(-1);
    }
  }

  // Simulated time of a device cut: it moves with the record that ends or begins at it, else with
  // the host. Where steps end by the boundary rule (ALGORITHMS 2) they do so here: not before the
  // host begins the next step, and not before the compute launched until then has ended.
  TimeNs cut(const ReplayCuts& cuts, TimeNs t, TimeNs host_ns, const HostClock& clock) const {
    uint32_t ends = kNoRow, begins = kNoRow;
    TimeNs done = INT64_MIN, done_recorded = INT64_MIN;
    for (uint32_t i = 0; i < rank_.ops.size(); ++i) {
      const ReplayOp& op = rank_.ops[i];
      if (rank_.streams[op.stream].device != cuts.device || op.end_ns <= op.begin_ns) continue;
      if (op.end_ns == t && is_compute(op.cls)) ends = i;
      if (op.begin_ns == t) begins = i;
      if (!is_compute(op.cls) || op.call == kNoRow || op.order_ns >= host_ns) continue;
      done = std::max(done, end_of(events_, graph_.node_of_op(row_, i)));
      done_recorded = std::max(done_recorded, op.end_ns);
    }
    const TimeNs at = ends != kNoRow     ? end_of(events_, graph_.node_of_op(row_, ends))
                      : begins != kNoRow ? begin_of(events_, graph_.node_of_op(row_, begins))
                                         : clock.at(t);
    const bool by_rule = host_ns <= t && done_recorded <= t;
    return by_rule ? std::max({at, clock.at(host_ns), done}) : at;
  }

  void add_cuts(const HostClock& clock) {
    for (const ReplayCuts& cuts : rank_.cuts) {
      auto& list = out_.cuts.emplace_back();
      for (size_t i = 0; i < cuts.at_ns.size(); ++i) {
        const TimeNs host = i < rank_.host_steps.size() ? rank_.host_steps[i].begin_ns
                                                        : rank_.host_steps.back().end_ns;
        const TimeNs at = cut(cuts, cuts.at_ns[i], host, clock);
        list.push_back(list.empty() ? at : std::max(at, list.back()));
      }
    }
  }

  const ReplayGraph& graph_;
  const ReplayRank& rank_;
  size_t row_;
  const std::vector<TimeNs>& events_;
  std::vector<StringId> names_;
  std::vector<uint32_t> call_at_;  // row of the trace's calls
  SimulatedRank out_;
};

}  // namespace

SimulatedRank simulated_rank(const ReplayGraph& graph, size_t rank_row,
                             const std::vector<TimeNs>& events, uint8_t removed_covers) {
  return Columns(graph, rank_row, events).run(removed_covers);
}

}  // namespace ws
