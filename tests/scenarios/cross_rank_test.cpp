// The cross-rank scenarios of the attribution rules: matching, clocks, arrivals, blame; then the
// partition of every rank with those arrivals, to the same integers.
#include <fstream>

#include "analysis/arrivals.h"
#include "analysis/cross_rank.h"
#include "support/catch.h"
#include "support/scenario_trace.h"

using namespace ws;
using namespace ws::test;
using nlohmann::json;

namespace {

const json& scenarios() {
  static const json all =
      json::parse(std::ifstream(std::string(WS_SOURCE_DIR) + "/tests/scenarios/scenarios.json"));
  return all;
}

CollectiveOp op_from(const std::string& s) {
  static const std::map<std::string, CollectiveOp> kNames = {
      {"allreduce", CollectiveOp::all_reduce},
      {"allgather", CollectiveOp::all_gather},
      {"reducescatter", CollectiveOp::reduce_scatter},
      {"alltoall", CollectiveOp::all_to_all},
      {"broadcast", CollectiveOp::broadcast},
      {"reduce", CollectiveOp::reduce},
      {"send", CollectiveOp::send},
      {"recv", CollectiveOp::recv},
      {"sendrecv", CollectiveOp::send_recv}};
  const auto it = kNames.find(s);
  return it == kNames.end() ? CollectiveOp::unknown : it->second;
}

struct Comms {
  CommSet set;
  std::vector<std::vector<int64_t>> ids;  // op id per record
};

Comms comms_of(const json& scenario) {
  Comms out;
  std::map<std::string, uint32_t> communicators;
  for (const auto& [rank, body] : scenario.at("ranks").items()) {
    RankComms comms{std::stoi(rank), {}};
    std::vector<int64_t> ids;
    for (const json& o : body.at("ops")) {
      if (o.at("cls") != "comm" || !o.contains("comm") || o["comm"].is_null()) continue;
      const std::string key = o["comm"];
      const auto [it, fresh] = communicators.try_emplace(key, communicators.size());
      if (fresh) {
        const json& sizes = scenario.at("sizes");
        out.set.communicators.push_back({key, key.rfind("stream ", 0) != 0,
                                         sizes.contains(key) ? sizes[key].get<int64_t>() : 0});
      }
      CommRecord r;
      r.begin_ns = o.at("s"), r.end_ns = o.at("e"), r.order_ns = o.at("s");
      r.communicator = it->second;
      r.op = op_from(o.value("coll", ""));
      r.kind = *comm_kind_from(o.value("kind", "other"));
      const auto number = [&](const char* name) {
        return o.contains(name) && !o[name].is_null() ? o[name].get<int64_t>() : -1;
      };
      r.sequence = number("seq"), r.bytes = number("bytes");
      r.root = static_cast<int32_t>(number("root")), r.peer = static_cast<int32_t>(number("peer"));
      comms.records.push_back(r);
      ids.push_back(o.at("id"));
    }
    out.set.ranks.push_back(std::move(comms));
    out.ids.push_back(std::move(ids));
  }
  return out;
}

Interval window_of(const json& scenario, const std::string& rank) {
  const json& w =
      scenario.at("window").is_object() ? scenario["window"].at(rank) : scenario["window"];
  return {w.at(0), w.at(1)};
}

}  // namespace

TEST_CASE("cross-rank scenarios") {
  Constants constants;
  for (const json& s : scenarios().at("cross_rank")) {
    DYNAMIC_SECTION(s.at("id").get<std::string>()) {
      const Comms x = comms_of(s);
      Offsets offsets;
      for (const RankComms& r : x.set.ranks) {
        offsets.push_back(s.at("offsets").at(std::to_string(r.rank)).get<TimeNs>());
      }
      const std::vector<Instance> instances = match_by_presence(x.set, offsets);
      const auto arrivals = find_arrivals(x.set, offsets, instances);
      for (size_t r = 0; r < x.set.ranks.size(); ++r) {
        const std::string rank = std::to_string(x.set.ranks[r].rank);
        json body = s.at("ranks").at(rank);
        for (const char* absent : {"apis", "ranges"}) body.emplace(absent, json::array());
        body.emplace("arrivals", json::object());
        ScenarioInput input = scenario_from_json(body);
        for (size_t i = 0; i < x.ids[r].size(); ++i) {
          if (arrivals[r][i] != kNotMatched) input.arrivals[x.ids[r][i]] = arrivals[r][i];
        }
        const ScenarioTrace t(input);
        const HostStates host(t.trace, t.labels);
        const Interval window = window_of(s, rank);
        const Timeline timeline =
            build_timeline(t.trace, t.labels, host, t.device(0), constants, window, t.arrivals);
        const Interval windows[] = {window};
        std::map<std::string, TimeNs> want;
        for (const auto& [leaf, ns] : s.at("expect").at(rank).items()) want[leaf] = ns;
        INFO("rank " << rank);
        CHECK(nonzero(partition(timeline, windows)[0]) == want);
      }
      if (!s.at("blame").is_null()) {
        const Lateness late = find_lateness(x.set, offsets, instances);
        for (size_t r = 0; r < x.set.ranks.size(); ++r) {
          const std::string rank = std::to_string(x.set.ranks[r].rank);
          CHECK(late.marginal_ns[r] == s["blame"]["marginal"].value(rank, TimeNs{0}));
          CHECK(late.wait_ns[r] == s["blame"]["waits"].value(rank, TimeNs{0}));
        }
      }
    }
  }
}

// The same integers without the events: partition first, waits split afterwards from what is kept
// of every operation (the partial of ALGORITHMS 7).
TEST_CASE("cross-rank scenarios through what is kept of a rank") {
  const Constants constants;
  for (const json& s : scenarios().at("cross_rank")) {
    DYNAMIC_SECTION(s.at("id").get<std::string>()) {
      const CrossRank known = [&] {
        CrossRank x;
        x.set = comms_of(s).set;
        for (const RankComms& r : x.set.ranks)
          x.clocks.offsets.push_back(s.at("offsets").at(std::to_string(r.rank)).get<TimeNs>());
        x.clocks.instances = match_by_presence(x.set, x.clocks.offsets);
        x.arrivals = find_arrivals(x.set, x.clocks.offsets, x.clocks.instances);
        for (size_t r = 0; r < x.set.ranks.size(); ++r) {
          x.participants.push_back({r, 0});
          x.wait_only.emplace_back(x.set.ranks[r].records.size(), false);
          x.instance_of.emplace_back(x.set.ranks[r].records.size(), kNoRow);
          x.clocks.samples.push_back(0);
          x.clocks.residual_ns.push_back(0);
        }
        return x;
      }();
      std::vector<RankAnalysis> ranks;
      for (const RankComms& r : known.set.ranks) {
        const std::string rank = std::to_string(r.rank);
        json body = s.at("ranks").at(rank);
        for (const char* absent : {"apis", "ranges"}) body.emplace(absent, json::array());
        body.emplace("arrivals", json::object());
        const ScenarioTrace t(scenario_from_json(body));
        const HostStates host(t.trace, t.labels);
        const std::vector<Interval> windows = {window_of(s, rank)};
        const Timeline timeline =
            build_timeline(t.trace, t.labels, host, t.device(0), constants, windows[0]);
        Labels labels;
        labels.ops = t.labels;
        labels.communicators.resize(1);
        for (uint32_t op = 0; op < t.trace.ops.size(); ++op) {
          if (labels.ops.cls[op] != OpClass::comm) continue;
          labels.ops.communicator[op] = 0;
          labels.comm_ops.push_back({op, kNoRow, -1});
        }
        DeviceAnalysis device;
        device.steps.resize(1);
        device.steps[0].window = windows[0];
        device.breakdowns = partition(timeline, windows);
        device.comms = collect_comms(t.trace, labels, t.device(0), timeline, windows);
        REQUIRE(device.comms.records.size() == r.records.size());
        RankAnalysis analysis;
        analysis.rank = r.rank;
        analysis.devices.push_back(std::move(device));
        ranks.push_back(std::move(analysis));
      }
      split_waits(known, ranks);
      for (const RankAnalysis& r : ranks) {
        std::map<std::string, TimeNs> want;
        for (const auto& [leaf, ns] : s.at("expect").at(std::to_string(r.rank)).items())
          want[leaf] = ns;
        INFO("rank " << r.rank);
        CHECK(nonzero(r.devices[0].breakdowns[0]) == want);
      }
    }
  }
}

// One group whose members leave one after the other, as in a ring: common ends are wider than the
// tolerance of pairs. Two groups on one stream number stay apart.
TEST_CASE("groups behind a stream number are found by common ends") {
  for (const bool two_groups : {false, true}) {
    CommSet set;
    set.communicators.push_back({"stream 20", false, 0});
    for (int32_t rank = 0; rank < 8; ++rank) {
      RankComms comms{rank, {}};
      const bool second = two_groups && rank >= 4;
      for (int i = 0; i < 60; ++i) {
        CommRecord r;
        r.op = CollectiveOp::all_reduce;
        r.kind = CommKind::tp;
        const TimeNs end = 10'000'000 * (i + 1) + (second ? 400'000 + 3'000 * (i % 11) : 0);
        r.begin_ns = r.order_ns = end - (rank % 4 == 0 ? 1'000'000 : 5'000'000);
        r.end_ns = end + TimeNs{9'000} * (rank % 4);
        comms.records.push_back(r);
      }
      set.ranks.push_back(std::move(comms));
    }
    const Offsets zero(8, TimeNs{0});
    const auto instances = match_by_presence(set, zero);
    CHECK(instances.size() == (two_groups ? 120 : 60));
    for (const Instance& x : instances) CHECK(x.members.size() == (two_groups ? 4 : 8));
    const ClockFit fit = fit_clocks(set);
    for (const auto& offset : fit.offsets) CHECK(*offset == 0);
    const auto arrivals = find_arrivals(set, fit.offsets, fit.instances);
    CHECK(arrivals[1][7] == set.ranks[0].records[7].begin_ns);
    CHECK(arrivals[5][7] - set.ranks[5].records[7].begin_ns == 4'000'000);
  }
}

TEST_CASE("two receives are not each other's partner") {
  CommSet set;
  set.communicators.push_back({"stream 20", false, 0});
  for (int32_t rank = 0; rank < 2; ++rank) {
    CommRecord r;
    r.op = CollectiveOp::recv;
    r.kind = CommKind::pp;
    r.begin_ns = TimeNs{1'000} * rank, r.end_ns = 10'000;
    set.ranks.push_back({rank, {r}});
  }
  const Offsets zero(2, TimeNs{0});
  for (const auto& arrivals : find_arrivals(set, zero, match_by_presence(set, zero)))
    CHECK(arrivals[0] == kNotMatched);
}

TEST_CASE("clocks are found from common ends, and a shared clock is kept") {
  for (const json& s : scenarios().at("cross_rank")) {
    const std::string id = s.at("id");
    if (id == "X10") continue;  // one record: nothing to fit
    DYNAMIC_SECTION(id) {
      const ClockFit fit = fit_clocks(comms_of(s).set);
      for (const auto& [rank, offset] : s.at("offsets").items()) {
        const auto& found = fit.offsets.at(std::stoul(rank));
        REQUIRE(found.has_value());
        CHECK(*found == offset.get<TimeNs>());
      }
    }
  }
}

TEST_CASE("stragglers are told apart") {
  using Step = std::map<int32_t, TimeNs>;
  const auto kind = [](const std::vector<Step>& steps) { return straggler_kind(steps); };
  const Straggler persistent = kind({5, Step{{3, 90}, {1, 5}}});
  CHECK(persistent.kind == StragglerKind::persistent);
  CHECK(persistent.rank == 3);
  const Straggler transient = kind({{{3, 5}, {1, 4}}, {{1, 5}, {3, 4}}, {{2, 500}}, {{1, 5}}});
  CHECK(transient.kind == StragglerKind::transient);
  CHECK(transient.rank == 2);
  CHECK(transient.step == 2);
  CHECK(kind({{{0, 50}, {1, 10}}, {{1, 50}}, {{2, 50}}, {{3, 50}}}).kind ==
        StragglerKind::rotating);
  CHECK(kind({{}, {{1, 0}}}).kind == StragglerKind::none);
  const Straggler seldom = kind({{{2, 90}}, {{2, 80}, {1, 10}}});
  CHECK(seldom.kind == StragglerKind::seldom);
  CHECK(seldom.rank == 2);
  CHECK(kind({{{2, 90}}, {{1, 80}}}).kind == StragglerKind::rotating);
}

TEST_CASE("a lost record costs its own instance under a skewed clock too") {
  CommSet set;
  set.communicators.push_back({"c", true, 2});
  set.ranks = {{0, {}}, {1, {}}};
  constexpr TimeNs kSkew = 3'000'000;
  for (int i = 0; i < 40; ++i) {
    CommRecord r;
    r.op = CollectiveOp::all_reduce;
    r.begin_ns = r.order_ns = TimeNs{100'000} * i;
    r.end_ns = r.begin_ns + 50'000 + TimeNs{997} * (i % 7);
    set.ranks[0].records.push_back(r);
    if (i == 11 || i == 23) continue;
    r.begin_ns += kSkew + 1'000, r.order_ns = r.begin_ns, r.end_ns += kSkew;
    set.ranks[1].records.push_back(r);
  }
  const ClockFit fit = fit_clocks(set);
  CHECK(*fit.offsets[1] == kSkew);
  CHECK(fit.method != ClockMethod::shared);
  const auto arrivals = find_arrivals(set, fit.offsets, fit.instances);
  int unmatched = 0;
  for (TimeNs a : arrivals[0]) unmatched += a == kNotMatched ? 1 : 0;
  CHECK(unmatched == 2);
  for (TimeNs a : arrivals[1]) CHECK(a != kNotMatched);
}
