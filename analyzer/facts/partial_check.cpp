// Tested by: partial_damage_test.cpp
#include "facts/partial_check.h"

namespace ws::partial {
namespace {

constexpr int64_t kLargestRank = int64_t{1} << 30;

void check_identity(const RankAnalysis& rank, Check& check) {
  const auto clock = [&](TimeNs t) {
    check.need(t >= -kFurthestTime && t <= kFurthestTime, "a clock that is out of range");
  };
  check.need(rank.rank >= 0 && rank.rank <= kLargestRank, "a rank that is out of range");
  check.need(rank.world_size >= 0 && rank.world_size <= kLargestRank,
             "a world size that is out of range");
  check.need(rank.tick_ns > 0, "a clock without a resolution");
  clock(rank.clock_base_ns);
  clock(rank.capture.begin_ns);
  clock(rank.capture.end_ns);
  if (!check.ok()) return;
  check.amount(rank.capture.length());
  check.amount(rank.host_steps);
  const RecorderCost& cost = rank.recorder;
  for (const TimeNs v :
       {cost.window_ns, cost.tool_ns, cost.writer_cpu_ns, cost.bare_step_ns, cost.recorded_step_ns})
    check.known_amount(v);
  for (const Note& note : rank.notes.all()) check.amount(note.count);
  for (const Communicator& c : rank.communicators) check.amount(c.size);
}

void check_steps(const DeviceAnalysis& device, Check& check) {
  check.need(!device.steps.empty(), "a device without steps");
  check.need(device.breakdowns.size() == device.steps.size(), "lists of different lengths");
  for (size_t i = 0; i < device.steps.size() && check.ok(); ++i) {
    const Step& step = device.steps[i];
    check.span(step.window);
    check.need(i == 0 || device.steps[i - 1].window.end_ns <= step.window.begin_ns,
               "steps out of order");
    TimeNs sum = 0;
    for (TimeNs v : device.breakdowns[i].ns) check.add(v, sum);
    if (check.ok())
      check.need(sum == step.window.length(), "a step that is not the sum of its parts");
  }
}

void check_rows(const DeviceAnalysis& device, Check& check) {
  TimeNs kernels = 0, kernel_count = 0, collectives = 0, exposed = 0, hidden = 0, idle = 0;
  for (const KernelRow& k : device.kernels) {
    check.add(k.total_ns, kernels);
    check.add(k.count, kernel_count);
    check.amount(k.p50_ns);
    check.amount(k.p99_ns);
  }
  for (const CollectiveRow& c : device.collectives) {
    check.known_amount(c.bytes);
    check.amount(c.count);
    check.amount(c.min_ns);
    check.add(c.total_ns, collectives);
    check.add(c.hidden_ns, hidden);
    for (TimeNs v : {c.wait_ns, c.transfer_ns, c.unsplit_ns}) check.add(v, exposed);
  }
  for (const IdleRow& r : device.idle) {
    check.need(is_idle(r.leaf), "an idle cause that is none");
    check.add(r.ns, idle);
    check.amount(r.count);
    if (r.count > 0) check.span(r.largest);
  }
}

void check_sums(const DeviceAnalysis& device, Check& check) {
  const StepCounts& c = device.counts;
  for (double v : {c.kernels, c.launches, c.graph_launches, c.syncs, c.copies, c.alloc_calls,
                   c.small_d2h, c.pageable_copies, c.api_calls})
    check.amount(v);
  for (TimeNs v : {c.sync_host_ns, c.mean_kernel_ns, c.launch_spacing_ns, c.host_marker_ns,
                   c.steps_with_pause})
    check.amount(v);
  check.need(c.run_ahead_p10_ns >= -kLargest && c.run_ahead_p10_ns <= kLargest,
             "an amount that is out of range");
  const MemoryRow& m = device.memory;
  for (int64_t v : {m.peak_allocated_bytes, m.peak_reserved_bytes}) check.known_amount(v);
  for (int64_t v : {m.capacity_bytes, m.recompute_ns, m.offload_idle_ns, m.offload_bytes,
                    m.h2d_bytes, m.d2h_bytes, m.pageable_bytes, m.h2d_ns, m.d2h_ns, m.pageable_ns})
    check.amount(v);
  for (const CopyTotals& t : m.copies)
    for (int64_t v : {t.bytes, t.busy_ns, t.large_bytes, t.large_busy_ns}) check.amount(v);
  check.amount(m.recompute_estimated_share);
  for (int64_t v : {device.constants.launch_latency_ns, device.constants.kernel_gap_ns,
                    device.constants.straddle_eps_ns, device.ops, device.ops_with_launch,
                    device.launches_without_op, device.expected_launches})
    check.amount(v);
  const auto overlap = [&](const Overlap& o) {
    check.amount(o.total_ns);
    check.amount(o.hidden_ns);
  };
  overlap(device.comm);
  overlap(device.copies);
  for (const Overlap& o : device.comm_by_kind) overlap(o);
}

void check_evidence(const DeviceAnalysis& device, Check& check) {
  const Evidence& e = device.evidence;
  check.amounts(device.offload_idle_ns, device.steps.size());
  check.amounts(e.not_blocking_ns, device.steps.size());
  check.amounts(e.pause_ns, device.steps.size());
  check.amounts(e.profiler_ns, device.steps.size());
  for (const Breakdown* all : {&e.half_constants, &e.double_constants}) {
    TimeNs sum = 0;
    for (TimeNs v : all->ns) check.add(v, sum);
  }
  for (int64_t v :
       {e.step_ops, e.step_ops_with_launch, e.ops_over_steps, e.opaque_ns, e.staging_ns})
    check.amount(v);
}

}  // namespace

std::string_view wrong_with(const RankAnalysis& rank) {
  Check check(rank);
  check_identity(rank, check);
  size_t comm_records = 0;
  for (size_t d = 0; d < rank.devices.size() && check.ok(); ++d) {
    const DeviceAnalysis& device = rank.devices[d];
    check_steps(device, check);
    check_rows(device, check);
    check_sums(device, check);
    check_evidence(device, check);
    if (check.ok()) check_comms(device, rank.communicators.size(), check);
    comm_records += device.comms.records.size();
  }
  if (rank.replay && check.ok())
    check_replay(*rank.replay, comm_records, rank.devices.size(), check);
  return check.why();
}

}  // namespace ws::partial
