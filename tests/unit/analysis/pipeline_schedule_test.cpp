// Stages, micro-batches, and what half a bubble costs.
#include "analysis/pipeline_schedule.h"

#include "support/catch.h"
#include "unit/analysis/made_replay.h"

using namespace ws;
using namespace ws::test;

TEST_CASE("stages and micro-batches of a pipeline") {
  ScenarioInput in;
  for (uint32_t i = 0; i < 4; ++i)
    in.ops.push_back(op(i, TimeNs{10000} * i, 10000 * i + 5000, 20, "comm", "pp", false));
  Built b = build({in, in});
  for (size_t r = 0; r < 2; ++r) {
    b.ranks[r].host_steps = {{0, 1000000}};
    for (size_t i = 0; i < 4; ++i)
      b.ranks[r].ops[i].coll = (i < 2) == (r == 0) ? CollectiveOp::send : CollectiveOp::recv;
  }
  const auto schedule = pipeline_schedule(b.graph());
  REQUIRE(schedule);
  CHECK(schedule->stages == 2);
  CHECK(schedule->micro_batches == 2);
  CHECK(schedule->ideal_bubble() == Approx(0.5));
  CHECK_FALSE(pipeline_schedule(build({in}).graph()));
}

TEST_CASE("what twice the micro-batches or chunks cost besides") {
  ScenarioInput in;
  const auto transfer = [](uint32_t id, TimeNs at) {
    return op(id, at, at + 5000, 20, "comm", "pp", false);
  };
  const auto gemm = [](uint32_t id, TimeNs at) {
    return op(id, at, at + 2000, 7, "gemm", "other", false);
  };
  in.ops = {transfer(0, 0), transfer(1, 10000), gemm(2, 20000),
            gemm(3, 23000), transfer(4, 30000), transfer(5, 40000)};
  in.calls = {call(0, 1000), call(3000, 4000), call(4000, 90000, {}, 1, "cudaStreamSynchronize")};
  Built b = build({in, in});
  for (ReplayRank& rank : b.ranks) {
    rank.host_steps = {{0, 1000000}};
    for (ReplayOp& o : rank.ops)
      if (o.cls == OpClass::comm) o.bytes = 1 << 20;
  }
  const auto schedule = pipeline_schedule(b.graph());
  REQUIRE(schedule);
  CHECK(schedule->micro_batches == 2);
  CHECK(schedule->transfer_ns == 5000);
  CHECK(schedule->pass_ns == 1000);  // 4 us of compute, two passes of two micro-batches
  CHECK(schedule->chunked_ns() == 16000);
  // A gap between kernels, and half of the shortest transfer as latency, half of it at either end.
  CHECK(schedule->repeated_ns == 1000 + 4 * 1250);
  CHECK(schedule->host_ns == 4000);
}

TEST_CASE("half a bubble at the least is what fills and drains, less what either way costs") {
  PipelineSchedule s;
  s.stages = 3, s.micro_batches = 8;
  const LossNs bubble{300, 400};
  CHECK(least_of_half({}, bubble, 800, 1000) == Approx(0.15));
  CHECK(least_of_half(s, bubble, 800, 1000) == Approx(0.1));  // (3 - 1) / 8 of 800
  s.repeated_ns = 20;
  CHECK(least_of_half(s, bubble, 800, 1000) == Approx(0.08));
  s.transfer_ns = 12, s.pass_ns = 10;  // 16 more hand-overs
  CHECK(least_of_half(s, bubble, 800, 1000) == Approx(0.068));
  s.host_ns = 480;
  CHECK(least_of_half(s, bubble, 800, 1000) == Approx(0.04));
}
