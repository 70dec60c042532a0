#include "analysis/verdict.h"

#include "support/catch.h"
#include "unit/analysis/made_rank.h"

namespace ws {
namespace {

struct Row {
  const char* name;
  made::Leaves leaves;
  VerdictKind kind;
  std::optional<LossGroup> loss;
  std::optional<Wall> wall;
};
// Shares of a step of 1 ms.
const Row kRows[] = {
    {"transfer is the communication wall",
     {{Leaf::gemm, 600'000}, {Leaf::comm_ep_transfer, 300'000}, {Leaf::idle_launch, 100'000}},
     VerdictKind::dominant,
     LossGroup::communication,
     Wall::communication},
    {"waiting is no communication wall",
     {{Leaf::gemm, 600'000}, {Leaf::comm_ep_wait, 300'000}, {Leaf::idle_launch, 100'000}},
     VerdictKind::dominant,
     LossGroup::imbalance,
     Wall::compute_host},
    {"waiting for a stage is a bubble",
     {{Leaf::gemm, 600'000}, {Leaf::comm_pp_wait, 400'000}},
     VerdictKind::dominant,
     LossGroup::bubble,
     Wall::communication},
    {"below the floor there is no wall",
     {{Leaf::gemm, 950'000}, {Leaf::idle_launch, 50'000}},
     VerdictKind::none,
     LossGroup::useful,
     Wall::compute_host},
    {"at the floor there is one",
     {{Leaf::gemm, 900'000}, {Leaf::idle_launch, 100'000}},
     VerdictKind::dominant,
     LossGroup::host,
     Wall::compute_host},
    {"two losses near each other",
     {{Leaf::gemm, 600'000}, {Leaf::recompute, 200'000}, {Leaf::idle_launch, 200'000}},
     VerdictKind::mixed,
     LossGroup::memory,
     Wall::memory},
    {"unknown idle could change the winner",
     {{Leaf::gemm, 600'000}, {Leaf::recompute, 150'000}, {Leaf::idle_unknown, 250'000}},
     VerdictKind::insufficient,
     std::nullopt,
     std::nullopt},
};

TEST_CASE("verdicts of made partitions") {
  for (const Row& row : kRows) {
    const RunVerdict v = made::verdict(row.leaves);
    INFO(row.name);
    CHECK(v.kind == row.kind);
    CHECK(v.loss == row.loss);
    CHECK(v.wall == row.wall);
    CHECK_FALSE(v.why.empty());
    CHECK((row.kind == VerdictKind::insufficient) == !v.missing.empty());
  }
}

RankAnalysis one_of_many(const made::Leaves& leaves, CommKind kind, CollectiveOp op,
                         TimeNs unsplit) {
  DeviceAnalysis device = made::device(made::leaves(leaves));
  device.collectives.push_back(made::collective(kind, op, 6 * unsplit));
  return made::rank(std::move(device), 0, 8);
}

TEST_CASE("one rank of a job: communication or waiting, never insufficient") {
  const RunVerdict v = made::verdict(one_of_many(
      {{Leaf::gemm, 600'000}, {Leaf::comm_ep_unsplit, 300'000}, {Leaf::idle_launch, 100'000}},
      CommKind::ep, CollectiveOp::all_to_all, 300'000));
  CHECK(v.kind == VerdictKind::mixed);
  CHECK(v.loss == LossGroup::communication);
  CHECK(v.also == LossGroup::imbalance);
  CHECK(v.cause == Cause::ep_all_to_all);
  CHECK(v.confidence == Confidence::low);
  CHECK(v.single_rank_of_job);
  CHECK(v.share_lo == 0.0);
  CHECK(v.share_hi == Approx(0.3));
  REQUIRE(v.missing.size() == 1);
  CHECK(v.missing[0].find("all ranks of the communicator") == 0);
}

TEST_CASE("unknown idle beside unsplit communication does not hide that it is communication") {
  const RunVerdict v = made::verdict(one_of_many(
      {{Leaf::gemm, 300'000}, {Leaf::comm_dp_unsplit, 580'000}, {Leaf::idle_unknown, 120'000}},
      CommKind::dp, CollectiveOp::all_gather, 580'000));
  CHECK(v.kind == VerdictKind::mixed);
  CHECK(v.cause == Cause::dp_parameter);
}

TEST_CASE("unsplit communication near unknown idle: the peers and the host are missing") {
  const RunVerdict v = made::verdict(one_of_many({{Leaf::gemm, 600'000},
                                                  {Leaf::comm_ep_unsplit, 200'000},
                                                  {Leaf::idle_host, 20'000},
                                                  {Leaf::idle_unknown, 190'000}},
                                                 CommKind::ep, CollectiveOp::all_to_all, 200'000));
  CHECK(v.kind == VerdictKind::insufficient);
  CHECK(v.cause == Cause::peers_missing);
  CHECK(v.missing.size() == 2);
}

TEST_CASE("undecided: other ranks are asked for where there are some") {
  const auto missing = [](int32_t ranks, int32_t world) {
    DeviceAnalysis device = made::device(made::leaves({{Leaf::gemm, 600'000},
                                                       {Leaf::comm_ep_unsplit, 200'000},
                                                       {Leaf::idle_host, 20'000},
                                                       {Leaf::idle_unknown, 190'000}}));
    device.collectives.push_back(
        made::collective(CommKind::ep, CollectiveOp::all_to_all, 1'200'000));
    std::vector<RankAnalysis> all;
    for (int32_t r = 0; r < ranks; ++r) all.push_back(made::rank(device, r, world));
    const RunVerdict v = made::verdict(all);
    CHECK(v.kind == VerdictKind::insufficient);
    std::string out;
    for (const std::string& text : v.missing) out += text + '\n';
    return out;
  };
  constexpr const char* kPeers = "all ranks of the communicator in the same steps";
  CHECK(missing(1, 8).find(kPeers) != std::string::npos);
  CHECK(missing(2, 8).find(kPeers) != std::string::npos);
  // All are there and were not matched: recording them again tells nothing new.
  CHECK(missing(2, 2).find(kPeers) == std::string::npos);
  CHECK_FALSE(missing(2, 2).empty());
}

TEST_CASE("pipeline communication without its peers is transfer or bubble") {
  const RunVerdict v =
      made::verdict(one_of_many({{Leaf::gemm, 600'000}, {Leaf::comm_pp_unsplit, 400'000}},
                                CommKind::pp, CollectiveOp::send_recv, 400'000));
  CHECK(v.kind == VerdictKind::mixed);
  CHECK(v.cause == Cause::pp_transfer);
  CHECK(v.also == LossGroup::bubble);
  CHECK(v.also_cause == Cause::pipeline_bubble);
}

TEST_CASE("exposed but not blocking communication is no rival of the host") {
  DeviceAnalysis device = made::device(made::leaves(
      {{Leaf::gemm, 450'000}, {Leaf::comm_dp_unsplit, 400'000}, {Leaf::idle_dataload, 150'000}}));
  device.collectives.push_back(
      made::collective(CommKind::dp, CollectiveOp::all_gather, TimeNs{6} * 400'000));
  for (TimeNs& ns : device.evidence.not_blocking_ns) ns = 400'000;
  const RunVerdict v = made::verdict(made::rank(device, 0, 2));
  CHECK(v.kind == VerdictKind::dominant);
  CHECK(v.loss == LossGroup::host);
  CHECK(v.cause == Cause::input_pipeline);
  // The losses still show what the clock saw.
  CHECK(at(v.losses, LossGroup::communication).ns.hi_ns == 400'000);
  for (TimeNs& ns : device.evidence.not_blocking_ns) ns = 100'000;
  CHECK(made::verdict(made::rank(device, 0, 2)).loss == LossGroup::communication);
}

TEST_CASE("a price replaces the share") {
  const RankAnalysis rank = made::rank(made::device(made::leaves(
      {{Leaf::gemm, 600'000}, {Leaf::comm_dp_transfer, 300'000}, {Leaf::idle_launch, 100'000}})));
  Prices prices;
  at(prices.group, LossGroup::communication) = Price{0.01, 0.02};
  at(prices.group, LossGroup::host) = Price{0.2, 0.21};
  RunVerdict v = made::verdict({rank}, prices);
  CHECK(v.loss == LossGroup::host);
  REQUIRE(v.price);
  CHECK(v.price->lo == 0.2);
  at(prices.group, LossGroup::communication) = Price{0.05, 0.15};
  at(prices.group, LossGroup::host) = Price{0.01, 0.02};
  v = made::verdict({rank}, prices);  // only the optimistic price reaches the floor
  CHECK(v.kind == VerdictKind::none);
  CHECK(v.cause == Cause::comm_contention);
}

TEST_CASE("confidence: one level down per failed item") {
  const made::Leaves busy = {{Leaf::gemm, 950'000}, {Leaf::idle_launch, 50'000}};
  const auto confidence = [&](auto change) {
    RankAnalysis rank = made::rank(made::device(made::leaves(busy)));
    change(rank);
    return made::verdict(rank).confidence;
  };
  CHECK(confidence([](RankAnalysis&) {}) == Confidence::high);
  CHECK(confidence([](RankAnalysis& r) { r.devices[0].evidence.step_ops_with_launch = 880; }) ==
        Confidence::medium);
  CHECK(confidence([](RankAnalysis& r) { r.tick_ns = 1000; }) == Confidence::medium);
  CHECK(confidence([](RankAnalysis& r) { r.world_size = 8; }) == Confidence::medium);
  CHECK(confidence([](RankAnalysis& r) {
          r.devices[0].steps.resize(4);
          r.devices[0].breakdowns.resize(4);
        }) == Confidence::medium);
  CHECK(confidence([](RankAnalysis& r) {
          r.devices[0].breakdowns[3][Leaf::gemm] -= 25'000;
          r.devices[0].breakdowns[3][Leaf::idle_unknown] += 25'000;
          for (Breakdown& p : r.devices[0].breakdowns) {
            p[Leaf::gemm] -= 20'000;
            p[Leaf::idle_unknown] += 20'000;
          }
        }) == Confidence::medium);
  CHECK(confidence([](RankAnalysis& r) {  // profiler overhead in a step that is left out
          r.devices[0].breakdowns[0][Leaf::gemm] -= 250'000;
          r.devices[0].breakdowns[0][Leaf::idle_profiler] += 250'000;
        }) == Confidence::medium);
  CHECK(confidence([](RankAnalysis& r) {
          r.devices[0].evidence.step_ops_with_launch = 880;
          r.devices[0].breakdowns[0][Leaf::idle_profiler] += 250'000;
        }) == Confidence::low);
}

TEST_CASE("confidence drops when other launch constants give another winner") {
  DeviceAnalysis device = made::device(made::leaves(
      {{Leaf::gemm, 890'000}, {Leaf::idle_launch, 105'000}, {Leaf::idle_dependency, 5'000}}));
  device.evidence.half_constants = made::leaves({{Leaf::gemm, 6 * 890'000},
                                                 {Leaf::idle_launch, 6 * 60'000},
                                                 {Leaf::idle_kernel_gap, 6 * 45'000},
                                                 {Leaf::idle_dependency, 6 * 5'000}});
  device.evidence.double_constants = device.evidence.half_constants;
  CHECK(made::verdict(made::rank(device)).confidence == Confidence::high);
  device.evidence.half_constants = made::leaves({{Leaf::gemm, 6 * 890'000},
                                                 {Leaf::idle_launch, 6 * 60'000},
                                                 {Leaf::idle_dependency, 6 * 50'000}});
  CHECK(made::verdict(made::rank(device)).confidence == Confidence::medium);
}

TEST_CASE("where: the step and the rank that hold the loss") {
  DeviceAnalysis quiet = made::device(made::leaves({{Leaf::gemm, 1'000'000}}), 8);
  DeviceAnalysis hit = quiet;
  hit.breakdowns[4][Leaf::idle_gc] += 9'000'000;
  hit.steps[4].window.end_ns += 9'000'000;
  const RunVerdict one = made::verdict(made::rank(hit, 2));
  CHECK(one.cause == Cause::gc_pause);
  CHECK(one.where_steps == std::vector<std::string>{"step 4"});
  CHECK(one.where_ranks.empty());
  const RunVerdict all = made::verdict(
      {made::rank(quiet, 0), made::rank(quiet, 1), made::rank(hit, 2), made::rank(quiet, 3)});
  CHECK(all.where_ranks == std::vector<int32_t>{2});
  const RunVerdict even = made::verdict({{Leaf::gemm, 500'000}, {Leaf::idle_launch, 500'000}});
  CHECK(even.where_steps.empty());
}

TEST_CASE("where: one step in three and one rank in two are still few") {
  const DeviceAnalysis quiet = made::device(made::leaves({{Leaf::gemm, 1'000'000}}), 3);
  DeviceAnalysis hit = quiet;
  hit.breakdowns[2][Leaf::idle_gc] += 9'000'000;
  hit.steps[2].window.end_ns += 9'000'000;
  CHECK(made::verdict(made::rank(hit)).kind == VerdictKind::insufficient);  // too few that agree
  DeviceAnalysis six = made::device(made::leaves({{Leaf::gemm, 1'000'000}}), 6);
  for (size_t step : {2, 3}) {
    six.breakdowns[step][Leaf::idle_gc] += 9'000'000;
    six.steps[step].window.end_ns += 9'000'000;
  }
  CHECK(made::verdict(made::rank(six)).where_steps == std::vector<std::string>{"step 2", "step 3"});
  const DeviceAnalysis even = made::device(made::leaves({{Leaf::gemm, 1'000'000}}), 6);
  CHECK(made::verdict({made::rank(six, 0), made::rank(even, 1)}).where_ranks ==
        std::vector<int32_t>{0});
}

TEST_CASE("where: steps that the profiler took are named though they are left out") {
  DeviceAnalysis device = made::device(made::leaves({{Leaf::gemm, 1'000'000}}), 6);
  device.breakdowns[3][Leaf::idle_profiler] += 2'000'000;
  device.steps[3].window.end_ns += 2'000'000;
  device.steps[3].outlier = true;
  device.steps[3].steady = false;
  device.steps[3].why_left_out = "profiler overhead";
  device.evidence.profiler_ns[3] = 3'000'000;
  const RunVerdict v = made::verdict(made::rank(device));
  CHECK(v.kind == VerdictKind::none);
  CHECK(v.where_steps == std::vector<std::string>{"step 3"});
  // Short idle of the profiler in a slow step that counts is no reason to name it.
  DeviceAnalysis counted = made::device(made::leaves({{Leaf::gemm, 1'000'000}}), 6);
  counted.breakdowns[3][Leaf::idle_profiler] += 1'000;
  counted.steps[3].window.end_ns += 1'000;
  counted.steps[3].outlier = true;
  CHECK(made::verdict(made::rank(counted)).where_steps.empty());
  CHECK(v.why.back().find("3.0 ms of step 3 is the profiler's own work") == 0);
}

TEST_CASE("latent memory wall is told beside the verdict") {
  CHECK(made::verdict({{Leaf::gemm, 940'000}, {Leaf::recompute, 60'000}}).latent_memory_wall ==
        true);
  CHECK(made::verdict({{Leaf::gemm, 960'000}, {Leaf::recompute, 40'000}}).latent_memory_wall ==
        false);
  RankAnalysis blind = made::rank(made::device(made::leaves({{Leaf::gemm, 1'000'000}})));
  blind.has_host_ranges = false;
  CHECK(made::verdict(blind).latent_memory_wall == std::nullopt);
}

}  // namespace
}  // namespace ws
