// Tested by: summaries_test.cpp
#include "analysis/step_counts.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/counted_steps.h"
#include "base/memory.h"

namespace ws {
namespace {

constexpr int64_t kSmallCopyBytes = 64;  // a scalar read: .item(), .any(), tokens per expert

struct OpCounts {
  int64_t kernels = 0, compute_kernels = 0, copies = 0, small_d2h = 0, pageable = 0;
  TimeNs kernel_ns = 0, compute_kernel_ns = 0;
  std::vector<TimeNs> run_ahead_ns;
  std::vector<bool> launches, launches_kernels;  // by row of calls
};

OpCounts count_ops(const Trace& trace, const OpLabels& labels, DeviceId device,
                   std::span<const Interval> windows) {
  OpCounts out;
  out.run_ahead_ns.reserve(trace.ops_by_device[row(device)].size());
  out.launches.resize(trace.calls.size(), false);
  out.launches_kernels.resize(trace.calls.size(), false);
  WindowWalk walk(windows);
  for_each_op(trace, device, [&](uint32_t op) {
    const TimeNs begin = trace.ops.begin_ns[op];
    if (walk.at(begin) == kNoWindow) return;
    const OpKind kind = trace.ops.kind[op];
    const TimeNs length = trace.ops.end_ns[op] - begin;
    if (kind == OpKind::kernel) {
      ++out.kernels;
      out.kernel_ns += length;
      if (is_compute(labels.cls[op])) {
        ++out.compute_kernels;
        out.compute_kernel_ns += length;
      }
    }
    if (const uint32_t copy = trace.ops.copy[op]; copy != kNoRow) {
      ++out.copies;
      out.pageable += trace.copies[copy].pageable ? 1 : 0;
      if (kind == OpKind::d2h && trace.copies[copy].bytes <= kSmallCopyBytes) ++out.small_d2h;
    }
    const uint32_t launch = trace.ops.launch[op];
    if (launch == kNoRow) return;
    if (kind == OpKind::kernel && trace.ops.graph[op] == 0)
      out.run_ahead_ns.push_back(std::max<TimeNs>(0, begin - trace.calls.begin_ns[launch]));
    out.launches[launch] = true;
    if (kind == OpKind::kernel || kind == OpKind::graph) out.launches_kernels[launch] = true;
  });
  return out;
}

// Median begin-to-begin of the calls that launched kernels of the counted steps, per thread.
TimeNs launch_spacing(const Trace& trace, const std::vector<bool>& used) {
  std::vector<TimeNs> last(trace.threads.size(), INT64_MIN), gaps;
  gaps.reserve(static_cast<size_t>(std::count(used.begin(), used.end(), true)));
  for (uint32_t call = 0; call < trace.calls.size(); ++call) {
    if (!used[call] || trace.calls.thread[call] == kNoThread) continue;
    TimeNs& before = last[row(trace.calls.thread[call])];
    const TimeNs begin = trace.calls.begin_ns[call];
    if (before != INT64_MIN) gaps.push_back(begin - before);
    before = begin;
  }
  return quantile(gaps, 1, 2);
}

}  // namespace

StepCounts count_steps(const Trace& trace, const OpLabels& labels, const HostStates& host,
                       DeviceId device, std::span<const Interval> windows) {
  StepCounts out;
  if (windows.empty()) return out;
  const auto steps = static_cast<double>(windows.size());
  const auto per_step = [steps](int64_t n) { return static_cast<double>(n) / steps; };
  OpCounts ops = count_ops(trace, labels, device, windows);
  out.kernels = per_step(ops.kernels);
  out.copies = per_step(ops.copies);
  out.small_d2h = per_step(ops.small_d2h);
  out.pageable_copies = per_step(ops.pageable);
  if (ops.compute_kernels > 0)
    out.mean_kernel_ns = rounded(ops.compute_kernel_ns, ops.compute_kernels);
  else if (ops.kernels > 0)
    out.mean_kernel_ns = rounded(ops.kernel_ns, ops.kernels);
  out.run_ahead_p10_ns = quantile(ops.run_ahead_ns, 1, 10);
  drop(ops.run_ahead_ns);
  out.launch_spacing_ns = launch_spacing(trace, ops.launches_kernels);

  const std::vector<uint32_t>& device_of = host.launch_use().device_of_thread;
  int64_t launches = 0, graphs = 0, calls = 0, syncs = 0, allocs = 0;
  TimeNs sync_host_ns = 0;
  WindowWalk walk(windows);
  std::vector<TimeNs> outer_end(trace.threads.size(), INT64_MIN);
  for (uint32_t call = 0; call < trace.calls.size(); ++call) {
    const HostState state = host.class_of_call(call);
    const TimeNs begin = trace.calls.begin_ns[call];
    if (ops.launches_kernels[call]) {
      ++launches;
      graphs += state == HostState::graph_launch ? 1 : 0;
    }
    if (trace.calls.thread[call] == kNoThread) continue;
    const size_t thread = row(trace.calls.thread[call]);
    if (begin < outer_end[thread]) continue;  // driver call inside its runtime call
    outer_end[thread] = trace.calls.end_ns[call];
    const uint32_t home = device_of[thread];
    if (home != kNoDevice && home != row(device)) continue;
    if (state == HostState::sync && !ops.launches[call])
      for_each_clip(windows, {begin, trace.calls.end_ns[call]},
                    [&](size_t, Interval part) { sync_host_ns += part.length(); });
    if (walk.at(begin) == kNoWindow) continue;
    ++calls;
    syncs += state == HostState::sync && !ops.launches[call] ? 1 : 0;
    allocs += state == HostState::alloc ? 1 : 0;
  }
  out.launches = per_step(launches);
  out.graph_launches = per_step(graphs);
  out.api_calls = per_step(calls);
  out.syncs = per_step(syncs);
  out.alloc_calls = per_step(allocs);
  out.sync_host_ns = rounded(sync_host_ns, static_cast<int64_t>(windows.size()));
  return out;
}

TimeNs host_marker_length(const Trace& trace, const std::vector<Step>& steps,
                          const std::vector<size_t>& counted) {
  std::unordered_set<std::string_view> names;
  for (size_t row : counted) names.insert(steps[row].name);
  std::vector<bool> is_marker(trace.strings.size(), false);
  for (uint32_t id = 1; id < trace.strings.size(); ++id)
    is_marker[id] = names.count(trace.strings[StringId{id}]) > 0;
  TimeNs sum = 0;
  int64_t count = 0;
  for (size_t r = 0; r < trace.ranges.size(); ++r) {
    if (trace.ranges.source[r] == RangeSource::gpu_annotation) continue;
    if (!is_marker[row(trace.ranges.name[r])]) continue;
    sum += trace.ranges.end_ns[r] - trace.ranges.begin_ns[r];
    ++count;
  }
  return count > 0 ? rounded(sum, count) : 0;
}

}  // namespace ws
