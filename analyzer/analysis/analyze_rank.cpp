// Tested by: cases_test.cpp; the parts have tests of their own
#include "analysis/analyze_rank.h"

#include <fmt/format.h>

#include "analysis/collective_summary.h"
#include "analysis/counted_steps.h"
#include "analysis/evidence.h"
#include "analysis/idle_summary.h"
#include "analysis/kernel_summary.h"
#include "analysis/label_ops.h"
#include "analysis/memory_summary.h"
#include "analysis/recompute.h"
#include "analysis/replay_steps.h"
#include "analysis/step_counts.h"
#include "base/both.h"
#include "base/memory.h"
#include "base/text.h"

namespace ws {
namespace {

RankAnalysis identity_of(const Trace& trace) {
  RankAnalysis out;
  out.rank = trace.rank;
  out.host = trace.host;
  out.host_name = trace.host_name;
  out.path = trace.path;
  out.format = trace.format;
  out.tool_version = trace.tool_version;
  out.framework = trace.framework;
  out.os = trace.os;
  out.recorder = trace.recorder;
  out.rank_source = trace.rank_source;
  out.world_size = trace.world_size;
  out.clock_base_ns = trace.clock_base_ns;
  out.tick_ns = trace.tick_ns;
  out.graphs_as_a_whole = trace.graphs_as_a_whole;
  out.has_api_records = trace.has_api_records;
  out.has_host_ranges = trace.has_host_ranges;
  out.capture = trace.capture;
  out.notes = trace.notes;
  return out;
}

constexpr size_t kMuchPerDevice = 20'000;  // records

Interval hull(const std::vector<Step>& steps) {
  Interval out = steps.front().window;
  for (const Step& step : steps) {
    out.begin_ns = std::min(out.begin_ns, step.window.begin_ns);
    out.end_ns = std::max(out.end_ns, step.window.end_ns);
  }
  return out;
}

std::vector<Interval> all_windows(const std::vector<Step>& steps) {
  std::vector<Interval> out;
  out.reserve(steps.size());
  for (const Step& step : steps) out.push_back(step.window);
  return out;
}

void per_step(Overlap& overlap, int64_t steps) {
  overlap.total_ns = rounded(overlap.total_ns, steps);
  overlap.hidden_ns = rounded(overlap.hidden_ns, steps);
}

void add_communication(const Trace& trace, const Labels& labels, DeviceId device,
                       const Timeline& timeline, std::span<const Interval> windows,
                       DeviceAnalysis& out) {
  CommunicationSummary summary = summarize_communication(trace, labels, device, timeline, windows);
  out.collectives = std::move(summary.rows);
  out.comm = summary.comm;
  out.copies = summary.copies;
  out.comm_by_kind = summary.by_kind;
  const auto steps = static_cast<int64_t>(windows.size());
  per_step(out.comm, steps);
  per_step(out.copies, steps);
  for (Overlap& kind : out.comm_by_kind) per_step(kind, steps);
  size_t i = 0;
  for (const auto& [op, row] : summary.row_of_op) {  // both by row of Trace::ops
    while (i < out.comms.op.size() && out.comms.op[i] < op) ++i;
    if (i < out.comms.op.size() && out.comms.op[i] == op) out.comms.row[i] = row;
  }
}

// Without a single flag the counting rule gives a bound.
void estimate_recompute(const Trace& trace, const KernelClasses& classes, DeviceId device,
                        std::span<const Interval> windows, DeviceAnalysis& out, Notes& notes) {
  if (out.memory.recompute_ns > 0 || windows.empty()) return;
  out.memory.recompute_estimated_share =
      recompute_estimate(trace, classes, device, {windows.front().begin_ns, windows.back().end_ns});
  if (out.memory.recompute_estimated_share > 0) notes.add(NoteCode::recompute_estimated);
}

// What needs no timeline: counts, memory and kernels of the counted steps.
void summarize_records(const Trace& trace, const Labels& labels, const KernelClasses& classes,
                       const HostStates& host, DeviceId device, DeviceAnalysis& out, Notes& notes) {
  const std::vector<size_t> counted = counted_steps(out.steps);
  const std::vector<Interval> windows = windows_of(out.steps, counted);
  std::vector<TimeNs> offload;
  TimeNs span = 0;
  for (size_t row : counted) {
    offload.push_back(out.offload_idle_ns[row]);
    span += out.steps[row].window.length();
  }
  out.counts = count_steps(trace, labels.ops, host, device, windows);
  out.counts.host_marker_ns = host_marker_length(trace, out.steps, counted);
  out.memory = summarize_memory(trace, labels.ops, device, windows, offload);
  estimate_recompute(trace, classes, device, windows, out, notes);
  out.kernels = summarize_kernels(trace, labels.ops, device, windows);
  note_unclassified(out.kernels, span, notes);
}

DeviceAnalysis analyze_device(const Trace& trace, const Labels& labels,
                              const KernelClasses& classes, const HostStates& host, DeviceId device,
                              std::vector<Step> steps, const RankOptions& options, Notes& notes) {
  DeviceAnalysis out;
  out.device = trace.devices[row(device)].ordinal;
  out.gpu = one_line(to_utf8(trace.devices[row(device)].name));
  out.steps = std::move(steps);
  const std::vector<Interval> all = all_windows(out.steps);
  out.constants = calibrate(trace, labels.ops, host, device);
  // The timeline is the peak; giving small pieces back costs more than they weigh.
  if (trace.ops.size() + trace.calls.size() >= kMuchPerDevice * trace.devices.size())
    release_freed_memory();
  Timeline timeline =
      build_timeline(trace, labels.ops, host, device, out.constants, hull(out.steps));
  out.breakdowns = partition(timeline, all);
  out.offload_idle_ns = offload_idle(trace, labels.ops, device, all);
  choose_steady(out.steps, out.breakdowns, notes);
  const std::vector<Interval> windows = windows_of(out.steps, counted_steps(out.steps));
  out.idle = summarize_idle(trace, timeline, windows);
  gather_evidence(trace, host, device, timeline, windows, out);
  out.comms = collect_comms(trace, labels, device, timeline, all, options.alone);
  drop(timeline.idle);  // as large as half the trace, and not needed from here on
  both(
      options.two_threads,
      [&] { add_communication(trace, labels, device, timeline, windows, out); },
      [&] { summarize_records(trace, labels, classes, host, device, out, notes); });
  for (size_t row : counted_steps(out.steps))
    out.counts.steps_with_pause += out.evidence.pause_ns[row] > kPauseNs ? 1 : 0;
  return out;
}

// Row of a rank's communication records, those of its devices one after the other, per op.
std::vector<uint32_t> comm_records(const Trace& trace, const RankAnalysis& rank) {
  std::vector<uint32_t> out;
  uint32_t record = 0;
  for (const DeviceAnalysis& device : rank.devices) {
    for (uint32_t op : device.comms.op) {
      if (out.empty()) out.assign(trace.ops.size(), kNoRow);
      out[op] = record++;
    }
  }
  return out;
}

std::optional<ReplayRank> replay_of(const Trace& trace, const Labels& labels,
                                    const RankAnalysis& rank, const StepsResult& found,
                                    const StepOptions& options) {
  std::vector<DeviceSteps> devices;
  for (size_t d = 0, next = 0; d < found.by_device.size() && next < rank.devices.size(); ++d) {
    const DeviceAnalysis& analyzed = rank.devices[next];
    if (trace.devices[d].ordinal != analyzed.device) continue;
    devices.push_back({DeviceId{static_cast<uint32_t>(d)}, analyzed.constants, &analyzed.steps});
    ++next;
  }
  return replay_of_steps(trace, labels, devices, found.host_steps, options.replay_ops,
                         comm_records(trace, rank));
}

void note_constants(const Constants& c, Notes& notes) {
  constexpr const char* kLatency = "launch latency";
  constexpr const char* kGap = "gap between kernels";
  if (c.launch_latency_measured && c.kernel_gap_measured) return;
  if (!c.launch_latency_measured && !c.kernel_gap_measured) {
    notes.add(NoteCode::constants_default, {}, 1, fmt::format("{} and {}", kLatency, kGap));
    return;
  }
  const bool latency = !c.launch_latency_measured;
  notes.add(
      NoteCode::constants_default, {}, 1,
      fmt::format("{}; the {} was measured", latency ? kLatency : kGap, latency ? kGap : kLatency));
}

void note_faults(const RankAnalysis& rank, Notes& notes) {
  for (const DeviceAnalysis& device : rank.devices) {
    if (device.launches_without_op > 0 &&
        device.launches_without_op * 20 > device.expected_launches)
      notes.add(NoteCode::missing_gpu_records, {}, device.launches_without_op);
    note_constants(device.constants, notes);
  }
  // Of a file that is cut off, GPU activity may stand behind the cut.
  if (rank.devices.empty() && notes.count(NoteCode::no_gpu_events) == 0 &&
      notes.count(NoteCode::other_accelerator) == 0 &&
      notes.count(NoteCode::time_out_of_range) == 0 && !is_incomplete(notes))
    notes.add(NoteCode::no_gpu_events);
}

}  // namespace

RankAnalysis analyze_rank(const Trace& trace, const KernelClasses& classes,
                          const StepOptions& steps_wanted, const RankOptions& options) {
  RankAnalysis out = identity_of(trace);
  Labels labels = label_ops(trace, classes);
  const HostStates host(trace, labels.ops);
  StepsResult steps = find_steps(trace, labels.ops, steps_wanted);
  out.step_origin = steps.origin;
  out.notes.merge(labels.notes);
  out.notes.merge(steps.notes);
  for (size_t d = 0; d < steps.by_device.size(); ++d) {
    if (!steps.by_device[d].empty()) {
      out.devices.push_back(analyze_device(trace, labels, classes, host,
                                           DeviceId{static_cast<uint32_t>(d)},
                                           std::move(steps.by_device[d]), options, out.notes));
    }
  }
  out.host_steps = static_cast<int64_t>(steps.host_steps.size());
  out.config = config_seen(trace, labels, classes);
  if (steps_wanted.replay_ops > 0) out.replay = replay_of(trace, labels, out, steps, steps_wanted);
  out.communicators = std::move(labels.communicators);
  note_faults(out, out.notes);
  return out;
}

}  // namespace ws
