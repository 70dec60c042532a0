#pragma once
// The tables of a partial: one column per member, field numbers of schemas/partial.proto.
#include "analysis/device_comms.h"
#include "analysis/replay_input.h"
#include "facts/partial_archive.h"

namespace ws::partial {

template <>
inline constexpr OpKind kLast<OpKind> = OpKind::graph;
template <>
inline constexpr OpClass kLast<OpClass> = OpClass::d2h;
template <>
inline constexpr CommKind kLast<CommKind> = CommKind::other;
template <>
inline constexpr CollectiveOp kLast<CollectiveOp> = CollectiveOp::barrier;
template <>
inline constexpr HostState kLast<HostState> = HostState::none;
template <>
inline constexpr EventCall kLast<EventCall> = EventCall::known_wait;
template <>
inline constexpr RangeSource kLast<RangeSource> = RangeSource::gpu_annotation;

// The begin and end of a member that is an Interval.
template <class Row>
auto begin_of(Interval Row::*span) {
  return [span](Row& r) -> TimeNs& { return (r.*span).begin_ns; };
}
template <class Row>
auto end_of(Interval Row::*span) {
  return [span](Row& r) -> TimeNs& { return (r.*span).end_ns; };
}

template <class A>
void columns(A& a, std::vector<CommRecord>& rows) {
  a.column(1, rows, &CommRecord::begin_ns);
  a.column(2, rows, &CommRecord::end_ns);
  a.column(3, rows, &CommRecord::order_ns);
  a.column(4, rows, &CommRecord::communicator);
  a.column(5, rows, &CommRecord::op);
  a.column(6, rows, &CommRecord::kind);
  a.column(7, rows, &CommRecord::bytes);
  a.column(8, rows, &CommRecord::sequence);
  a.column(9, rows, &CommRecord::root);
  a.column(10, rows, &CommRecord::peer);
}
template <class A>
void columns(A& a, std::vector<ExposedPart>& rows) {
  a.column(1, rows, begin_of(&ExposedPart::span));
  a.column(2, rows, end_of(&ExposedPart::span));
  a.column(3, rows, &ExposedPart::record);
  a.column(4, rows, &ExposedPart::step);
}
template <class A>
void columns(A& a, std::vector<BeforeRecord>& rows) {
  a.column(1, rows, &BeforeRecord::from_ns);
  a.column(2, rows, &BeforeRecord::known);
  for (uint32_t c = 0; c < kLateCategoryCount; ++c)
    a.column(3 + c, rows, [c](BeforeRecord& r) -> uint32_t& { return r.ns[c]; });
}
template <class A>
void columns(A& a, std::vector<StageStep>& rows) {
  a.column(1, rows, begin_of(&StageStep::pipeline));
  a.column(2, rows, end_of(&StageStep::pipeline));
  a.column(3, rows, begin_of(&StageStep::compute));
  a.column(4, rows, end_of(&StageStep::compute));
}
template <class A>
void columns(A& a, std::vector<EdgeIdle>& rows) {
  a.column(1, rows, begin_of(&EdgeIdle::span));
  a.column(2, rows, end_of(&EdgeIdle::span));
  a.column(3, rows, &EdgeIdle::step);
  a.column(4, rows, &EdgeIdle::open);
}
template <class A>
void fields(A& a, DeviceComms& s) {  // op is a row of a trace that is gone
  a.table(1, s.records);
  a.deltas(2, s.row);
  a.deltas(3, s.step);
  a.table(4, s.before);
  a.table(5, s.exposed);
  a.table(6, s.stage_steps);
  a.table(7, s.edge_idle);
}

template <class A>
void columns(A& a, std::vector<ReplayCall>& rows) {
  a.column(1, rows, &ReplayCall::begin_ns);
  a.column(2, rows, &ReplayCall::end_ns);
  a.column(3, rows, &ReplayCall::thread);
  a.column(4, rows, &ReplayCall::process);
  a.column(5, rows, &ReplayCall::name);
  a.column(6, rows, &ReplayCall::state);
  a.column(7, rows, &ReplayCall::event);
  a.column(8, rows, &ReplayCall::whole_device);
  a.column(9, rows, &ReplayCall::frees);
  a.column(10, rows, &ReplayCall::stream);
  a.column(11, rows, &ReplayCall::pred);
  for (uint32_t k = 0; k < kCoverKinds; ++k)
    a.column(12 + k, rows, [k](ReplayCall& r) -> TimeNs& { return r.covered_ns[k]; });
}
template <class A>
void columns(A& a, std::vector<ReplayOp>& rows) {
  a.column(1, rows, &ReplayOp::begin_ns);
  a.column(2, rows, &ReplayOp::end_ns);
  a.column(3, rows, &ReplayOp::stream);
  a.column(4, rows, &ReplayOp::call);
  a.column(5, rows, &ReplayOp::order_ns);
  a.column(6, rows, &ReplayOp::name);
  a.column(7, rows, &ReplayOp::graph);
  a.column(8, rows, &ReplayOp::cls);
  a.column(9, rows, &ReplayOp::what);
  a.column(10, rows, &ReplayOp::kind);
  a.column(11, rows, &ReplayOp::coll);
  a.column(12, rows, &ReplayOp::flags);
  a.column(13, rows, &ReplayOp::bytes);
  a.column(14, rows, &ReplayOp::comm_record);
}
template <class A>
void columns(A& a, std::vector<ReplayStream>& rows) {
  a.column(1, rows, &ReplayStream::process);
  a.column(2, rows, &ReplayStream::device);
  a.column(3, rows, &ReplayStream::number);
}
template <class A>
void columns(A& a, std::vector<ReplayRange>& rows) {
  a.column(1, rows, &ReplayRange::begin_ns);
  a.column(2, rows, &ReplayRange::end_ns);
  a.column(3, rows, &ReplayRange::thread);
  a.column(4, rows, &ReplayRange::name);
  a.column(5, rows, &ReplayRange::source);
}
template <class A>
void columns(A& a, std::vector<std::pair<uint32_t, uint32_t>>& rows) {
  using Wait = std::pair<uint32_t, uint32_t>;
  a.column(1, rows, &Wait::first);
  a.column(2, rows, &Wait::second);
}
template <class A>
void columns(A& a, std::vector<Interval>& rows) {
  a.column(1, rows, &Interval::begin_ns);
  a.column(2, rows, &Interval::end_ns);
}
template <class A>
void fields(A& a, ReplayCuts& s) {
  a.field(1, s.device);
  a.field(2, s.ordinal);
  a.message(3, s.constants);
  a.deltas(4, s.at_ns);
}
// What a call launched follows from the ops, its lag from its predecessor (partial_replay.h).
template <class A>
void fields(A& a, ReplayRank& s) {
  a.message(1, s.constants);
  a.field(2, s.names);
  a.table(3, s.streams);
  a.table(4, s.calls);
  a.table(5, s.ops);
  a.table(6, s.waits);
  a.table(7, s.host_steps);
  a.deltas(8, s.step_index);
  a.field(9, s.cuts);
  a.table(10, s.ranges);
  a.deltas(11, s.thread_process);
  a.table(12, s.host_waits);
}

}  // namespace ws::partial
