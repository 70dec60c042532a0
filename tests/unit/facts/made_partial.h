#pragma once
// A partial with something in every table: two ranks that meet in all-reduces, one of them late,
// with pipeline edges and a replay of two steps.
#include "facts/partial.h"
#include "unit/analysis/made_rank.h"

namespace ws::made {

constexpr TimeNs kStepNs = 1'000'000;

// Steps of 1 ms: 600 us of compute, then an all-reduce that ends with the step.
inline DeviceAnalysis meeting_device(TimeNs late_ns) {
  const TimeNs inside = 300'000 - late_ns;
  DeviceAnalysis out = device(leaves({{Leaf::gemm, 600'000},
                                      {Leaf::comm_dp_unsplit, inside},
                                      {Leaf::idle_gc, 100'000 + late_ns}}));
  out.evidence.half_constants = leaves(
      {{Leaf::gemm, 3'600'000}, {Leaf::comm_dp_unsplit, 6 * inside}, {Leaf::idle_gc, 600'000}});
  out.evidence.double_constants = out.evidence.half_constants;
  out.kernels = {{"gemm_a", "gemm", 60, 3'600'000, 60'000, 61'000, true, true, true, true}};
  out.collectives = {collective(CommKind::dp, CollectiveOp::all_reduce, 7 * inside)};
  out.idle = {{Leaf::idle_gc, 600'000, 6, {1'000, 101'000}, "gemm_a", "ncclDevKernel"}};
  out.memory.peak_reserved_bytes = 60'000'000'000;
  out.memory.recompute_estimated_share = 0.25;
  for (size_t way = 0; way < kCopyWayCount; ++way) {
    const auto n = static_cast<int64_t>(way) + 1;
    out.memory.copies[way] = {100 * n, 40 * n, 10 * n, 4 * n};
  }
  for (size_t k = 0; k < kCommRowCount; ++k)
    out.comm_by_kind[k] = {static_cast<TimeNs>(10 * k + 2), static_cast<TimeNs>(k + 1)};
  out.comm = {250'000, 50'000};
  out.copies = {2'000, 1'000};
  out.counts.host_marker_ns = kStepNs;
  out.offload_idle_ns.back() = 5;
  out.evidence.pause_ns[1] = 6;
  out.evidence.not_blocking_ns[2] = 7;
  out.evidence.profiler_ns[3] = 8;
  DeviceComms& c = out.comms;
  for (uint32_t i = 0; i < out.steps.size(); ++i) {
    const TimeNs end = out.steps[i].window.end_ns, begin = end - inside;
    CommRecord record{begin,        end,     begin - 5'000, 0,  CollectiveOp::all_reduce,
                      CommKind::dp, 1 << 20, 10 + i,        -1, -1};
    c.records.push_back(record);
    c.row.push_back(0);
    c.step.push_back(i);
    c.exposed.push_back({i, i, {begin, end}});
    BeforeRecord before;
    before.known = i > 0;
    before.from_ns = i > 0 ? out.steps[i].window.begin_ns : 0;
    for (uint32_t k = 0; k < kLateCategoryCount; ++k) before.ns[k] = 1'000 * i + k;
    before.ns[static_cast<size_t>(LateCategory::gc)] += static_cast<uint32_t>(late_ns);
    c.before.push_back(before);
    const Interval window = out.steps[i].window;
    c.stage_steps.push_back({{window.begin_ns + 10, end - 10}, {window.begin_ns + 20, begin}});
    c.edge_idle.push_back({i, {window.begin_ns, window.begin_ns + 10}, i % 2 == 1});
  }
  return out;
}

// Two steps, one launch and one op each; the second op waits for the first.
inline ReplayRank replay(const DeviceAnalysis& on) {
  ReplayRank out;
  out.constants = on.constants;
  out.names = {"cudaLaunchKernel", "gemm_a", "next"};
  out.streams = {{0, 0, 7}, {0, 0, 20}};
  out.thread_process = {0, 0};
  for (uint32_t i = 0; i < 4; ++i) {
    const Interval window = on.steps[1 + i / 2].window;
    const TimeNs begin = window.begin_ns + TimeNs{400'000} * (i % 2);
    ReplayCall call;
    call.begin_ns = begin;
    call.end_ns = begin + 5'000;
    call.state = HostState::launch;
    call.first_op = i;
    call.op_count = 1;
    if (i > 0) {
      call.pred = i - 1;
      call.lag_ns = begin - out.calls.back().end_ns;
      call.covered_ns = {1, 2, 3, 4};
    }
    out.calls.push_back(call);
    ReplayOp op;
    op.begin_ns = begin + 10'000;
    op.end_ns = begin + 300'000;
    op.stream = i % 2;
    op.call = i;
    op.order_ns = begin;
    op.name = 1;
    op.cls = i % 2 == 0 ? OpClass::gemm : OpClass::comm;
    op.kind = i % 2 == 0 ? CommKind::other : CommKind::dp;
    op.coll = i % 2 == 0 ? CollectiveOp::unknown : CollectiveOp::all_reduce;
    op.comm_record = i % 2 == 0 ? kNoRow : 1 + i / 2;
    op.bytes = int64_t{64} * i;
    out.ops.push_back(op);
    out.launched.push_back(i);
    if (i % 2 == 1) out.waits.emplace_back(i - 1, i);
    if (i % 2 == 1) out.host_waits.emplace_back(i, i - 1);
    out.ranges.push_back({begin - 1'000, begin, 1, 2, RangeSource::python});
  }
  out.host_steps = {on.steps[1].window, on.steps[2].window};
  out.step_index = {1, 2};
  out.cuts = {
      {0,
       0,
       on.constants,
       {on.steps[1].window.begin_ns, on.steps[1].window.end_ns, on.steps[2].window.end_ns}}};
  return out;
}

inline RankAnalysis meeting_rank(int32_t number, TimeNs late_ns) {
  RankAnalysis out = rank(meeting_device(late_ns), number, 2);
  out.capture = {0, 10 * kStepNs};
  out.host_name = "node" + std::to_string(number);
  out.tool_version = "1";
  out.os = "windows";
  out.communicators.push_back(
      {"DATA_PARALLEL_GROUP", "1|0|1", {0, 1}, 2, CommKind::dp, true, true});
  out.config.deepep = true;
  out.config.precisions = {"bf16", "fp8"};
  out.config.settings = {{"NCCL_ALGO", "Ring"}};
  out.config.arguments = {"python", "train.py"};
  out.recorder = {10 * kStepNs, 5'000, 7'000, kStepNs - 100, kStepNs};
  out.notes.add(NoteCode::junk_event, "event 3", 2, "odd");
  out.replay = replay(out.devices.front());
  out.replay->rank = number;
  return out;
}

inline Partial partial() {
  Partial out;
  out.options = {StepWindow::host, "iteration", "1:7", "1ms:9ms", true};
  out.notes.add(NoteCode::file_skipped, "notes.txt", 1);
  out.ranks = {meeting_rank(0, 0), meeting_rank(1, 50'000)};
  return out;
}

}  // namespace ws::made
