// What-ifs of exchanges between experts: latency, tokens that stay, balance by sizes.
#include "support/catch.h"
#include "unit/analysis/made_replay.h"

using namespace ws;
using namespace ws::test;

TEST_CASE("the largest member of an exchange decides what part of it is latency") {
  ScenarioInput in;
  in.ops = {op(1, 0, 110000, 20, "comm", "ep", false),
            op(2, 110000, 320000, 20, "comm", "ep", false)};
  Built b = build({in, in});
  const int64_t sizes[2][2] = {{10, 80}, {40, 10}};
  for (size_t r = 0; r < 2; ++r)
    for (size_t i = 0; i < 2; ++i) b.ranks[r].ops[i].bytes = sizes[r][i] << 20;
  const ReplayGraph g = b.graph();
  for (bool keep : {true, false})
    CHECK(price(g, keep, [&](Scenario& s) { change::network_faster(g, 2, keep, s); }) ==
          (keep ? 170000 : 160000));
}

namespace {

// A dense kernel, an exchange, experts, an exchange. Rank 1 takes `dense_ns` and `expert_ns`, rank
// 0 10 us for each of the two.
Built expert_layer_of_two(TimeNs dense_ns, TimeNs expert_ns) {
  std::vector<ScenarioInput> inputs(2);
  const TimeNs dispatch = 10000 + dense_ns, combine = dispatch + 10000 + expert_ns;
  for (uint32_t r = 0; r < 2; ++r) {
    const TimeNs dense = r == 0 ? 10000 : dense_ns, expert = r == 0 ? 10000 : expert_ns;
    inputs[r].calls = {call(0, 1, 1), call(1, 2, 2), call(2, 3, 3), call(3, 4, 4)};
    inputs[r].ops = {op(1, 10000, 10000 + dense),
                     op(2, 10000 + dense, dispatch + 10000, 20, "comm", "ep"),
                     op(3, dispatch + 10000, dispatch + 10000 + expert),
                     op(4, dispatch + 10000 + expert, combine + 10000, 20, "comm", "ep")};
  }
  Built b = build(inputs);
  for (size_t r = 0; r < 2; ++r) {
    b.ranks[r].waits = {{0, 1}, {1, 2}, {2, 3}};
    b.ranks[r].ops[2].flags |= kFlagGrouped;
  }
  return b;
}

}  // namespace

TEST_CASE("a hot expert is no slow rank: its tokens stay, what the rank is slower by goes") {
  struct Row {
    TimeNs dense_ns, expert_ns, fixed_ns, balanced_ns;
  };
  // only hot; only slow, by half; slow by half and twice the tokens
  for (const Row& row :
       {Row{10000, 30000, 0, 10000}, Row{15000, 15000, 10000, 0}, Row{15000, 30000, 15000, 0}}) {
    const ReplayGraph g = expert_layer_of_two(row.dense_ns, row.expert_ns).graph();
    const std::vector<PeerTime> peers = peer_times(g, {1});
    const TimeNs base = baseline(g);
    CHECK(base == 30000 + row.dense_ns + row.expert_ns);
    const auto fixed = [&](Scenario& s) { change::straggler_fixed(g, peers, true, s); };
    CHECK(base - price(g, true, fixed) == row.fixed_ns);
    const TimeNs both = price(g, true, [&](Scenario& s) {
      fixed(s);
      change::experts_balanced(g, true, s);
    });
    CHECK(both <= price(g, true, fixed));  // the whole group holds its parts
    CHECK(both == 40000 + (10000 + row.expert_ns * 10000 / row.dense_ns) / 2);
    if (row.balanced_ns > 0)
      CHECK(base - price(g, true, [&](Scenario& s) { change::experts_balanced(g, true, s); }) ==
            row.balanced_ns);
  }
}

TEST_CASE("balanced experts exchange what their sizes say") {
  ScenarioInput cold, hot;
  cold.calls = hot.calls = {call(0, 1, 1), call(1, 2, 2), call(2, 3, 3)};
  cold.ops = {op(1, 10000, 20000, 20, "comm", "ep"), op(2, 20000, 30000),
              op(3, 30000, 70000, 20, "comm", "ep")};
  hot.ops = {op(1, 10000, 20000, 20, "comm", "ep"), op(2, 20000, 50000),
             op(3, 50000, 70000, 20, "comm", "ep")};
  Built b = build({cold, hot});
  for (size_t r = 0; r < 2; ++r) {
    b.ranks[r].waits = {{0, 1}, {1, 2}};
    b.ranks[r].ops[0].bytes = 20;
    b.ranks[r].ops[1].flags |= kFlagGrouped;
    b.ranks[r].ops[2].bytes = r == 0 ? 10 : 30;
  }
  const ReplayGraph g = b.graph();
  CHECK(baseline(g) == 70000);
  for (bool keep : {true, false})
    CHECK(price(g, keep, [&](Scenario& s) { change::experts_balanced(g, keep, s); }) ==
          (keep ? 10000 + 10000 + 20000 + 13333 : 5000 + 6666 + 20000 + 13333));
}
