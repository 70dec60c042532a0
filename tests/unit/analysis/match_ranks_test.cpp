// What matching does with the records of made ranks, and the idle time at the edge of a stage.
#include "analysis/cross_rank.h"

#include "support/catch.h"

namespace ws {
namespace {

CommRecord record(TimeNs begin, TimeNs end, CollectiveOp op, CommKind kind) {
  CommRecord out;
  out.begin_ns = out.order_ns = begin;
  out.end_ns = end;
  out.op = op;
  out.kind = kind;
  return out;
}

RankAnalysis rank_of(int32_t number, std::vector<CommRecord> records) {
  RankAnalysis out;
  out.rank = number;
  out.communicators = {{"group", "group", {}, 0, CommKind::other, true, false}};
  out.devices.emplace_back().comms.records = std::move(records);
  return out;
}

TEST_CASE(
    "receives of unknown size without their sends: waiting is what goes beyond the shortest of "
    "three") {
  for (const int count : {2, 3}) {
    std::vector<CommRecord> receives;
    receives.reserve(count);
    for (int i = 0; i < count; ++i) {
      receives.push_back(record(TimeNs{i} * 10'000, i * 10'000 + (i == 0 ? 9'000 : 2'000),
                                CollectiveOp::recv, CommKind::pp));
    }
    const CrossRank cross = match_ranks({rank_of(0, receives)});
    CHECK(cross.arrivals[0][0] == (count == 3 ? 7'000 : kNotMatched));
    CHECK(cross.arrivals[0][1] == kNotMatched);
    CHECK(cross.wait_only[0][0] == (count == 3));
  }
}

// Ends that agree only to 40 us: what is not clearly above that is told without a clock.
TEST_CASE("waits near the error of the clocks go by the shortest stay") {
  std::vector<CommRecord> steady, jumpy;
  for (int i = 0; i < 40; ++i) {
    const TimeNs at = 10'000'000LL * (i + 1),
                 jump = 5'000'000'000 + (i % 2 == 0 ? 40'000 : -40'000);
    const TimeNs early = i < 20 ? 200'000 : 70'000;  // before the other rank comes
    steady.push_back(record(at - early, at + 50'000, CollectiveOp::all_reduce, CommKind::dp));
    jumpy.push_back(record(at + jump, at + 50'000 + jump, CollectiveOp::all_reduce, CommKind::dp));
  }
  const CrossRank cross = match_ranks({rank_of(0, steady), rank_of(1, jumpy)});
  REQUIRE(cross.clocks.residual_ns[1] == 40'000);
  for (size_t i = 0; i < 40; ++i) {
    const CommRecord& own = steady[i];
    const TimeNs wait = cross.arrivals[0][i] - own.begin_ns;
    INFO(i);
    if (i < 20)
      CHECK(std::abs(wait - 200'000) == 40'000);  // as the clocks say
    else
      CHECK(wait == own.end_ns - own.begin_ns - 50'000);  // exact, and no clock is needed
  }
}

// Ranks 0 and 1 are one pipeline, 2 and 3 another one that computes at other times.
TEST_CASE("idle at a stage's edge is bubble while a stage of the same replica computes") {
  CrossRank cross;
  std::vector<RankAnalysis> ranks;
  for (uint32_t p = 0; p < 4; ++p) {
    CommRecord send = record(4'000, 5'000, CollectiveOp::send, CommKind::pp);
    send.communicator = p / 2;
    RankAnalysis rank = rank_of(static_cast<int32_t>(p), {send});
    DeviceAnalysis& device = rank.devices[0];
    device.steps.resize(1);
    device.steps[0].window = {0, 10'000};
    device.comms.stage_steps.resize(1);
    device.comms.stage_steps[0].pipeline = {4'000, 5'000};
    device.comms.stage_steps[0].compute =
        p < 2 ? Interval{p == 0 ? 0 : 5'000, p == 0 ? 5'000 : 10'000} : Interval{7'000, 9'900};
    if (p == 0) device.comms.edge_idle = {{0, {5'000, 6'000}, false}, {0, {9'500, 12'000}, true}};
    if (p == 1) device.comms.edge_idle = {{0, {0, 4'000}, false}, {0, {9'000, 10'000}, true}};
    cross.participants.push_back({p, 0});
    cross.set.ranks.push_back({static_cast<int32_t>(p), device.comms.records});
    cross.arrivals.push_back({kNotMatched});
    cross.wait_only.push_back({false});
    cross.instance_of.push_back({kNoRow});
    ranks.push_back(std::move(rank));
  }
  cross.set.communicators = {{"first", true, 2}, {"second", true, 2}};
  cross.drifts.resize(4);
  cross.clocks.offsets.assign(4, TimeNs{0});
  CHECK(replicas_of(cross) == std::vector<uint32_t>{0, 0, 2, 2});
  find_stage_idle(cross, ranks);
  CHECK(ranks[0].devices[0].stage_idle[0].known_ns == 1'000);
  CHECK(ranks[0].devices[0].stage_idle[0].open_ns == 500);  // rank 1 computes until 10,000
  CHECK(ranks[1].devices[0].stage_idle[0].known_ns == 4'000);
  CHECK(ranks[1].devices[0].stage_idle[0].open_ns == 0);  // rank 0 is done, ranks 2, 3 are others
}

}  // namespace
}  // namespace ws
