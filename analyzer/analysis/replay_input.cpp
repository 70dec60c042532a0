// One logical host order over all launching threads of a process: the predecessor of a call is the
// call that ended last before it starts, since forward and autograd threads hand over to each
// other; chains per thread would freeze the second thread at its recorded times. Tested by:
// replay_test.cpp
#include "analysis/replay_input.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <unordered_map>

#include "analysis/recorded_waits.h"

namespace ws {
namespace {

bool has(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
         }) != text.end();
}

EventCall event_call(std::string_view name) {
  if (has(name, "eventrecord")) return EventCall::record;
  return has(name, "streamwaitevent") ? EventCall::wait : EventCall::none;
}

class Names {
 public:
  Names(const StringPool& pool, std::vector<std::string>& out) : pool_(pool), out_(out) {}
  uint32_t row_of(StringId id) {
    const auto [it, fresh] = rows_.try_emplace(row(id), static_cast<uint32_t>(out_.size()));
    if (fresh) out_.emplace_back(pool_[id]);
    return it->second;
  }

 private:
  const StringPool& pool_;
  std::vector<std::string>& out_;
  std::unordered_map<size_t, uint32_t> rows_;
};

// States of ranges, each distinct (name, source) looked up once.
class RangeStates {
 public:
  explicit RangeStates(const Trace& trace) : trace_(trace) {}
  HostState of(size_t range) {
    const HostRanges& r = trace_.ranges;
    const size_t key = row(r.name[range]) * 16 + static_cast<size_t>(r.source[range]);
    const auto [it, fresh] = known_.try_emplace(key, HostState::none);
    if (fresh) it->second = state_of_range(trace_.strings[r.name[range]], r.source[range]);
    return it->second;
  }

 private:
  const Trace& trace_;
  std::unordered_map<size_t, HostState> known_;
};

struct CoverRange {
  Interval span;
  TimeNs max_end_ns = 0;  // running maximum
  CoverKind kind{};
};

// Per thread, sorted by begin.
std::vector<std::vector<CoverRange>> cover_ranges(const Trace& trace, Interval window,
                                                  RangeStates& states) {
  std::vector<std::vector<CoverRange>> out(trace.threads.size());
  const HostRanges& r = trace.ranges;
  for (size_t i = 0; i < r.size(); ++i) {
    if (r.thread[i] == kNoThread || r.source[i] == RangeSource::gpu_annotation) continue;
    if (r.end_ns[i] <= window.begin_ns || r.begin_ns[i] >= window.end_ns) continue;
    CoverKind kind{};
    switch (states.of(i)) {
      case HostState::dataload:
        kind = CoverKind::dataload;
        break;
      case HostState::gc:
        kind = CoverKind::gc;
        break;
      case HostState::jit:
        kind = CoverKind::jit;
        break;
      case HostState::profiler:
        kind = CoverKind::profiler;
        break;
      default:
        continue;
    }
    auto& list = out[row(r.thread[i])];
    const TimeNs before = list.empty() ? r.end_ns[i] : list.back().max_end_ns;
    list.push_back({{r.begin_ns[i], r.end_ns[i]}, std::max(before, r.end_ns[i]), kind});
  }
  return out;
}

void add_cover(const std::vector<CoverRange>& ranges, Interval gap,
               std::array<TimeNs, kCoverKinds>& sum) {
  auto it = std::lower_bound(ranges.begin(), ranges.end(), gap.end_ns,
                             [](const CoverRange& c, TimeNs t) { return c.span.begin_ns < t; });
  // Ranges of these kinds hardly nest; the cap keeps hostile files linear.
  for (int seen = 0; it != ranges.begin() && seen < 256; ++seen) {
    --it;
    if (it->max_end_ns <= gap.begin_ns) break;
    const TimeNs x =
        std::min(it->span.end_ns, gap.end_ns) - std::max(it->span.begin_ns, gap.begin_ns);
    if (x > 0) sum[static_cast<size_t>(it->kind)] += x;
  }
}

// What a call's name says, looked up once per name.
ReplayCall call_of_name(std::string_view name) {
  ReplayCall out;
  out.state = state_of_call(name);
  out.event = event_call(name);
  out.whole_device = has(name, "device") || has(name, "ctx");
  out.frees = has(name, "free");
  return out;
}

// Outermost calls inside the window; nested rows map to the call around them.
std::vector<uint32_t> add_calls(const Trace& trace, Interval window, Names& names,
                                ReplayRank& out) {
  const ApiCalls& c = trace.calls;
  std::vector<uint32_t> top(c.size(), kNoRow);
  std::vector<uint32_t> open(trace.threads.size(), kNoRow);
  std::vector<std::optional<ReplayCall>> by_name;
  for (size_t i = 0; i < c.size(); ++i) {
    if (c.begin_ns[i] < window.begin_ns || c.begin_ns[i] >= window.end_ns) continue;
    const size_t thread = row(c.thread[i]);
    if (open[thread] != kNoRow && c.end_ns[i] <= out.calls[open[thread]].end_ns) {
      top[i] = open[thread];
      continue;
    }
    const uint32_t name = names.row_of(c.name[i]);
    if (name >= by_name.size()) by_name.resize(name + 1);
    if (!by_name[name]) by_name[name] = call_of_name(trace.strings[c.name[i]]);
    ReplayCall call = *by_name[name];
    call.begin_ns = c.begin_ns[i];
    call.end_ns = c.end_ns[i];
    call.thread = static_cast<uint32_t>(thread);
    call.process = static_cast<uint32_t>(trace.threads[thread].process);
    call.name = name;
    open[thread] = top[i] = static_cast<uint32_t>(out.calls.size());
    out.calls.push_back(call);
  }
  for (const SyncRecord& s : trace.syncs) {
    if (s.call != kNoRow && top[s.call] != kNoRow && s.stream >= 0)
      out.calls[top[s.call]].stream = s.stream;
  }
  return top;
}

void add_ops(const Trace& trace, const Labels& labels, Interval window,
             const std::vector<uint32_t>& top, const std::vector<uint32_t>& comm_record_of_op,
             Names& names, ReplayRank& out) {
  const GpuOps& o = trace.ops;
  std::unordered_map<size_t, int64_t> bytes;
  for (const CommOp& c : labels.comm_ops) bytes[c.op] = c.bytes;
  for (const Stream& s : trace.streams) {
    out.streams.push_back(
        {static_cast<uint32_t>(s.process), static_cast<uint32_t>(s.device), s.number});
  }
  for (size_t i = 0; i < o.size(); ++i) {
    const uint32_t launch = o.launch[i];
    const uint32_t call = launch == kNoRow ? kNoRow : top[launch];
    const TimeNs at = launch == kNoRow ? o.begin_ns[i] : trace.calls.begin_ns[launch];
    const bool runs_into = at < window.begin_ns && o.end_ns[i] > window.begin_ns;
    if (!runs_into && (at < window.begin_ns || at >= window.end_ns)) continue;
    ReplayOp x;
    x.begin_ns = o.begin_ns[i];
    x.end_ns = o.end_ns[i];
    x.stream = static_cast<uint32_t>(o.stream[i]);
    x.call = call;
    x.order_ns = launch == kNoRow ? -1 : at;
    x.name = names.row_of(o.name[i]);
    x.graph = o.graph[i];
    x.cls = labels.ops.cls[i];
    x.what = o.kind[i];
    x.kind = labels.ops.kind[i];
    x.coll = labels.ops.coll[i];
    x.flags = labels.ops.flags[i];
    if (o.copy[i] != kNoRow) x.bytes = trace.copies[o.copy[i]].bytes;
    if (const auto it = bytes.find(i); it != bytes.end()) x.bytes = it->second;
    x.comm_record = comm_record_of_op.empty() ? kNoRow : comm_record_of_op[i];
    if (call != kNoRow) ++out.calls[call].op_count;
    out.ops.push_back(x);
  }
  uint32_t sum = 0;
  for (ReplayCall& c : out.calls) {
    c.first_op = sum;
    sum += c.op_count;
  }
  out.launched.resize(sum);
  std::vector<uint32_t> next;
  for (const ReplayCall& c : out.calls) next.push_back(c.first_op);
  for (uint32_t i = 0; i < out.ops.size(); ++i)
    if (out.ops[i].call != kNoRow) out.launched[next[out.ops[i].call]++] = i;
}

void add_ranges(const Trace& trace, Interval window, RangeStates& states, Names& names,
                ReplayRank& out) {
  const HostRanges& r = trace.ranges;
  for (size_t i = 0; i < r.size(); ++i) {
    if (r.thread[i] == kNoThread || r.begin_ns[i] >= window.end_ns ||
        r.end_ns[i] <= window.begin_ns)
      continue;
    if (states.of(i) == HostState::none) continue;
    out.ranges.push_back({r.begin_ns[i], r.end_ns[i], static_cast<uint32_t>(row(r.thread[i])),
                          names.row_of(r.name[i]), r.source[i]});
  }
  for (const Thread& t : trace.threads)
    out.thread_process.push_back(static_cast<uint32_t>(t.process));
}

void link_host_order(const Trace& trace, Interval window, RangeStates& states, ReplayRank& out) {
  const auto cover = cover_ranges(trace, window, states);
  std::vector<bool> launching(trace.threads.size(), false);
  for (const ReplayCall& c : out.calls) {
    if (c.op_count > 0) launching[c.thread] = true;
  }
  using Ended = std::pair<TimeNs, uint32_t>;  // end, call
  std::priority_queue<Ended, std::vector<Ended>, std::greater<>> running;
  std::vector<uint32_t> last(trace.threads.size(), kNoRow);
  std::vector<uint32_t> best(trace.processes.size(), kNoRow);  // ended last, launching threads only
  for (uint32_t i = 0; i < out.calls.size(); ++i) {
    ReplayCall& c = out.calls[i];
    while (!running.empty() && running.top().first <= c.begin_ns) {
      const ReplayCall& done = out.calls[running.top().second];
      if (launching[done.thread]) best[done.process] = running.top().second;
      running.pop();
    }
    uint32_t pred = last[c.thread];
    const uint32_t other = best[c.process];
    if (launching[c.thread] && other != kNoRow &&
        (pred == kNoRow || out.calls[other].end_ns > out.calls[pred].end_ns)) {
      pred = other;
    }
    if (pred != kNoRow && out.calls[pred].end_ns <= c.begin_ns) {
      const Interval gap{out.calls[pred].end_ns, c.begin_ns};
      c.pred = pred;
      c.lag_ns = gap.length();
      add_cover(cover[c.thread], gap, c.covered_ns);
      if (out.calls[pred].thread != c.thread)
        add_cover(cover[out.calls[pred].thread], gap, c.covered_ns);
    }
    last[c.thread] = i;
    running.emplace(c.end_ns, i);
  }
}

}  // namespace

ReplayRank make_replay_rank(const Trace& trace, const Labels& labels, const Constants& constants,
                            Interval window, const std::vector<uint32_t>& comm_record_of_op) {
  ReplayRank out;
  out.rank = trace.rank;
  out.constants = constants;
  Names names(trace.strings, out.names);
  const std::vector<uint32_t> top = add_calls(trace, window, names, out);
  add_ops(trace, labels, window, top, comm_record_of_op, names, out);
  add_recorded_waits(trace, top, out);
  RangeStates states(trace);
  link_host_order(trace, window, states, out);
  add_ranges(trace, window, states, names, out);
  return out;
}

}  // namespace ws
