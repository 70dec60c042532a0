// The dependency graph and its what-ifs: the checks of the reference, one by one; then exactness.
#include <map>
#include <random>

#include "support/catch.h"
#include "unit/analysis/made_replay.h"

using namespace ws;
using namespace ws::test;

TEST_CASE("communication that blocks is worth its time, hidden communication nothing") {
  ScenarioInput one;
  one.ops = {op(1, 5000, 15000), op(2, 15000, 25000, 20, "comm", "ep"), op(3, 25000, 40000)};
  one.calls = {call(0, 1000, 1), call(1000, 2000, 2), call(2000, 3000, 3)};
  Built b = build({one});
  b.ranks[0].waits = {{0, 1}, {1, 2}};
  const ReplayGraph g = b.graph();
  CHECK(baseline(g) == 40000);
  for (bool keep : {true, false}) {
    // op 3 follows op 1 on its stream after one typical gap (1 us)
    CHECK(price(g, keep, [&](Scenario& s) { change::comm_zero(g, change::kAllKinds, keep, s); }) ==
          31000);
    CHECK(price(g, keep, [&](Scenario& s) { change::network_faster(g, 2, keep, s); }) == 35000);
  }
  ScenarioInput hidden;
  hidden.ops = {op(1, 0, 40000, 7, "gemm", "other", false),
                op(2, 5000, 25000, 20, "comm", "dp", false)};
  const ReplayGraph h = build({hidden}).graph();
  CHECK(price(h, true, [&](Scenario& s) { change::comm_zero(h, change::kAllKinds, true, s); }) ==
        40000);
}

TEST_CASE("a launch-bound run without launches is as long as its kernels and gaps") {
  ScenarioInput in;
  for (uint32_t i = 0; i < 5; ++i) {
    in.ops.push_back(op(i, 20000 * i + 5000, 20000 * i + 8000, 7, "membound"));
    in.calls.push_back(call(TimeNs{20000} * i, 20000 * i + 4000, i));
  }
  const ReplayGraph g = build({in}).graph();
  CHECK(baseline(g) == 88000);
  for (bool keep : {true, false}) {
    CHECK(price(g, keep, [&](Scenario& s) { change::launch_zero(g, keep, s); }) == 19000);
  }
  // No queue showed its gaps: the 4 us of them may be 6.
  CHECK(g.assumes_gap());
  const WhatIf what_if(g, {});
  const auto gain = what_if.gain("launch_zero");
  REQUIRE(gain);
  CHECK(gain->hi_share - gain->lo_share == Approx(2.0 / 88).epsilon(0.1));
}

TEST_CASE("host work: data loading, long lags and what a call may cost") {
  ScenarioInput loader;
  loader.ops = {op(1, 5000, 15000), op(2, 65000, 75000)};
  loader.calls = {call(0, 1000, 1), call(60000, 61000, 2, 2)};
  ScenarioRange range;
  range.tid = 1, range.s = 2000, range.e = 58000, range.kind = "dataload";
  loader.ranges = {range};
  const ReplayGraph g = build({loader}).graph();
  CHECK(baseline(g) == 75000);
  for (bool keep : {true, false}) {
    CHECK(price(g, keep, [&](Scenario& s) { change::cover_zero(g, CoverKind::dataload, s); }) ==
          26000);
  }
  ScenarioInput long_work;
  long_work.ops = {op(1, 5000, 15000), op(2, 12005000, 12015000)};
  long_work.calls = {call(0, 1000, 1), call(12000000, 12001000, 2)};
  const ReplayGraph h = build({long_work}).graph();
  for (bool keep : {true, false}) {
    CHECK(price(h, keep, [&](Scenario& s) { change::launch_zero(h, keep, s); }) == 12009000);
  }
  ScenarioInput middling;
  middling.ops = {op(1, 5000, 15000), op(2, 406000, 416000)};
  middling.calls = {call(0, 1000, 1), call(401000, 402000, 2)};
  const ReplayGraph m = build({middling}).graph();
  CHECK(price(m, true, [&](Scenario& s) { change::launch_zero(m, true, s); }) == 310000);
  CHECK(price(m, false, [&](Scenario& s) { change::launch_zero(m, false, s); }) == 21000);
}

TEST_CASE("what is not computed again is not launched again") {
  ScenarioInput in;
  for (uint32_t i = 0; i < 4; ++i) {
    in.ops.push_back(op(i, 20000 * i + 5000, 20000 * i + 8000));
    in.ops.back().recompute = i == 1 || i == 2;
    in.calls.push_back(call(TimeNs{20000} * i, 20000 * i + 4000, i));
  }
  in.calls.push_back(call(30000, 31000, {}, 1, "cudaEventRecord"));
  std::sort(in.calls.begin(), in.calls.end(),
            [](const ScenarioCall& a, const ScenarioCall& b) { return a.s < b.s; });
  const ReplayGraph g = build({in}).graph();
  CHECK(baseline(g) == 68000);
  for (bool keep :
       {true, false})  // the last launch follows the first after 16 us, as it did before
    CHECK(price(g, keep, [&](Scenario& s) { change::recompute_zero(g, s); }) == 28000);
}

TEST_CASE("cudaFree works after it has waited, also where it found nothing to wait for") {
  ScenarioInput in;
  in.ops = {op(1, 5000, 50000), op(2, 75000, 79000)};
  in.calls = {call(0, 1000, 1), call(1000, 51000, {}, 1, "cudaStreamSynchronize"),
              call(51000, 70000, {}, 1, "cudaFree"), call(70000, 71000, 2)};
  const ReplayGraph g = build({in}).graph();
  CHECK(baseline(g) == 79000);
  for (bool keep : {true, false})
    CHECK(price(g, keep, [&](Scenario& s) { change::sync_zero(g, s); }) == 78000);
}

TEST_CASE("a removed sync leaves its order on the device, and the queue bounds the host") {
  ScenarioInput in;
  in.ops = {op(1, 5000, 30000, 20, "comm", "dp"), op(2, 36000, 46000)};
  in.calls = {call(0, 1000, 1), call(1000, 31000, {}, 1, "cudaDeviceSynchronize"),
              call(31000, 32000, 2)};
  const ReplayGraph g = build({in}).graph();
  CHECK(baseline(g) == 46000);
  for (bool keep : {true, false}) {
    CHECK(price(g, keep, [&](Scenario& s) { change::sync_zero(g, s); }) == 40000);
  }
  ScenarioInput queued;
  queued.ops = {op(1, 5000, 15000), op(2, 15000, 25000), op(3, 35000, 45000)};
  queued.calls = {call(0, 1000, 1), call(1000, 2000, 2),
                  call(2000, 26000, {}, 1, "cudaStreamSynchronize"), call(30000, 31000, 3)};
  GraphOptions shallow;
  shallow.queue_depth = 1;
  const ReplayGraph q = build({queued}).graph(shallow);
  CHECK(baseline(q) == 45000);
  CHECK(price(q, false, [&](Scenario& s) { change::sync_zero(q, s); }) == 36000);
}

TEST_CASE("a record and a wait before a launch tie it to compute") {
  ScenarioInput in;
  in.ops = {op(1, 5000, 25000), op(2, 26000, 30000, 20, "comm", "dp")};
  in.calls = {call(0, 1000, 1), call(1000, 1500, {}, 1, "cudaEventRecord"),
              call(1500, 2000, {}, 1, "cudaStreamWaitEvent"), call(2000, 3000, 2)};
  const ReplayGraph g = build({in}).graph();
  CHECK(g.inferred_edges() == 1);
  CHECK(baseline(g) == 30000);
  CHECK(price(g, true, [&](Scenario& s) { s.duration_ns[g.node_of_op(0, 0)] = 0; }) == 12000);
}

TEST_CASE("waiting for a late rank does not shrink with the network, fixing the rank ends it") {
  ScenarioInput early, late;
  early.ops = {op(1, 0, 10000, 7, "gemm", "other", false),
               op(2, 10000, 24000, 20, "comm", "dp", false)};
  late.ops = {op(1, 0, 20000, 7, "gemm", "other", false),
              op(2, 20000, 24000, 20, "comm", "dp", false)};
  Built b = build({early, late});
  b.ranks[0].waits = b.ranks[1].waits = {{0, 1}};
  const ReplayGraph g = b.graph();
  CHECK(baseline(g) == 24000);
  CHECK(price(g, true, [&](Scenario& s) { change::network_faster(g, 2, true, s); }) == 22000);
  CHECK(price(g, true, [&](Scenario& s) {
          change::straggler_fixed(g, peer_times(g, {1}), true, s);
        }) == 14000);
  WhatIf what_if(g, {{1}});
  CHECK(what_if.unexplained_share() == Approx(0).margin(1e-9));
  const auto both = what_if.gain("straggler_fixed+dp_zero");
  const auto one = what_if.gain("straggler_fixed");
  REQUIRE(both);
  REQUIRE(one);
  CHECK(both->lo_share > one->lo_share);
  CHECK_FALSE(what_if.gain("no_such_change"));
  CHECK_FALSE(what_if.gain("ep_zero"));
}

namespace {

// Twenty kernels of 100 us, of this rank longer by `more` ns, and the peers' rank.
TimeNs gain_of_fixing(const std::function<TimeNs(uint32_t)>& more, bool keep) {
  std::vector<ScenarioInput> inputs(2);
  for (uint32_t r = 0; r < 2; ++r) {
    TimeNs t = 0;
    for (uint32_t i = 0; i < 20; ++i) {
      const TimeNs length = 100000 + (r == 1 ? more(i) : 0);
      inputs[r].ops.push_back(op(i, t, t + length, 7, "gemm", "other", false));
      t += length;
    }
  }
  const ReplayGraph g = build(inputs).graph();
  const std::vector<PeerTime> peers = peer_times(g, {1});
  REQUIRE(peers.size() == 20);
  return baseline(g) -
         price(g, keep, [&](Scenario& s) { change::straggler_fixed(g, peers, keep, s); });
}

}  // namespace

TEST_CASE("jitter between ranks is no straggler, conservatively") {
  const auto jitter = [](uint32_t i) { return i % 2 == 0 ? TimeNs{2000} : TimeNs{-1000}; };
  CHECK(gain_of_fixing(jitter, true) == 0);
  CHECK(gain_of_fixing(jitter, false) == 10000);  // then the other rank is as late
  const auto once = [&](uint32_t i) { return i == 4 ? TimeNs{30000} : jitter(i); };
  CHECK(gain_of_fixing(once, true) == 30000);  // and keeps its jitter
  const auto always = [](uint32_t) { return TimeNs{4000}; };
  CHECK(gain_of_fixing(always, true) == 80000);
}

TEST_CASE("without event calls, work never seen beside compute is presumed in order with it") {
  const auto nothing = [](Scenario&) {};
  ScenarioInput in;
  in.ops = {op(1, 5000, 15000), op(2, 25000, 35000, 20, "comm", "dp"), op(3, 45000, 55000)};
  in.calls = {call(0, 1000, 1), call(1000, 2000, 2), call(2000, 3000, 3)};
  const ReplayGraph g = build({in}).graph();
  CHECK(price(g, true, nothing) == 55000);
  CHECK(price(g, false, nothing) == 35000);  // one after the other, without the pauses between
  // Ten times as long, the exchange holds back the last kernel.
  const auto longer = [](const ReplayGraph& graph) {
    return [&graph](Scenario& s) { s.duration_ns[graph.node_of_op(0, 1)] = 100000; };
  };
  CHECK(price(g, true, longer(g)) == 135000);
  CHECK(price(g, false, longer(g)) == 125000);
  // Another exchange of its kind ran beside a kernel launched after it, and one launched before it:
  // then data order none of them, and only conservative runs keep what may be.
  in.ops.insert(in.ops.end(),
                {op(4, 56000, 70000), op(5, 60000, 80000, 20, "comm", "dp"), op(6, 71000, 90000)});
  in.calls.insert(in.calls.end(), {call(3000, 3100, 4), call(3100, 3200, 5), call(3200, 3300, 6)});
  const ReplayGraph beside = build({in}).graph();
  CHECK(price(beside, true, nothing) == 90000);
  CHECK(price(beside, false, longer(beside)) == 127000);  // the exchanges alone
}

TEST_CASE("what the host holds up gives back no work that blocks behind it") {
  // Each step: an exchange of 15 us, its compute launched after 20 us of data loading.
  ScenarioInput in;
  for (uint32_t step = 0; step < 3; ++step) {
    const TimeNs t = TimeNs{step} * 40'000;
    in.ops.push_back(op(10 * step + 1, t + 2000, t + 17'000, 20, "comm", "dp"));
    in.ops.push_back(op(10 * step + 2, t + 25'000, t + 39'000));
    in.calls.push_back(call(t, t + 1000, 10 * step + 1));
    in.calls.push_back(call(t + 22'000, t + 23'000, 10 * step + 2));
    ScenarioRange loading;
    loading.s = t + 1000, loading.e = t + 21'000, loading.kind = "dataload";
    in.ranges.push_back(loading);
  }
  const ReplayGraph g = build({in}).graph();
  for (const bool keep : {true, false}) {
    const TimeNs after =
        price(g, keep, [&](Scenario& s) { change::cover_zero(g, CoverKind::dataload, s); });
    CHECK(after < price(
                      g, keep, [](Scenario&) {}));
    CHECK(after >= 3 * (15'000 + 14'000));
  }
}

TEST_CASE("late ranks are no peers of each other") {
  std::vector<ScenarioInput> inputs(3);
  for (uint32_t r = 0; r < 3; ++r)
    inputs[r].ops = {op(1, 0, TimeNs{100000} * (r + 1), 7, "gemm", "other", false)};
  const ReplayGraph g = build(inputs).graph();
  for (const PeerTime& t : peer_times(g, {1, 2})) CHECK(t.duration_ns == 100000);
  const std::vector<PeerTime> all = peer_times(g, {0, 1, 2});  // then all others are
  REQUIRE(all.size() == 3);
  CHECK(all[0].duration_ns == 250000);
}

TEST_CASE("members that were not recorded keep a collective from meeting") {
  ScenarioInput in;
  in.ops = {op(1, 0, 10000, 20, "comm", "dp", false)};
  Built b = build({in, in, in});
  b.communicators[0].size = 3;
  CHECK(b.graph().meetings() == 1);
  b.communicators[0].size = 4;
  CHECK(b.graph().meetings() == 0);
}

TEST_CASE("a pause of the host of one rank is fixed, its usual lags are not") {
  std::vector<ScenarioInput> inputs(2);
  for (uint32_t r = 0; r < 2; ++r) {
    TimeNs t = 0;
    for (uint32_t i = 0; i < 10; ++i) {
      inputs[r].calls.push_back(call(t, t + 1000, i));
      inputs[r].ops.push_back(op(i, t + 5000, t + 6000));
      t += 10000 + (r == 1 ? i % 2 * 200 : 0) + (r == 1 && i == 4 ? 50000 : 0);
    }
  }
  const ReplayGraph g = build(inputs).graph();
  const std::vector<PeerTime> peers = peer_times(g, {1});
  for (const PeerTime& t : peers) {
    const bool paused = g.nodes()[t.node].kind == NodeKind::call && g.nodes()[t.node].row == 5;
    if (g.nodes()[t.node].kind == NodeKind::call) CHECK(t.slow_lag == paused);
    CHECK_FALSE(t.slow);
  }
}

TEST_CASE("a transfer without its partner may be waiting or not, for either end of a gain") {
  std::vector<ScenarioInput> inputs(2);
  for (uint32_t r = 0; r < 2; ++r) {
    const TimeNs work =
        r == 1 ? 30000 : 10000;  // rank 1 is late; what rank 0 received is not known
    inputs[r].ops = {op(1, 0, work, 7, "gemm", "other", false)};
    if (r == 1) inputs[r].ops.push_back(op(2, 30000, 35000, 7, "gemm", "other", false));
    if (r == 1) continue;
    inputs[r].ops.push_back(op(2, 10000, 15000, 20, "comm", "pp", false));
    inputs[r].ops.push_back(op(3, 15000, 45000, 20, "comm", "pp", false));
    inputs[r].ops.push_back(op(4, 45000, 50000, 7, "gemm", "other", false));
  }
  Built b = build(inputs);
  b.instances.clear();
  b.ranks[0].waits = {{0, 1}, {1, 2}, {2, 3}};
  const ReplayGraph g = b.graph();
  CHECK(g.meetings() == 0);
  const WhatIf what_if(g, {{1}});
  const auto fixed = what_if.gain("straggler_fixed"), zero = what_if.gain("pp_zero");
  REQUIRE(fixed);
  CHECK(fixed->lo_share == Approx(0).margin(1e-9));
  CHECK(fixed->hi_share == Approx(25.0 / 50));  // of 30 us all but the 5 us that the first took
  REQUIRE(zero);
  CHECK(zero->lo_share == Approx(0).margin(1e-9));
  CHECK(zero->hi_share == Approx(15.0 / 50));  // then rank 1 is the later one
}

TEST_CASE("a launch that waited for a full queue is short once the device keeps up") {
  ScenarioInput in;  // room for 4 launches: the fifth returns when the first op has started, ...
  for (uint32_t i = 0; i < 8; ++i) {
    in.ops.push_back(op(i, 5000 + 100000 * i, 105000 + 100000 * i));
    const TimeNs begin = i < 5 ? 1000 * i : 6000 + 100000 * (i - 5);
    in.calls.push_back(call(begin, i < 5 ? begin + 1000 : begin + 100000, i));
  }
  const ReplayGraph g = build({in}).graph({4, true});
  CHECK(baseline(g) == 805000);
  const auto all = [&](Scenario& s) { change::class_faster(g, OpClass::gemm, 100, s); };
  for (bool keep : {true, false}) {
    CHECK(price(g, keep, all) >= 5000 + 8 * 1000);
    CHECK(price(g, keep, all) <= 5000 + 8 * 2000);
  }
}

TEST_CASE("replay with nothing changed reproduces every event time") {
  std::mt19937 rng(20260301);
  const auto pick = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(rng);
  };
  const char* classes[] = {"gemm", "attention", "membound", "comm", "h2d", "d2h", "d2d", "memset"};
  const char* calls[] = {"cudaLaunchKernel", "cudaStreamSynchronize", "cudaMalloc",
                         "cudaFree",         "cudaMemcpyAsync",       "cudaGraphLaunch",
                         "cudaEventRecord",  "cudaStreamWaitEvent",   "cudaDeviceSynchronize"};
  for (int round = 0; round < 500; ++round) {
    std::vector<ScenarioInput> inputs(static_cast<size_t>(pick(1, 3)));
    for (ScenarioInput& in : inputs) {
      const auto n = static_cast<uint32_t>(pick(1, 25));
      for (uint32_t i = 0; i < n; ++i) {
        const TimeNs s = pick(0, 90000);
        ScenarioOp o =
            op(i, s, s + pick(0, 20000), pick(1, 3), classes[pick(0, 7)], "dp", pick(0, 4) > 0);
        o.graph = pick(0, 5) == 0 ? 4 : 0;
        o.recompute = pick(0, 9) == 0;
        in.ops.push_back(o);
        const TimeNs ls = s - pick(0, 30000);
        in.calls.push_back(call(ls, ls + pick(0, 9000), i, pick(1, 2), calls[pick(0, 8)]));
      }
    }
    const ReplayGraph g = build(inputs).graph();
    const std::vector<TimeNs> t = g.run(g.recorded(true));
    for (uint32_t i = 0; i < g.nodes().size(); ++i) {
      REQUIRE(t[2 * i] == g.nodes()[i].start_ns);
      REQUIRE(t[2 * i + 1] == g.nodes()[i].end_ns);
    }
    WhatIf what_if(g, {});
    for (const std::string& id : what_if.applicable())
      REQUIRE(what_if.simulate(id, true)->size() == t.size());
  }
}
