#include "analysis/host_states.h"

#include <algorithm>
#include <map>

namespace ws {
namespace {

constexpr auto kUnseen = static_cast<HostState>(0xff);

// States of all ranges that have one, each distinct (name, kind of source) looked up once.
class RangeClasses {
 public:
  explicit RangeClasses(const Trace& trace) : trace_(trace) {
    for (auto& s : seen_) s.assign(trace.strings.size(), kUnseen);
  }
  HostState of(size_t range) {
    const RangeSource source = trace_.ranges.source[range];
    const StringId name = trace_.ranges.name[range];
    HostState& slot = seen_[static_cast<size_t>(source)][row(name)];
    if (slot == kUnseen) slot = state_of_range(trace_.strings[name], source);
    return slot;
  }

 private:
  const Trace& trace_;
  std::array<std::vector<HostState>, static_cast<size_t>(RangeSource::gpu_annotation) + 1> seen_;
};

}  // namespace

namespace {

std::vector<uint32_t> device_of_threads(const Trace& trace) {
  std::vector<std::map<uint32_t, int64_t>> votes(trace.threads.size());
  for (uint32_t op = 0; op < trace.ops.size(); ++op) {
    const uint32_t launch = trace.ops.launch[op];
    if (launch == kNoRow || trace.calls.thread[launch] == kNoThread) continue;
    ++votes[row(trace.calls.thread[launch])][static_cast<uint32_t>(row(trace.device_of(op)))];
  }
  std::vector<uint32_t> out(votes.size(), kNoDevice);
  for (size_t t = 0; t < votes.size(); ++t) {
    int64_t best = 0;
    for (const auto& [device, count] : votes[t]) {
      if (count <= best) continue;
      best = count;
      out[t] = device;
    }
  }
  return out;
}

LaunchUse launch_use_of(const Trace& trace) {
  LaunchUse out;
  out.used.resize(trace.calls.size(), false);
  out.last_used.resize(trace.threads.size(), 0);
  for (uint32_t op = 0; op < trace.ops.size(); ++op) {
    const uint32_t call = trace.ops.launch[op];
    if (call == kNoRow || trace.calls.thread[call] == kNoThread) continue;
    out.used[call] = true;
    uint32_t& last = out.last_used[row(trace.calls.thread[call])];
    last = std::max(last, call);
  }
  out.launching.resize(trace.strings.size());
  for (uint32_t id = 0; id < trace.strings.size(); ++id)
    out.launching[id] = launches_kernels(trace.strings[StringId{id}]);
  out.device_of_thread = device_of_threads(trace);
  return out;
}

}  // namespace

HostStates::HostStates(const Trace& trace, const OpLabels& labels)
    : trace_(&trace), launch_use_(launch_use_of(trace)) {
  classify_calls(labels);
  group_calls();
  std::vector<StateRange> own, shared;
  std::vector<bool> calling(trace.processes.size(), false);
  for (size_t t = 0; t < trace.threads.size(); ++t) {
    if (makes_calls(t)) calling[row(trace.threads[t].process)] = true;
  }
  RangeClasses classes(trace);
  for (uint32_t i = 0; i < trace.ranges.size(); ++i) {
    const ThreadId thread = trace.ranges.thread[i];
    if (thread == kNoThread) continue;
    const HostState state = classes.of(i);
    if (state == HostState::none) continue;
    const bool is_own = trace.ranges.source[i] != RangeSource::overhead || makes_calls(row(thread));
    if (is_own) {
      own.push_back({row(thread), i, state});
    } else if (calling[process_of(thread)]) {
      shared.push_back({process_of(thread), i, state});
    }
  }
  build_threads(std::move(own));
  build_processes(std::move(shared));
}

void HostStates::classify_calls(const OpLabels& labels) {
  const ApiCalls& calls = trace_->calls;
  std::vector<HostState> by_name(trace_->strings.size(), kUnseen);
  call_state_.reserve(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    HostState& slot = by_name[row(calls.name[i])];
    if (slot == kUnseen) slot = state_of_call(trace_->strings[calls.name[i]]);
    call_state_.push_back(slot);
  }
  const GpuOps& ops = trace_->ops;
  for (size_t i = 0; i < ops.size(); ++i) {
    const uint32_t launch = ops.launch[i];
    if (is_copy(labels.cls[i]) && launch != kNoRow && ops.end_ns[i] > ops.begin_ns[i] &&
        calls.end_ns[launch] >= ops.end_ns[i])
      call_state_[launch] = HostState::sync;
  }
}

void HostStates::group_calls() {
  const ApiCalls& calls = trace_->calls;
  first_call_.assign(trace_->threads.size() + 1, 0);
  for (const ThreadId t : calls.thread) ++first_call_[row(t) + 1];
  for (size_t t = 1; t < first_call_.size(); ++t) first_call_[t] += first_call_[t - 1];
  std::vector<size_t> next(first_call_.begin(), first_call_.end() - 1);
  calls_by_thread_.resize(calls.size());
  for (uint32_t i = 0; i < calls.size(); ++i) calls_by_thread_[next[row(calls.thread[i])]++] = i;
}

// Merges the calls and the ranges of each thread, both by begin.
void HostStates::build_threads(std::vector<StateRange> own) {
  const ApiCalls& calls = trace_->calls;
  const HostRanges& ranges = trace_->ranges;
  std::stable_sort(own.begin(), own.end(),
                   [](const StateRange& a, const StateRange& b) { return a.track < b.track; });
  const size_t threads = trace_->threads.size();
  states_.reserve(threads, 2 * (calls.size() + own.size()));
  interruptions_.reserve(threads, 0);
  const auto add = [&](TimeNs begin, TimeNs end, HostState state) {
    first_event_ns_ = std::min(first_event_ns_, begin);
    states_.add(begin, end, state);
    if (interrupts_launch(state)) interruptions_.add(begin, end, state);
  };
  size_t r = 0;
  for (size_t t = 0; t < threads; ++t) {
    size_t c = first_call_[t];
    const size_t last = first_call_[t + 1];
    while (c < last || (r < own.size() && own[r].track == t)) {
      const bool has_range = r < own.size() && own[r].track == t;
      const uint32_t call = c < last ? calls_by_thread_[c] : kNoRow;
      if (call != kNoRow && (!has_range || calls.begin_ns[call] <= ranges.begin_ns[own[r].range])) {
        add(calls.begin_ns[call], calls.end_ns[call], call_state_[call]);
        ++c;
      } else {
        add(ranges.begin_ns[own[r].range], ranges.end_ns[own[r].range], own[r].state);
        ++r;
      }
    }
    states_.end_track();
    interruptions_.end_track();
  }
}

void HostStates::build_processes(std::vector<StateRange> shared) {
  const HostRanges& ranges = trace_->ranges;
  std::stable_sort(shared.begin(), shared.end(),
                   [](const StateRange& a, const StateRange& b) { return a.track < b.track; });
  shared_.reserve(trace_->processes.size(), shared.size());
  size_t r = 0;
  for (size_t p = 0; p < trace_->processes.size(); ++p) {
    for (; r < shared.size() && shared[r].track == p; ++r) {
      const uint32_t range = shared[r].range;
      first_event_ns_ = std::min(first_event_ns_, ranges.begin_ns[range]);
      shared_.add(ranges.begin_ns[range], ranges.end_ns[range], shared[r].state);
    }
    shared_.end_track();
  }
}

// The next piece on which neither track changes; the more urgent of the two states names it.
bool HostStates::Segments::next(Segment& out) {
  while (span_.begin_ns < span_.end_ns) {
    HostState state = HostState::none;
    TimeNs until = span_.end_ns;
    for (StateTracks::Cursor* c : {&own_, &shared_}) {
      while (!c->at_end() && c->get().span.end_ns <= span_.begin_ns) c->step();
      if (c->at_end()) continue;
      const Segment s = c->get();
      if (s.span.begin_ns <= span_.begin_ns) {
        state = std::min(state, s.state);
        until = std::min(until, s.span.end_ns);
      } else {
        until = std::min(until, s.span.begin_ns);
      }
    }
    out = {{span_.begin_ns, until}, state};
    span_.begin_ns = until;
    if (state != HostState::none) return true;
  }
  return false;
}

HostStates::Segments HostStates::states(ThreadId thread, TimeNs lo, TimeNs hi, size_t hint) const {
  return {states_.from(row(thread), lo, hint), shared_.from(process_of(thread), lo), {lo, hi}};
}

HostStates::Segments HostStates::interruptions(ThreadId thread, TimeNs lo, TimeNs hi) const {
  return {interruptions_.from(row(thread), lo), shared_.from(process_of(thread), lo), {lo, hi}};
}

bool HostStates::busy_at(ThreadId thread, TimeNs t) const {
  Segments now = states(thread, t, t + 1);
  return now.begin() != now.end();
}

std::optional<TimeNs> HostStates::next_call(ThreadId thread, TimeNs t) const {
  const auto first = calls_by_thread_.begin() + static_cast<ptrdiff_t>(first_call_[row(thread)]);
  const auto last = calls_by_thread_.begin() + static_cast<ptrdiff_t>(first_call_[row(thread) + 1]);
  const auto it = std::lower_bound(
      first, last, t, [&](uint32_t call, TimeNs at) { return trace_->calls.begin_ns[call] < at; });
  if (it == last) return std::nullopt;
  return trace_->calls.begin_ns[*it];
}

std::optional<HostStates::Straddle> HostStates::straddling(ThreadId thread, TimeNs t,
                                                           TimeNs slack_ns) const {
  const TimeNs after = t - slack_ns - 1;
  for (size_t i = 0; i < kHostStateCount; ++i) {
    const auto state = static_cast<HostState>(i);
    if (!is_credited(state)) continue;
    const auto own = states_.earliest(row(thread), state, t, after);
    const auto shared = shared_.earliest(process_of(thread), state, t, after);
    if (own && shared) return Straddle{state, std::min(*own, *shared)};
    if (own) return Straddle{state, *own};
    if (shared) return Straddle{state, *shared};
  }
  return std::nullopt;
}

}  // namespace ws
