// The summaries over a timeline of known numbers.
#include "analysis/collective_summary.h"

#include <random>

#include "analysis/counted_steps.h"
#include "analysis/idle_summary.h"
#include "analysis/kernel_summary.h"
#include "analysis/memory_summary.h"
#include "analysis/step_counts.h"
#include "unit/analysis/made_trace.h"

using namespace ws;
using namespace ws::made;

namespace {

struct Made {
  explicit Made(TraceBuilder b)
      : trace(b.seal()), labels(label_ops(trace, classes())), host(trace, labels.ops) {}
  Timeline timeline(Interval window) const {
    return build_timeline(trace, labels.ops, host, DeviceId{0}, Constants{}, window);
  }
  Trace trace;
  Labels labels;
  HostStates host;
};

void call(Maker& m, TimeNs begin, TimeNs end, std::string_view name, int64_t tid = 1) {
  CallRow row;
  row.begin_ns = begin;
  row.end_ns = end;
  row.name = m.b.intern(name);
  row.thread = m.thread(tid);
  m.b.add(row, {});
}

const KernelRow* find(const std::vector<KernelRow>& rows, std::string_view part) {
  for (const KernelRow& row : rows)
    if (row.name.find(part) != std::string::npos) return &row;
  return nullptr;
}

}  // namespace

TEST_CASE("counted steps: steady, else complete, else all") {
  std::vector<Step> steps(4);
  for (Step& s : steps) s.complete = s.steady = true;
  steps[0].steady = false;
  steps[3].complete = false;
  CHECK(counted_steps(steps) == std::vector<size_t>{1, 2});
  for (Step& s : steps) s.steady = false;
  CHECK(counted_steps(steps) == std::vector<size_t>{0, 1, 2});
  for (Step& s : steps) s.complete = false;
  CHECK(counted_steps(steps) == std::vector<size_t>{0, 1, 2, 3});
}

TEST_CASE("quantile: nearest rank") {
  std::vector<TimeNs> v = {5, 1, 4, 2, 3};
  CHECK(quantile(v, 1, 2) == 3);
  CHECK(quantile(v, 99, 100) == 5);
  CHECK(quantile(v, 1, 10) == 1);
  v = {7, 9};
  CHECK(quantile(v, 1, 2) == 7);
  v.clear();
  CHECK(quantile(v, 1, 2) == 0);
}

TEST_CASE("kernels: counts where they begin, exact quantiles, largest first") {
  Maker m;
  for (TimeNs i = 0; i < 100; ++i) m.op(i * 1000, i * 1000 + 10, i * 1000 + 11 + i, kGemm);
  m.op(200'000, 200'010, 200'500, kAdd);
  m.op(300'000, 300'010, 999'000, kAdam);  // begins after the window
  m.op(199'000, 200'600, 200'700, "mystery");
  const Made t(std::move(m.b));
  const Interval window{0, 250'000};
  const auto rows = summarize_kernels(t.trace, t.labels.ops, DeviceId{0}, {&window, 1});
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].cls == "gemm");
  CHECK(rows[0].count == 100);
  CHECK(rows[0].total_ns == 5050);
  CHECK(rows[0].p50_ns == 50);
  CHECK(rows[0].p99_ns == 99);
  CHECK(rows[1].total_ns == 490);
  CHECK_FALSE(rows[1].unclassified);
  REQUIRE(find(rows, "mystery"));
  CHECK(find(rows, "mystery")->unclassified);
  CHECK(find(rows, "Adam") == nullptr);

  Notes notes;
  note_unclassified(rows, 10'001, notes);  // 100 of it is just not over 1 %
  CHECK(notes.count(NoteCode::unclassified_kernels) == 0);
  note_unclassified(rows, 9'999, notes);
  REQUIRE(notes.count(NoteCode::unclassified_kernels) == 1);
  CHECK(notes.all()[0].detail.find("mystery (1.0 %)") == 0);
}

TEST_CASE("kernels: beyond the limit of names the rest is one row per class") {
  Maker m;
  const int64_t names = static_cast<int64_t>(kKernelRows) + 50;
  for (int64_t i = 0; i < names; ++i)
    m.op(i * 100, i * 100 + 10, i * 100 + 12 + (i < 1000 ? 10 : 0), "odd_" + std::to_string(i));
  const Made t(std::move(m.b));
  const Interval window{0, names * 100};
  const auto rows = summarize_kernels(t.trace, t.labels.ops, DeviceId{0}, {&window, 1});
  CHECK(rows.size() == kKernelRows + 1);
  const KernelRow* rest = find(rows, "other names");
  REQUIRE(rest);
  CHECK(rest->name == "(50 other names)");
  CHECK(rest->count == 50);
  CHECK(rest->total_ns == 100);
  CHECK(rest->p50_ns == 2);
  int64_t count = 0;
  for (const KernelRow& row : rows) count += row.count;
  CHECK(count == names);
}

TEST_CASE("collectives: exposed as charged, hidden under compute, counted where they begin") {
  Maker m;
  const uint32_t reduce =
      m.collective("allreduce", "0", "DATA_PARALLEL_GROUP", 512, 512, "BFloat16", "0,1", 2);
  const auto all_reduce = [&](TimeNs begin, TimeNs end) {
    m.op(begin - 50, begin, end, kAllReduce, 1, 20, 0, OpKind::kernel, kNoRow, reduce);
  };
  m.op(0, 100, 1'000, kGemm);
  all_reduce(600, 1'500);    // 400 hidden, 500 exposed
  all_reduce(1'900, 2'300);  // 100 before the window's end at 2000
  m.op(0, 2'300, 2'400, kGemm);
  const Made t(std::move(m.b));
  const Interval window{100, 2'000};
  const auto s =
      summarize_communication(t.trace, t.labels, DeviceId{0}, t.timeline({0, 3'000}), {&window, 1});
  REQUIRE(s.rows.size() == 1);
  const CollectiveRow& row = s.rows[0];
  CHECK(row.kind == CommKind::dp);
  CHECK(row.op == CollectiveOp::all_reduce);
  CHECK(row.bytes == 1024);
  CHECK(row.count == 2);
  CHECK(row.total_ns == 900 + 400);
  CHECK(row.min_ns == 400);
  CHECK(row.unsplit_ns == 500 + 100);
  CHECK(row.hidden_ns == 400);
  CHECK(s.comm.total_ns == 900 + 100);
  CHECK(s.comm.hidden_ns == 400);
  CHECK(s.by_kind[static_cast<size_t>(CommKind::dp)].total_ns == 1000);
  CHECK(s.by_kind[static_cast<size_t>(CommKind::ep)].total_ns == 0);
  CHECK(s.copies.total_ns == 0);
}

TEST_CASE(
    "collectives: on random streams the unions agree with overlap_of, the parts with the leaves") {
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    Maker m;
    for (int i = 0; i < 30; ++i) {
      const TimeNs begin = static_cast<TimeNs>(random() % 900);
      const TimeNs end = begin + 1 + static_cast<TimeNs>(random() % 80);
      const int what = static_cast<int>(random() % 4);
      if (what < 2)
        m.op(0, begin, end, what == 0 ? kGemm : kAdd, 1, 7);
      else if (what == 2)
        m.op(0, begin, end, kAllReduce, 1, 20 + static_cast<int64_t>(random() % 2));
      else
        m.op(0, begin, end, "Memcpy", 1, 30, 0, OpKind::h2d, m.b.add_copy({100, false}));
    }
    const Made t(std::move(m.b));
    const std::vector<Interval> windows = {{100, 300}, {300, 450}, {500, 700}};
    const Timeline timeline = t.timeline({0, 1'000});
    const auto s = summarize_communication(t.trace, t.labels, DeviceId{0}, timeline, windows);
    Overlap comm, copies;
    for (const Interval& window : windows) {
      const Overlap c = overlap_of(t.trace, t.labels.ops, DeviceId{0}, window, true);
      const Overlap m2 = overlap_of(t.trace, t.labels.ops, DeviceId{0}, window, false);
      comm.total_ns += c.total_ns;
      comm.hidden_ns += c.hidden_ns;
      copies.total_ns += m2.total_ns;
      copies.hidden_ns += m2.hidden_ns;
    }
    INFO("round " << round);
    CHECK(s.comm.total_ns == comm.total_ns);
    CHECK(s.comm.hidden_ns == comm.hidden_ns);
    CHECK(s.copies.total_ns == copies.total_ns);
    CHECK(s.copies.hidden_ns == copies.hidden_ns);
    TimeNs charged = 0, leaves = 0;
    for (const CollectiveRow& row : s.rows) charged += row.unsplit_ns;
    for (const Breakdown& p : partition(timeline, windows))
      leaves += p[Leaf::comm_other_unsplit] + p[Leaf::comm_dp_unsplit] + p[Leaf::comm_tp_unsplit] +
                p[Leaf::comm_ep_unsplit] + p[Leaf::comm_pp_unsplit] + p[Leaf::comm_cp_unsplit];
    CHECK(charged == leaves);
  }
}

TEST_CASE("collectives: payloads that all differ are folded") {
  Maker m;
  for (int64_t i = 0; i < static_cast<int64_t>(kCollectiveRows) + 20; ++i) {
    const uint32_t info =
        m.collective("all_to_all", "1", "EXPERT_MODEL_PARALLEL_GROUP", 100 + i, 100 + i);
    m.op(i * 100, i * 100 + 10, i * 100 + 60, kSendRecv, 1, 20, 0, OpKind::kernel, kNoRow, info);
  }
  const Made t(std::move(m.b));
  const Interval window{0, 100'000};
  const auto s =
      summarize_communication(t.trace, t.labels, DeviceId{0}, t.timeline(window), {&window, 1});
  REQUIRE(s.rows.size() == 1);
  CHECK(s.rows[0].bytes == -1);
  CHECK(s.rows[0].count == static_cast<int64_t>(kCollectiveRows) + 20);
  CHECK(s.rows[0].min_ns == 50);
}

TEST_CASE("idle: a row per leaf, the longest stretch with its neighbours") {
  Maker m;
  m.op(0, 100, 1'000, kGemm);
  m.op(5'000, 10'000, 20'000, kAdd);
  m.op(6'000, 20'500, 30'000, kAdam);
  const Made t(std::move(m.b));
  const Interval window{100, 30'000};
  const auto rows = summarize_idle(t.trace, t.timeline({0, 30'000}), {&window, 1});
  CHECK(rows.size() == kLeafCount - static_cast<size_t>(Leaf::idle_launch));
  TimeNs idle = 0;
  for (const IdleRow& row : rows) idle += row.ns;
  CHECK(idle == 9'000 + 500);
  const IdleRow& launch = rows[0];
  CHECK(launch.leaf == Leaf::idle_launch);
  CHECK(launch.ns == 5'000);
  CHECK(launch.largest == Interval{5'000, 10'000});
  CHECK(launch.before == kGemm);
  CHECK(launch.after == kAdd);
}

TEST_CASE("copies: bytes and busy time by direction and host memory, large ones apart") {
  Maker m;
  const auto copy = [&](TimeNs begin, TimeNs end, OpKind kind, const Copy& what, int64_t stream) {
    m.op(begin - 5, begin, end, "Memcpy", 1, stream, 0, kind, m.b.add_copy(what));
  };
  constexpr int64_t kMiB = int64_t{1} << 20;
  m.op(0, 10, 20, kGemm);
  copy(1'000, 3'000, OpKind::h2d, {2 * kMiB, false, true}, 8);
  copy(2'000, 4'000, OpKind::h2d, {2 * kMiB, false, true}, 9);  // beside it: 3 us are busy
  copy(2'500, 2'600, OpKind::h2d, {64, false, true}, 10);       // small, inside both
  copy(5'000, 6'000, OpKind::h2d, {kMiB, true, false}, 8);
  copy(7'000, 7'500, OpKind::d2h, {100, false, false}, 8);  // memory not told
  copy(8'000, 8'400, OpKind::p2p, {4'000, false, false}, 8);
  copy(9'000, 9'100, OpKind::d2d, {4'000, false, false}, 8);  // inside the device: no link
  copy(30'000, 31'000, OpKind::h2d, {kMiB, false, true}, 8);  // in no window
  const Made t(std::move(m.b));
  const std::vector<Interval> windows = {{0, 10'000}, {10'000, 20'000}};
  const MemoryRow row = summarize_memory(t.trace, t.labels.ops, DeviceId{0}, windows, {});
  const auto of = [&](CopyWay way) { return row.copies[static_cast<size_t>(way)]; };
  CHECK(of(CopyWay::h2d_pinned) == CopyTotals{2 * kMiB + 32, 2 * kMiB, 1'500, 1'500});
  CHECK(of(CopyWay::h2d_pageable) == CopyTotals{kMiB / 2, kMiB / 2, 500, 500});
  CHECK(of(CopyWay::h2d_untold) == CopyTotals{});
  CHECK(of(CopyWay::d2h_untold) == CopyTotals{50, 0, 250, 0});
  CHECK(of(CopyWay::d2h_pinned) == CopyTotals{});
  CHECK(of(CopyWay::peer) == CopyTotals{2'000, 0, 200, 0});
}

TEST_CASE("pauses: the longest single host gap of each window") {
  Maker m;
  m.op(0, 100, 1'000, kGemm);
  m.op(2'000'000, 2'005'000, 2'006'000, kGemm);
  m.op(2'050'000, 2'055'000, 2'056'000, kGemm);
  const Made t(std::move(m.b));
  const std::vector<Interval> windows = {{0, 2'006'000}, {2'006'000, 2'056'000}};
  const auto gaps = longest_host_gaps(t.timeline({0, 2'056'000}), windows);
  CHECK(gaps[0] == 2'000'000 - 1'000);
  CHECK(gaps[1] == 44'000);
}

TEST_CASE("counts per step: launches by what they launched, syncs without copies, scalar reads") {
  Maker m;
  for (TimeNs i = 0; i < 10; ++i) m.op(i * 1'000, i * 1'000 + 300, i * 1'000 + 700, kGemm);
  m.copy(10'000, OpKind::d2h, 8);
  m.copy(11'000, OpKind::h2d, 1 << 20, true);
  call(m, 12'000, 13'000, "cudaStreamSynchronize");
  call(m, 12'100, 12'900, "cuStreamSynchronize");  // inside it: the same wait
  call(m, 14'000, 14'500, "cudaMalloc");
  call(m, 19'500, 21'000, "cudaDeviceSynchronize");  // half of it in the window
  const Made t(std::move(m.b));
  const std::vector<Interval> windows = {{0, 10'000}, {10'000, 20'000}};
  const StepCounts c = count_steps(t.trace, t.labels.ops, t.host, DeviceId{0}, windows);
  CHECK(c.kernels == 5);
  CHECK(c.launches == 5);
  CHECK(c.graph_launches == 0);
  CHECK(c.copies == 1);
  CHECK(c.small_d2h == 0.5);
  CHECK(c.pageable_copies == 0.5);
  CHECK(c.syncs == 1);
  CHECK(c.alloc_calls == 0.5);
  CHECK(c.api_calls == 7.5);
  CHECK(c.sync_host_ns == 750);
  CHECK(c.mean_kernel_ns == 400);
  CHECK(c.launch_spacing_ns == 1'000);
  CHECK(c.run_ahead_p10_ns == 300);
}

TEST_CASE(
    "counts per step: a scalar is at most 64 bytes, and a thread without work is everybody's") {
  Maker m;
  m.op(0, 300, 700, kGemm);
  m.copy(1'000, OpKind::d2h, 64);
  m.copy(2'000, OpKind::d2h, 65);
  call(m, 3'000, 4'000, "cudaDeviceSynchronize", 2);  // launches nothing anywhere
  const Made t(std::move(m.b));
  const Interval window{0, 10'000};
  const StepCounts c = count_steps(t.trace, t.labels.ops, t.host, DeviceId{0}, {&window, 1});
  CHECK(c.small_d2h == 1);
  CHECK(c.syncs == 1);
  CHECK(c.api_calls == 4);
}

TEST_CASE("kernels: equal totals stand by name, and unknown ones count from above 1 percent") {
  Maker m;
  m.op(0, 10, 110, "zebra");
  m.op(200, 210, 310, "apple");
  m.op(400, 410, 511, "mystery");
  const Made t(std::move(m.b));
  const Interval window{0, 10'000};
  const auto rows = summarize_kernels(t.trace, t.labels.ops, DeviceId{0}, {&window, 1});
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].name == "mystery");
  CHECK(rows[1].name == "apple");
  CHECK(rows[2].name == "zebra");
  Notes notes;
  note_unclassified(rows, window.length(), notes);  // 1.01 % and twice exactly 1 %
  CHECK(notes.count(NoteCode::unclassified_kernels) == 1);
}

TEST_CASE("host markers: mean length of the ranges that name the steps") {
  Maker m;
  m.op(0, 100, 1'000, kGemm);
  m.range(0, 300, "ProfilerStep#1");
  m.range(300, 800, "ProfilerStep#2");
  m.range(900, 5'000, "ProfilerStep#3");
  m.range(0, 4'000, "ProfilerStep#1", 1, RangeSource::gpu_annotation);
  const Trace trace = m.b.seal();
  std::vector<Step> steps(3);
  for (size_t i = 0; i < 3; ++i) steps[i].name = "ProfilerStep#" + std::to_string(i + 1);
  CHECK(host_marker_length(trace, steps, {0, 1}) == 400);
  CHECK(host_marker_length(trace, steps, {}) == 0);
}

TEST_CASE("memory: bytes and times per step, peaks over the recording") {
  Maker m;
  m.copy(0, OpKind::h2d, 1000, true);
  m.copy(100, OpKind::h2d, 500);
  m.copy(200, OpKind::d2h, 300);
  m.copy(900, OpKind::h2d, 7777);  // after the windows
  m.b.trace.memory.push_back({950, DeviceId{0}, 100, 4000, 6000});
  m.b.trace.memory.push_back({960, DeviceId{0}, -100, 3900, 6000});
  m.b.trace.memory.push_back({970, DeviceId{1}, 100, 9000, 9000});  // of another device
  const Made t(std::move(m.b));
  const std::vector<Interval> windows = {{0, 250}, {250, 500}};
  const std::vector<TimeNs> offload = {30, 10};
  const MemoryRow row = summarize_memory(t.trace, t.labels.ops, DeviceId{0}, windows, offload);
  CHECK(row.h2d_bytes == 750);
  CHECK(row.d2h_bytes == 150);
  CHECK(row.pageable_bytes == 500);
  CHECK(row.pageable_ns == 5);
  CHECK(row.h2d_ns == 10);
  CHECK(row.offload_idle_ns == 20);
  CHECK(row.peak_allocated_bytes == 4000);
  CHECK(row.peak_reserved_bytes == 6000);
}
