// The compute op that ends a stretch could not start before its launch call began. What of the
// stretch lies before that call is the host's where the host was busy with work of its own. Waiting
// in a synchronisation is not: it ends earlier without the communication. Neither is time without a
// known state: what a framework does between two calls may well be a wait for the peer.
//
//   device   [== all-gather ==]........[gemm
//   host     [---- loader ---------]launch          not blocking: all of the all-gather
//   host     [-- sync ---------][py]launch          blocking: the sync waits for it
//
// Tested by: blocking_test.cpp
#include "analysis/blocking.h"

#include <algorithm>

#include "analysis/compute_cover.h"
#include "analysis/counted_steps.h"

namespace ws {
namespace {

struct NextCompute {
  TimeNs launch_ns = INT64_MIN;
  ThreadId thread = kNoThread;
};

NextCompute launch_of(const Trace& trace, uint32_t op) {
  const uint32_t call = op == kNoRow ? kNoRow : trace.ops.launch[op];
  if (call == kNoRow) return {};
  return {trace.calls.begin_ns[call], trace.calls.thread[call]};
}

bool is_own_work(HostState s) {
  return s == HostState::dataload || s == HostState::gc || s == HostState::jit ||
         s == HostState::profiler;
}

TimeNs own_work(const HostStates& host, ThreadId thread, Interval span) {
  TimeNs sum = 0;
  for (const HostStates::Segment s : host.states(thread, span.begin_ns, span.end_ns))
    if (is_own_work(s.state))
      sum += std::min(s.span.end_ns, span.end_ns) - std::max(s.span.begin_ns, span.begin_ns);
  return sum;
}

}  // namespace

std::vector<TimeNs> not_blocking_communication(const Trace& trace, const HostStates& host,
                                               const Timeline& timeline,
                                               std::span<const Interval> windows) {
  std::vector<TimeNs> out(windows.size(), 0);
  const std::vector<BusyPart>& busy = timeline.busy;
  size_t next = 0;  // first compute part not before the current part
  NextCompute follows;
  for (size_t i = 0; i < busy.size(); ++i) {
    if (!is_comm(busy[i].leaf)) continue;
    if (next <= i) {
      next = i + 1;
      while (next < busy.size() && !is_compute(busy[next].leaf)) ++next;
      follows = next < busy.size() ? launch_of(trace, busy[next].op) : NextCompute{};
    }
    const Interval early{busy[i].span.begin_ns, std::min(busy[i].span.end_ns, follows.launch_ns)};
    if (follows.thread == kNoThread || early.length() <= 0) continue;
    for_each_clip(windows, early,
                  [&](size_t w, Interval part) { out[w] += own_work(host, follows.thread, part); });
  }
  return out;
}

}  // namespace ws
