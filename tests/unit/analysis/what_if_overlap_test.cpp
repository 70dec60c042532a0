// What overlapping the traffic of data parallelism leaves exposed.
#include "support/catch.h"
#include "unit/analysis/made_replay.h"

using namespace ws;
using namespace ws::test;

namespace {

// A step: forward on thread 1, four layers of backward on thread 2 (100 us), then the traffic, then
// the optimizer. Host far ahead; every op waits for the one before it.
ScenarioInput step_with(const std::vector<ScenarioOp>& traffic) {
  ScenarioInput in;
  TimeNs t = 10000, host = 0;
  uint32_t id = 0;
  const auto add = [&](ScenarioOp o, TimeNs length, int64_t tid) {
    o.id = id++, o.corr = static_cast<uint32_t>(o.id), o.s = t, o.e = t = t + length;
    in.ops.push_back(o);
    in.calls.push_back(call(host, host + 100, o.corr, tid));
    host += 200;
  };
  const ScenarioOp gemm = op(0, 0, 0);
  add(gemm, 50000, 1);
  for (int layer = 0; layer < 4; ++layer) add(gemm, 25000, 2);
  for (const ScenarioOp& o : traffic) add(o, o.e - o.s, 1);
  add(gemm, 10000, 1);
  return in;
}
ScenarioOp dp(TimeNs length) { return op(0, 0, length, 20, "comm", "dp"); }

// What overlap leaves of 160 us of compute and the traffic; ranks alike.
TimeNs overlapped(Built b, bool keep) {
  for (ReplayRank& rank : b.ranks) {
    rank.host_steps = {{0, 1000000}};
    for (uint32_t i = 1; i < rank.ops.size(); ++i) rank.waits.push_back({i - 1, i});
  }
  const ReplayGraph g = b.graph();
  // Without residuals the first op starts 5 us after its launch; a kernel gap of 1 us shows where
  // an exchange hid.
  const TimeNs first = keep ? 10000 : 5000;
  return price(g, keep, [&](Scenario& s) { change::dp_overlapped(g, keep, s); }) - 160000 - first;
}

}  // namespace

TEST_CASE("of overlapped gradients the last bucket stays, or what the backward pass can not hide") {
  const ScenarioInput in = step_with({dp(40000)});
  CHECK(overlapped(build({in, in}), true) == 10000 + 3000);  // one of four layers, a tenth of three
  CHECK(overlapped(build({in, in}), false) == 1000);
  const ScenarioInput longer = step_with({dp(200000)});
  CHECK(overlapped(build({longer, longer}), true) == 200000 - 75000 + 7500);
  CHECK(overlapped(build({longer, longer}), false) == 200000 - 100000);
  const ScenarioInput buckets = step_with({dp(5000), dp(35000)});
  CHECK(overlapped(build({buckets, buckets}), true) == 10000 + 3000);
  // Alone it may all be waiting, which overlap does not end.
  CHECK(overlapped(build({in}), true) == 40000);
  CHECK(overlapped(build({in}), false) == 1000);
}

TEST_CASE(
    "gradient buckets are not smaller than frameworks make them, and norms are no gradients") {
  const ScenarioInput in = step_with({dp(40000), dp(2000)});
  Built b = build({in, in});
  for (ReplayRank& rank : b.ranks) {
    rank.ops[5].bytes = 50 << 20;  // two buckets
    rank.ops[6].bytes = 4;
  }
  CHECK(overlapped(b, true) == 20000 + 2000 + 2000);
}

TEST_CASE("a bucket that hides already gives nothing, the last one stays as far as it must") {
  ScenarioInput in = step_with({dp(20000)});
  ScenarioOp hidden = dp(20000);  // beside the second layer of the backward pass
  hidden.id = 20, hidden.corr = 20, hidden.s = 85000, hidden.e = 105000;
  in.ops.push_back(hidden);
  in.calls.insert(in.calls.begin() + 3, call(520, 550, 20, 2));
  Built b = build({in, in});
  for (ReplayRank& rank : b.ranks) {
    rank.host_steps = {{0, 1000000}};
    std::vector<uint32_t> chain;  // all but the hidden one
    for (uint32_t i = 0; i < rank.ops.size(); ++i)
      if (rank.ops[i].begin_ns != 85000) chain.push_back(i);
    for (size_t i = 1; i < chain.size(); ++i) rank.waits.push_back({chain[i - 1], chain[i]});
  }
  const ReplayGraph g = b.graph();
  CHECK(baseline(g) == 190000);
  // 40 us of traffic in four buckets: 10 us and a tenth of the others.
  CHECK(price(g, true, [&](Scenario& s) { change::dp_overlapped(g, true, s); }) == 183000);
}

TEST_CASE("gradients of several micro-batches exist in the last backward pass") {
  ScenarioInput in = step_with({dp(200000)});
  in.calls[2].tid = 1;  // layers 2 to 4 of the backward pass: a forward pass, and two layers
  CHECK(overlapped(build({in, in}), false) == 200000 - 50000);
}

TEST_CASE("calls that drain the device keep gradients from overlapping") {
  ScenarioInput in = step_with({dp(40000)});
  in.calls.insert(in.calls.begin() + 3, call(520, 550, {}, 2, "cudaFree"));
  CHECK(overlapped(build({in, in}), true) == 40000);
  CHECK(overlapped(build({in, in}), false) == 1000);
}

TEST_CASE("parameters are gathered beside the forward pass but for the first layer's") {
  ScenarioInput in = step_with({dp(60000)});
  Built b = build({in, in});
  for (ReplayRank& rank : b.ranks) rank.ops[5].coll = CollectiveOp::all_gather;
  CHECK(overlapped(b, true) == 60000);  // one layer in the forward pass: nothing to hide behind
  CHECK(overlapped(b, false) == 10000);
}

TEST_CASE("where one thread launches everything, shares of the step stand for the passes") {
  ScenarioInput in = step_with({dp(400000)});
  for (ScenarioCall& c : in.calls) c.tid = 1;
  CHECK(overlapped(build({in, in}), false) == 400000 - 160000 * 2 / 3);
}
