// Shapes that punish a scan per gap or per active op. Each is far beyond real recordings; the bound
// is generous for an n log n program and hopeless for a quadratic one.
#include <chrono>

#include "analysis/partition.h"
#include "model/trace_builder.h"
#include "support/catch.h"

using namespace ws;

namespace {

constexpr int64_t kMany = 100'000;
constexpr double kSeconds = 10;  // debug and sanitizer builds included

struct Hostile {
  TraceBuilder b;
  OpLabels labels;

  void op(TimeNs s, TimeNs e, OpClass cls, uint32_t correlation = kNoCorrelation,
          int32_t device = 0) {
    OpRow r;
    r.begin_ns = s, r.end_ns = e, r.correlation = correlation;
    r.stream = b.stream(b.process(1), b.device(device), 0, 7);
    b.add(r, {});
    labels.cls.push_back(cls);
    labels.kind.push_back(CommKind::dp);
    labels.coll.push_back(CollectiveOp::unknown);
    labels.flags.push_back(0);
    labels.communicator.push_back(kNoRow);
  }
  void call(TimeNs s, TimeNs e, const char* name, int64_t tid = 1,
            uint32_t correlation = kNoCorrelation) {
    b.add(CallRow{s, e, b.intern(name), b.thread(b.process(1), tid), correlation}, {});
  }
  void range(TimeNs s, TimeNs e, const char* name, int64_t tid, RangeSource source) {
    b.add(RangeRow{s, e, b.intern(name), b.thread(b.process(1), tid), source, kNoRow, -1}, {});
  }
  void launched(TimeNs s, TimeNs e, uint32_t correlation, int64_t tid = 1) {
    op(s, e, OpClass::gemm, correlation);
    call(s - 4, s - 2, "cudaLaunchKernel", tid, correlation);
  }
  // Partitions every device and returns the breakdown of the first.
  Breakdown run() {
    const Trace t = b.seal({.clip_outlasting = false, .drop_duplicates = false});
    const auto begin = std::chrono::steady_clock::now();
    const HostStates host(t, labels);
    Breakdown first;
    for (size_t d = 0; d < t.devices.size(); ++d) {
      const auto device = static_cast<DeviceId>(d);
      const Constants c = calibrate(t, labels, host, device);
      const Interval window = t.capture;
      const Timeline timeline = build_timeline(t, labels, host, device, c, window);
      const auto parts = partition(timeline, std::span<const Interval>(&window, 1));
      if (d == 0) first = parts.front();
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    CHECK(took.count() < kSeconds);
    return first;
  }
};

}  // namespace

TEST_CASE("100,000 ops that all overlap") {
  for (const OpClass cls : {OpClass::gemm, OpClass::comm, OpClass::h2d}) {
    Hostile h;
    for (int64_t i = 0; i < kMany; ++i) h.op(i, 2 * kMany - i, cls);
    const Breakdown b = h.run();
    CHECK(b.total() == 2 * kMany);
    CHECK(b[Leaf::idle_unknown] == 0);
  }
}

TEST_CASE("100,000 communications with one end, released by one compute op") {
  Hostile h;
  for (int64_t i = 0; i < kMany; ++i) h.op(i, kMany + 10, OpClass::comm);
  h.op(kMany + 11, kMany + 20, OpClass::gemm);
  CHECK(h.run()[Leaf::comm_dp_unsplit] == kMany + 10);
}

TEST_CASE("100,000 pairs of equal ends, each released by a compute op") {
  Hostile h;
  for (int64_t i = 0; i < kMany; ++i) {
    h.op(100 * i, 100 * i + 50, OpClass::comm);
    h.op(100 * i + 10, 100 * i + 50, OpClass::h2d);
    h.op(100 * i + 60, 100 * i + 90, OpClass::gemm);
  }
  CHECK(h.run()[Leaf::comm_dp_unsplit] == 50 * kMany);
}

TEST_CASE("host ranges over the whole trace, nested 100,000 deep, with a gap each") {
  Hostile h;
  for (int64_t i = 0; i < kMany; ++i) {
    h.launched(10 * kMany + 20 * i, 10 * kMany + 20 * i + 10, static_cast<uint32_t>(i));
    h.range(1 + i, 100 * kMany - i, "get_batch", 1, RangeSource::nvtx);
  }
  CHECK(h.run()[Leaf::idle_dataload] > 5 * kMany);
}

TEST_CASE("100,000 calls that cross each other and 100,000 gaps") {
  Hostile h;
  for (int64_t i = 0; i < kMany; ++i) {
    h.launched(1000 + 20 * i, 1000 + 20 * i + 10, static_cast<uint32_t>(i));
    h.call(20 * i, 1000 + 20 * kMany + i, i % 2 ? "cudaStreamSynchronize" : "cudaEventRecord");
  }
  CHECK(h.run()[Leaf::idle_sync] > 0);
}

TEST_CASE("overhead rows for many threads are not copied to each of them") {
  Hostile h;
  for (int64_t i = 0; i < kMany; ++i) {
    h.launched(1000 + 40 * i, 1000 + 40 * i + 10, static_cast<uint32_t>(i), 1 + i);
    h.range(1010 + 40 * i, 1012 + 40 * i, "Buffer Flush", -1, RangeSource::overhead);
  }
  CHECK(h.run()[Leaf::idle_profiler] == 2 * (kMany - 1) + 2);
}

TEST_CASE("100,000 devices with one op each") {
  Hostile h;
  for (int64_t i = 0; i < kMany; ++i)
    h.op(10 * i, 10 * i + 5, OpClass::gemm, kNoCorrelation, static_cast<int32_t>(i));
  CHECK(h.run()[Leaf::gemm] == 5);
}

TEST_CASE("the longest times there are") {
  Hostile h;
  h.op(-kMaxTime, -kMaxTime + 1, OpClass::gemm, 1);
  h.call(-kMaxTime, kMaxTime, "cudaLaunchKernel", 1, 1);
  h.op(kMaxTime - 1, kMaxTime, OpClass::comm, 2);
  h.call(-kMaxTime, kMaxTime - 1, "cudaStreamSynchronize", 1, 2);
  const Breakdown b = h.run();
  CHECK(b.total() == 2 * kMaxTime);
  CHECK(b[Leaf::idle_sync] == 2 * kMaxTime - 2);
}
