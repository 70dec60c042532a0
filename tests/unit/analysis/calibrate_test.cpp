#include "support/catch.h"
#include "support/scenario_trace.h"

using namespace ws;
using namespace ws::test;

namespace {

// count launches that each find the device empty and start after lag_ns.
ScenarioInput empty_queue(int64_t count, TimeNs lag_ns) {
  ScenarioInput in;
  for (int64_t i = 0; i < count; ++i) {
    const TimeNs at = 1000 + 100'000 * i;
    ScenarioOp o;
    o.id = i, o.s = at + lag_ns, o.e = o.s + 5000, o.cls = "gemm";
    o.corr = static_cast<uint32_t>(i);
    in.ops.push_back(o);
    in.calls.push_back({1, 0, at, at + 1000, "cudaLaunchKernel", o.corr});
  }
  return in;
}

// count kernels queued far ahead, gap_ns apart.
ScenarioInput full_queue(int64_t count, TimeNs gap_ns) {
  ScenarioInput in;
  for (int64_t i = 0; i < count; ++i) {
    ScenarioOp o;
    o.id = i, o.s = 1'000'000 + (10'000 + gap_ns) * i, o.e = o.s + 10'000, o.cls = "gemm";
    o.corr = static_cast<uint32_t>(i);
    in.ops.push_back(o);
    in.calls.push_back({1, 0, 1 + i, 2 + i, "cudaLaunchKernel", o.corr});
  }
  return in;
}

Constants measured(const ScenarioInput& in, TimeNs tick_ns = 1) {
  const ScenarioTrace t(in, 0, tick_ns);
  const HostStates host(t.trace, t.labels);
  return calibrate(t.trace, t.labels, host, t.device(0));
}

}  // namespace

TEST_CASE("launch latency is measured from 20 samples on, and clamped") {
  CHECK(measured(empty_queue(21, 7300)).launch_latency_ns == 7300);
  CHECK(measured(empty_queue(21, 7300)).launch_latency_measured);
  CHECK(measured(empty_queue(20, 7300)).launch_latency_ns ==
        5000);  // the first finds nothing before
  CHECK_FALSE(measured(empty_queue(20, 7300)).launch_latency_measured);
  CHECK(measured(empty_queue(30, 900)).launch_latency_ns == 2000);
  CHECK(measured(empty_queue(30, 45'000)).launch_latency_ns == 20'000);
}

TEST_CASE("kernel gap is measured from queued launches, and clamped") {
  CHECK(measured(full_queue(21, 1400)).kernel_gap_ns == 1400);
  CHECK(measured(full_queue(21, 1400)).kernel_gap_measured);
  CHECK(measured(full_queue(20, 1400)).kernel_gap_ns == 2000);
  CHECK(measured(full_queue(40, 300)).kernel_gap_ns == 1000);
  CHECK(measured(full_queue(40, 60'000)).kernel_gap_ns == 5000);
  CHECK_FALSE(measured(empty_queue(40, 7300)).kernel_gap_measured);
}

TEST_CASE("the median of the latencies and the ninth tenth of the gaps are taken") {
  ScenarioInput latencies = empty_queue(41, 0);  // 40 samples
  ScenarioInput gaps = full_queue(41, 0);
  for (size_t i = 0; i < 41; ++i) {
    latencies.ops[i].s += 3000 + 100 * static_cast<TimeNs>(i);
    latencies.ops[i].e = latencies.ops[i].s + 5000;
    const TimeNs later = 1000 + 10 * static_cast<TimeNs>(i);  // gaps 1010, 1020 ... 1400
    gaps.ops[i].s = (i == 0 ? 1'000'000 : gaps.ops[i - 1].e) + later;
    gaps.ops[i].e = gaps.ops[i].s + 10'000;
  }
  CHECK(measured(latencies).launch_latency_ns == 3000 + 100 * 21);
  CHECK(measured(gaps).kernel_gap_ns == 1000 + 10 * 37);
}

TEST_CASE("a launch in the very moment the device falls idle found it empty") {
  ScenarioInput in = empty_queue(21, 7300);
  for (size_t i = 1; i < in.calls.size(); ++i) {
    in.calls[i].s = in.ops[i - 1].e;
    in.calls[i].e = in.calls[i].s + 500;
    in.ops[i].s = in.calls[i].s + 7300;
    in.ops[i].e = in.ops[i].s + 5000;
  }
  CHECK(measured(in).launch_latency_ns == 7300);
  for (ScenarioCall& c : in.calls) c.s -= 1;
  CHECK_FALSE(measured(in).launch_latency_measured);
}

TEST_CASE("a gap counts only where no other stream ran into it") {
  ScenarioInput in = full_queue(40, 1400);
  for (int64_t i = 0; i < 40; ++i) {
    ScenarioOp other = in.ops[static_cast<size_t>(i)];
    other.id = 100 + i, other.stream = 20, other.corr.reset();
    other.s = other.e - 100, other.e += 50;
    in.ops.push_back(other);
  }
  CHECK_FALSE(measured(in).kernel_gap_measured);
}

TEST_CASE("microsecond files get wider constants") {
  const Constants c = measured(full_queue(40, 1400), 1000);
  CHECK(c.kernel_gap_ns == 2400);
  CHECK(c.straddle_eps_ns == 2000);
  CHECK(measured({}, 1000).kernel_gap_ns == 3000);
  CHECK(measured({}).straddle_eps_ns == 1000);
}
