#pragma once
// The field numbers of schemas/partial.proto, once for both directions. What combine_ranks fills in
// (offsets of clocks, lateness, stage idle, what matching adds to the rows of collectives) is not
// in a partial, nor is the number of the host, which is a number of the run.
#include <utility>

#include "analysis/rank_analysis.h"
#include "facts/partial.h"
#include "facts/partial_columns.h"

namespace ws::partial {

template <>
inline constexpr Leaf kLast<Leaf> = Leaf::idle_unknown;
template <>
inline constexpr StepOrigin kLast<StepOrigin> = StepOrigin::whole;
template <>
inline constexpr RankSource kLast<RankSource> = RankSource::order;
template <>
inline constexpr StepWindow kLast<StepWindow> = StepWindow::whole;
template <>
inline constexpr NoteCode kLast<NoteCode> =
    static_cast<NoteCode>(static_cast<int>(NoteCode::count_) - 1);

template <class A>
void fields(A& a, Interval& s) {
  a.field(1, s.begin_ns);
  a.field(2, s.end_ns);
}
template <class A>
void fields(A& a, Overlap& s) {
  a.field(1, s.total_ns);
  a.field(2, s.hidden_ns);
}
template <class A>
void fields(A& a, std::pair<std::string, std::string>& s) {
  a.field(1, s.first);
  a.field(2, s.second);
}
template <class A>
void fields(A& a, Note& s) {
  a.field(1, s.code);
  a.field(2, s.count);
  a.field(3, s.first_place);
  a.field(4, s.detail);
}
template <class A>
void fields(A& a, Breakdown& s) {
  a.field(1, s.ns);
}
template <class A>
void fields(A& a, Step& s) {
  a.field(1, s.index);
  a.text(2, s.name);
  a.message(3, s.window);
  a.field(4, s.complete);
  a.field(5, s.steady);
  a.field(6, s.outlier);
  a.text(7, s.why_left_out);
  a.field(8, s.warm);
}
template <class A>
void fields(A& a, Constants& s) {
  a.field(1, s.launch_latency_ns);
  a.field(2, s.kernel_gap_ns);
  a.field(3, s.straddle_eps_ns);
  a.field(4, s.launch_latency_measured);
  a.field(5, s.kernel_gap_measured);
}
template <class A>
void fields(A& a, KernelRow& s) {
  a.text(1, s.name);
  a.text(2, s.cls);
  a.field(3, s.count);
  a.field(4, s.total_ns);
  a.field(5, s.p50_ns);
  a.field(6, s.p99_ns);
  a.field(7, s.unclassified);
  a.field(8, s.grouped);
  a.field(9, s.optimizer);
  a.field(10, s.recompute);
}
template <class A>
void fields(A& a, CollectiveRow& s) {
  a.text(1, s.group);
  a.field(2, s.kind);
  a.field(3, s.op);
  a.field(4, s.bytes);
  a.field(5, s.count);
  a.field(6, s.total_ns);
  a.field(7, s.wait_ns);
  a.field(8, s.transfer_ns);
  a.field(9, s.unsplit_ns);
  a.field(10, s.hidden_ns);
  a.field(11, s.min_ns);
  a.field(12, s.peer_copy);
}
template <class A>
void fields(A& a, IdleRow& s) {
  a.field(1, s.leaf);
  a.field(2, s.ns);
  a.field(3, s.count);
  a.message(4, s.largest);
  a.text(5, s.before);
  a.text(6, s.after);
}
template <class A>
void fields(A& a, StepCounts& s) {
  double* const means[] = {&s.kernels,     &s.launches,  &s.graph_launches,  &s.syncs,    &s.copies,
                           &s.alloc_calls, &s.small_d2h, &s.pageable_copies, &s.api_calls};
  uint32_t tag = 0;
  for (double* mean : means) a.field(++tag, *mean);
  a.field(10, s.sync_host_ns);
  a.field(11, s.mean_kernel_ns);
  a.field(12, s.launch_spacing_ns);
  a.field(13, s.host_marker_ns);
  a.field(14, s.run_ahead_p10_ns);
  a.field(15, s.steps_with_pause);
}
template <class A>
void fields(A& a, CopyTotals& s) {
  a.field(1, s.bytes);
  a.field(2, s.busy_ns);
  a.field(3, s.large_bytes);
  a.field(4, s.large_busy_ns);
}
template <class A>
void fields(A& a, MemoryRow& s) {
  a.field(1, s.peak_allocated_bytes);
  a.field(2, s.peak_reserved_bytes);
  a.field(3, s.capacity_bytes);
  a.field(4, s.recompute_ns);
  a.field(5, s.recompute_estimated_share);
  a.field(6, s.offload_idle_ns);
  a.field(7, s.offload_bytes);
  a.field(8, s.h2d_bytes);
  a.field(9, s.d2h_bytes);
  a.field(10, s.pageable_bytes);
  a.field(11, s.h2d_ns);
  a.field(12, s.d2h_ns);
  a.field(13, s.pageable_ns);
  for (uint32_t way = 0; way < kCopyWayCount; ++way) a.message(14 + way, s.copies[way]);
}
template <class A>
void fields(A& a, Evidence& s) {
  a.field(1, s.not_blocking_ns);
  a.field(2, s.pause_ns);
  a.message(3, s.half_constants);
  a.message(4, s.double_constants);
  a.field(5, s.step_ops);
  a.field(6, s.step_ops_with_launch);
  a.field(7, s.ops_over_steps);
  a.field(8, s.opaque_ns);
  a.field(9, s.staging_ns);
  a.field(10, s.profiler_ns);
  a.field(11, s.cuda_graphs);
}
template <class A>
void fields(A& a, DeviceAnalysis& s) {
  a.field(1, s.device);
  a.text(2, s.gpu);
  a.message(3, s.constants);
  a.field(4, s.steps);
  a.field(5, s.breakdowns);
  a.field(6, s.offload_idle_ns);
  a.field(7, s.kernels);
  a.field(8, s.collectives);
  a.field(9, s.idle);
  a.message(10, s.counts);
  a.message(11, s.memory);
  a.message(12, s.comm);
  a.message(13, s.copies);
  for (uint32_t k = 0; k < kCommRowCount; ++k) a.message(14 + k, s.comm_by_kind[k]);
  a.field(24, s.ops);
  a.field(25, s.ops_with_launch);
  a.field(26, s.launches_without_op);
  a.field(27, s.expected_launches);
  a.message(28, s.evidence);
  a.message(29, s.comms);
}
static_assert(kCommRowCount <= 10, "numbers 14 to 23 are those of comm_by_kind");
template <class A>
void fields(A& a, Communicator& s) {
  a.field(1, s.name);
  a.field(2, s.key);
  a.field(3, s.members);
  a.field(4, s.size);
  a.field(5, s.kind);
  a.field(6, s.named);
  a.field(7, s.guessed);
}
template <class A>
void fields(A& a, ConfigSeen& s) {
  a.field(1, s.deepep);
  a.field(2, s.hybridep);
  a.field(3, s.nccl_all_to_all_on_ep);
  a.field(4, s.collectives_on_ep);
  a.field(5, s.precisions);
  a.field(6, s.settings);
  a.field(7, s.arguments);
}
template <class A>
void fields(A& a, RecorderCost& s) {
  a.field(1, s.window_ns);
  a.field(2, s.tool_ns);
  a.field(3, s.writer_cpu_ns);
  a.field(4, s.bare_step_ns);
  a.field(5, s.recorded_step_ns);
}
// Notes are handed over as rows: Notes itself only counts.
struct RankMessage {
  RankAnalysis rank;
  std::vector<Note> notes;
};
template <class A>
void fields(A& a, RankMessage& m) {
  RankAnalysis& s = m.rank;
  a.field(1, s.rank);
  a.field(2, s.host_name);
  a.field(3, s.path);
  a.text(4, s.format);
  a.text(5, s.tool_version);
  a.text(6, s.framework);
  a.field(7, s.rank_source);
  a.field(8, s.world_size);
  a.field(9, s.clock_base_ns);
  a.field(10, s.tick_ns);
  a.field(11, s.graphs_as_a_whole);
  a.field(12, s.has_api_records);
  a.field(13, s.has_host_ranges);
  a.field(14, s.step_origin);
  a.field(15, s.host_steps);
  a.field(16, s.devices);
  a.field(17, s.communicators);
  a.message(18, s.capture);
  a.message(19, s.config);
  a.field(20, m.notes);
  a.field(21, s.replay);
  a.message(22, s.recorder);
  a.text(23, s.os);
}
template <class A>
void fields(A& a, PartialOptions& s) {
  a.field(1, s.step_window);
  a.field(2, s.step_range);
  a.field(3, s.steps);
  a.field(4, s.time);
  a.field(5, s.what_if);
}
// Spellings of the numbers that stand for names, in the order of the numbers.
struct Spellings {
  std::vector<std::string> leaves, op_kinds, op_classes, comm_kinds, collective_ops,
      late_categories, step_origins, rank_sources, notes;
  friend bool operator==(const Spellings&, const Spellings&) = default;
};
template <class A>
void fields(A& a, Spellings& s) {
  uint32_t tag = 0;
  for (auto* list : {&s.leaves, &s.op_kinds, &s.op_classes, &s.comm_kinds, &s.collective_ops,
                     &s.late_categories, &s.step_origins, &s.rank_sources, &s.notes})
    a.field(++tag, *list);
}
struct PartialMessage {
  std::string version;
  Spellings spellings;
  PartialOptions options;
  std::vector<Note> notes;
  std::vector<RankMessage> ranks;
};
template <class A>
void fields(A& a, PartialMessage& s) {
  a.text(1, s.version);
  a.message(2, s.spellings);
  a.message(3, s.options);
  a.field(4, s.notes);
  a.field(5, s.ranks);
}

}  // namespace ws::partial
