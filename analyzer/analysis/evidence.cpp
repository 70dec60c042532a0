// Tested by: evidence_test.cpp
#include "analysis/evidence.h"

#include <algorithm>

#include "analysis/blocking.h"
#include "analysis/counted_steps.h"
#include "analysis/idle_summary.h"
#include "analysis/sensitivity.h"
#include "analysis/step_counts.h"

namespace ws {
namespace {

std::vector<Interval> windows_of_all(const std::vector<Step>& steps) {
  std::vector<Interval> out;
  out.reserve(steps.size());
  for (const Step& step : steps) out.push_back(step.window);
  return out;
}

void count_records(const Trace& trace, DeviceId device, std::span<const Interval> windows,
                   DeviceAnalysis& out) {
  WindowWalk walk(windows);
  for_each_op(trace, device, [&](uint32_t op) {
    const bool linked = trace.ops.launch[op] != kNoRow;
    ++out.ops;
    out.ops_with_launch += linked ? 1 : 0;
    out.evidence.cuda_graphs |= trace.ops.graph[op] != 0 || trace.ops.kind[op] == OpKind::graph;
    if (walk.at(trace.ops.begin_ns[op]) == kNoWindow) return;
    ++out.evidence.step_ops;
    out.evidence.step_ops_with_launch += linked ? 1 : 0;
  });
}

// Records that begin before and end after a whole complete step: no step can be judged by them.
int64_t ops_over_steps(const Trace& trace, DeviceId device, const std::vector<Step>& steps) {
  std::vector<Interval> complete;
  for (const Step& step : steps)
    if (step.complete) complete.push_back(step.window);
  int64_t count = 0;
  size_t next = 0;
  for_each_op(trace, device, [&](uint32_t op) {
    while (next < complete.size() && complete[next].begin_ns <= trace.ops.begin_ns[op]) ++next;
    if (next < complete.size() && complete[next].end_ns < trace.ops.end_ns[op]) ++count;
  });
  return count;
}

// Launch calls inside the hull of the counted steps that launched nothing that was recorded. What
// a thread launched after its last recorded launch was only cut off, and driver calls inside
// runtime calls are the same launch.
void count_launches(const Trace& trace, const LaunchUse& use, DeviceId device,
                    std::span<const Interval> windows, DeviceAnalysis& out) {
  if (windows.empty()) return;
  const std::vector<uint32_t>& device_of = use.device_of_thread;
  std::vector<TimeNs> outer_end(trace.threads.size(), INT64_MIN);
  for (uint32_t call = 0; call < trace.calls.size(); ++call) {
    if (trace.calls.thread[call] == kNoThread) continue;
    const size_t thread = row(trace.calls.thread[call]);
    const TimeNs begin = trace.calls.begin_ns[call];
    if (begin < outer_end[thread]) continue;
    outer_end[thread] = trace.calls.end_ns[call];
    if (!use.launching[row(trace.calls.name[call])]) continue;
    if (begin < windows.front().begin_ns || begin >= windows.back().end_ns) continue;
    if (device_of[thread] != kNoDevice && device_of[thread] != row(device)) continue;
    if (device_of[thread] != kNoDevice && call > use.last_used[thread]) continue;
    ++out.expected_launches;
    out.launches_without_op += use.used[call] ? 0 : 1;
  }
  // Kernels that are there without their launch may be what such a call launched: the link is
  // missing then, not the record.
  int64_t unlinked = 0;
  for (const uint32_t op : trace.ops_by_device[row(device)]) {
    const bool work = trace.ops.kind[op] == OpKind::kernel || trace.ops.kind[op] == OpKind::graph;
    unlinked += work && trace.ops.launch[op] == kNoRow &&
                        trace.ops.begin_ns[op] >= windows.front().begin_ns &&
                        trace.ops.begin_ns[op] < windows.back().end_ns
                    ? 1
                    : 0;
  }
  out.launches_without_op -= std::min(out.launches_without_op, unlinked);
}

TimeNs opaque_time(const Trace& trace, const Timeline& timeline,
                   std::span<const Interval> windows) {
  TimeNs sum = 0;
  for (const BusyPart& part : timeline.busy)
    if (part.op != kNoRow && trace.ops.kind[part.op] == OpKind::graph)
      for_each_clip(windows, part.span, [&](size_t, Interval clip) { sum += clip.length(); });
  return sum;
}

// Idle booked on synchronisation next to a copy of pageable memory: the host waits for staging.
// Reads of a few bytes are synchronisations of their own and are left out.
constexpr int64_t kStagedBytes = 4096;

TimeNs staging_time(const Trace& trace, const Timeline& timeline,
                    std::span<const Interval> windows) {
  const auto staged = [&](uint32_t op) {
    const uint32_t copy = op == kNoRow ? kNoRow : trace.ops.copy[op];
    return copy != kNoRow && trace.copies[copy].pageable && trace.copies[copy].bytes > kStagedBytes;
  };
  TimeNs sum = 0;
  for (const IdlePart& part : timeline.idle)
    if (part.leaf == Leaf::idle_sync && (staged(part.before) || staged(part.after)))
      for_each_clip(windows, part.span, [&](size_t, Interval clip) { sum += clip.length(); });
  return sum;
}

// The profiler's own work on the host per step, whether the device was idle or not.
std::vector<TimeNs> profiler_time(const Trace& trace, std::span<const Interval> windows) {
  std::vector<TimeNs> out(windows.size(), 0);
  TimeNs end = INT64_MIN;  // ranges are sorted by begin: nested ones count once
  for (size_t r = 0; r < trace.ranges.size(); ++r) {
    if (trace.ranges.source[r] != RangeSource::overhead) continue;
    if (state_of_range(trace.strings[trace.ranges.name[r]], trace.ranges.source[r]) !=
        HostState::profiler)
      continue;
    const Interval span{std::max(end, trace.ranges.begin_ns[r]), trace.ranges.end_ns[r]};
    if (span.length() <= 0) continue;
    end = span.end_ns;
    for_each_clip(windows, span, [&](size_t w, Interval clip) { out[w] += clip.length(); });
  }
  return out;
}

}  // namespace

void gather_evidence(const Trace& trace, const HostStates& host, DeviceId device,
                     const Timeline& timeline, std::span<const Interval> windows,
                     DeviceAnalysis& out) {
  Evidence& evidence = out.evidence;
  const std::vector<Interval> all = windows_of_all(out.steps);
  evidence.not_blocking_ns = not_blocking_communication(trace, host, timeline, all);
  evidence.pause_ns = longest_host_gaps(timeline, all);
  Breakdown sum;
  for (size_t row : counted_steps(out.steps)) sum.add(out.breakdowns[row]);
  evidence.half_constants =
      with_scaled_constants(trace, timeline, out.constants, 1, 2, windows, sum);
  evidence.double_constants =
      with_scaled_constants(trace, timeline, out.constants, 2, 1, windows, sum);
  if (!windows.empty())
    evidence.opaque_ns =
        rounded(opaque_time(trace, timeline, windows), static_cast<int64_t>(windows.size()));
  if (!windows.empty())
    evidence.staging_ns =
        rounded(staging_time(trace, timeline, windows), static_cast<int64_t>(windows.size()));
  evidence.profiler_ns = profiler_time(trace, all);
  evidence.ops_over_steps = ops_over_steps(trace, device, out.steps);
  count_records(trace, device, windows, out);
  count_launches(trace, host.launch_use(), device, windows, out);
}

}  // namespace ws
