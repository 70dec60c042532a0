// A made run in the fact tables: every table, the sums, and what is NULL.
#include "facts/write_facts.h"

#include <map>

#include "model/framework_names.h"
#include "support/catch.h"
#include "unit/analysis/made_rank.h"

namespace ws {
namespace {

const Platforms& platforms() {
  static const Platforms kPlatforms = [] {
    auto loaded = Platforms::load(WS_SOURCE_DIR "/rules/platforms.json");
    if (!loaded) FAIL(loaded.error().message);
    return *loaded;
  }();
  return kPlatforms;
}

RunAnalysis run_of(std::vector<RankAnalysis> ranks) {
  RunAnalysis run;
  run.ranks = std::move(ranks);
  run.means = means_of(run.ranks);
  run.verdict = judge(run.ranks, run.means);
  return run;
}

// Two ranks of four; steps of 1 ms, one rank with an outlier.
RunAnalysis made_run() {
  DeviceAnalysis device = made::device(made::leaves({{Leaf::gemm, 600'000},
                                                     {Leaf::membound, 100'000},
                                                     {Leaf::comm_dp_unsplit, 200'000},
                                                     {Leaf::idle_launch, 100'000}}));
  device.kernels = {
      {"gemm_a", "gemm", 60, 3'600'000, 60'000, 61'000, false, true, false, false},
      {"odd", "compute_other", 6, 600'000, 100'000, 110'000, true, false, false, false}};
  device.collectives.push_back(
      made::collective(CommKind::dp, CollectiveOp::all_reduce, TimeNs{6} * 200'000));
  device.collectives[0].group = "DATA_PARALLEL_GROUP";
  device.collectives[0].hidden_ns = TimeNs{6} * 50'000;
  device.comm_by_kind[static_cast<size_t>(CommKind::dp)] = {250'000, 50'000};
  IdleRow idle;
  idle.leaf = Leaf::idle_launch;
  idle.ns = 600'000;
  idle.count = 12;
  idle.largest = {5'000, 65'000};
  idle.before = "gemm_a";
  device.idle.push_back(idle);
  device.memory.capacity_bytes = 80'000'000'000;
  device.memory.peak_reserved_bytes = 60'000'000'000;
  device.memory.peak_allocated_bytes = 45'000'000'000;
  DeviceAnalysis slow = device;
  slow.breakdowns[3][Leaf::idle_gc] += 500'000;
  slow.steps[3].window.end_ns += 500'000;
  slow.steps[3].outlier = true;
  slow.kernels[0].p50_ns = 70'000;
  RankAnalysis a = made::rank(device, 0, 4), b = made::rank(slow, 1, 4);
  a.communicators.push_back(
      {"DATA_PARALLEL_GROUP", "1|0|1|2|3", {0, 1, 2, 3}, 4, CommKind::dp, true, false});
  a.config.precisions = {"bf16"};
  a.host_name = "secret-node";
  RunAnalysis run = run_of({a, b});
  run.notes.add(NoteCode::peers_missing, "x.json", 2, "2 of 4 ranks");
  return run;
}

// The only row and column of a query, as text; "NULL" for NULL.
std::string value(const FactDb& facts, const std::string& sql) {
  auto statement = facts.db().prepare(sql);
  if (!statement) FAIL(statement.error().message);
  REQUIRE(statement->step());
  std::string out = statement->is_null(0) ? "NULL" : std::string(statement->text(0));
  CHECK_FALSE(statement->step());
  return out;
}

TEST_CASE("facts: the run and its verdict") {
  const auto facts = write_facts(made_run(), platforms());
  REQUIRE(facts);
  const std::map<std::string, std::string> kExpected = {{"rank_count", "2"},
                                                        {"device_count", "2"},
                                                        {"world_size", "4"},
                                                        {"single_rank_of_job", "0"},
                                                        {"platform", "h100"},
                                                        {"framework", "pytorch"},
                                                        {"gpu_memory_bytes", "80000000000"},
                                                        {"step_origin", "profiler_step"},
                                                        {"step_window", "device"},
                                                        {"step_count", "7"},
                                                        {"steady_count", "6"},
                                                        {"step_mean_ns", "1041667"},
                                                        {"step_median_ns", "1000000"},
                                                        {"step_min_ns", "1000000"},
                                                        {"step_max_ns", "1500000"},
                                                        {"step_spread_share", "0.5"},
                                                        {"critical_rank", "1"},
                                                        {"selection", "NULL"},
                                                        {"verdict_kind", "mixed"},
                                                        {"loss", "communication"},
                                                        {"wall", "communication"},
                                                        {"cause", "dp_gradient"},
                                                        {"also", "imbalance"},
                                                        {"confidence", "low"},
                                                        {"share_lo", "0.0"},
                                                        {"price_lo", "NULL"},
                                                        {"latent_memory_wall", "0"},
                                                        {"where_ranks", "NULL"}};
  for (const auto& [column, expected] : kExpected) {
    INFO(column);
    CHECK(value(*facts, "SELECT " + column + " FROM fact_run") == expected);
  }
  CHECK(value(*facts, "SELECT path || ',' || rank FROM fact_source WHERE rank = 0") ==
        "rank0.json,0");
}

TEST_CASE("facts: inference is told where every rank shows it, the framework stays") {
  RunAnalysis run = made_run();
  const auto told = [&] {
    const auto facts = write_facts(run, platforms());
    REQUIRE(facts);
    return value(*facts, "SELECT coalesce(inference, 0) || framework FROM fact_run");
  };
  CHECK(told() == "0pytorch");
  run.ranks[0].framework += kInferenceMark;
  CHECK(told() == "0pytorch");
  run.ranks[1].framework += kInferenceMark;
  CHECK(told() == "1pytorch");
}

TEST_CASE("facts: leaves sum to the step, in every table that has them") {
  const auto facts = write_facts(made_run(), platforms());
  REQUIRE(facts);
  CHECK(value(*facts, "SELECT count(*) FROM fact_leaf") == std::to_string(kLeafCount));
  CHECK(value(*facts, "SELECT sum(ns) FROM fact_leaf") ==
        value(*facts, "SELECT step_mean_ns FROM fact_run"));
  CHECK(value(*facts, "SELECT sum(total_ns) FROM fact_leaf") ==
        value(*facts, "SELECT sum(end_ns - begin_ns) FROM fact_step WHERE steady"));
  CHECK(
      value(
          *facts,
          "SELECT count(*) FROM fact_step s WHERE end_ns - begin_ns != (SELECT sum(ns) FROM "
          "fact_step_leaf l WHERE l.rank = s.rank AND l.device = s.device AND l.step = s.step)") ==
      "0");
  CHECK(value(*facts,
              "SELECT count(*) FROM fact_rank r WHERE step_mean_ns != (SELECT sum(ns) FROM "
              "fact_rank_leaf l WHERE l.rank = r.rank AND l.device = r.device)") == "0");
  CHECK(value(*facts, "SELECT count(*) FROM fact_step") == "14");
  CHECK(value(*facts, "SELECT note FROM fact_step WHERE outlier") == "NULL");
  CHECK(value(*facts, "SELECT excess_leaf || ' ' || excess_ns FROM fact_step WHERE outlier") ==
        "idle.gc 500000");
  CHECK(value(*facts, "SELECT count(*) FROM fact_loss") == std::to_string(kLossGroupCount));
}

TEST_CASE("facts: tables of kernels, collectives, idle causes") {
  const auto facts = write_facts(made_run(), platforms());
  REQUIRE(facts);
  CHECK(value(*facts,
              "SELECT count || ' ' || total_ns || ' ' || mean_ns || ' ' || p50_ns FROM "
              "fact_kernel WHERE name = 'gemm_a'") == "120 7200000 60000 60000");
  CHECK(value(*facts, "SELECT unclassified FROM fact_kernel WHERE name = 'odd'") == "1");
  CHECK(value(*facts, "SELECT count(*) FROM fact_kernel_class") == "8");
  CHECK(value(*facts,
              "SELECT count || ' ' || total_ns || ' ' || mean_ns FROM fact_kernel_class "
              "WHERE class = 'gemm'") == "10 600000 60000");
  CHECK(value(*facts, "SELECT mean_ns FROM fact_kernel_class WHERE class = 'comm'") == "NULL");
  CHECK(value(*facts,
              "SELECT group_name || ' ' || kind || ' ' || op || ' ' || bytes || ' ' || "
              "count || ' ' || unsplit_ns FROM fact_collective") ==
        "DATA_PARALLEL_GROUP dp all_reduce 1048576 12 2400000");
  CHECK(value(*facts, "SELECT count(*) FROM fact_comm") == "7");
  CHECK(value(*facts,
              "SELECT main_op || ' ' || count || ' ' || round(overlap_share, 3) FROM "
              "fact_comm WHERE kind = 'dp'") == "all_reduce 1.0 0.2");
  CHECK(value(*facts, "SELECT overlap_share FROM fact_comm WHERE kind = 'p2p'") == "NULL");
  CHECK(value(*facts, "SELECT count(*) FROM fact_idle") == "12");
  CHECK(value(*facts,
              "SELECT ns || ' ' || count || ' ' || largest_ns || ' ' || largest_before "
              "FROM fact_idle WHERE cause = 'launch'") == "100000 24 60000 gemm_a");
  CHECK(value(*facts, "SELECT largest_ns FROM fact_idle WHERE cause = 'jit'") == "NULL");
  CHECK(value(*facts, "SELECT text FROM fact_note") ==
        "only some ranks of the job were recorded: waiting and transfer can not be told apart: 2 "
        "of 4 ranks");
}

TEST_CASE("facts: host, memory, configuration") {
  const auto facts = write_facts(made_run(), platforms());
  REQUIRE(facts);
  CHECK(value(*facts, "SELECT launches_per_step || ' ' || mean_kernel_ns FROM fact_host") ==
        "150.0 400000");
  CHECK(value(*facts, "SELECT host_marker_ns FROM fact_host") == "NULL");
  CHECK(value(*facts, "SELECT headroom_share || ' ' || fragmentation_share FROM fact_memory") ==
        "0.25 0.25");
  CHECK(value(*facts, "SELECT pageable_gbps FROM fact_memory") == "NULL");
  CHECK(value(*facts, "SELECT dp || ' ' || precision || ' ' || cuda_graphs FROM fact_config") ==
        "4 bf16 0");
  CHECK(value(*facts, "SELECT tp FROM fact_config") == "NULL");
  CHECK(value(*facts, "SELECT moe_token_dispatcher_type FROM fact_config") == "NULL");
}

TEST_CASE(
    "facts: copies by direction and memory, and how much of the host link pinned ones reach") {
  RunAnalysis run = made_run();
  const auto set = [&](size_t rank, CopyWay way, const CopyTotals& totals) {
    run.ranks[rank].devices[0].memory.copies[static_cast<size_t>(way)] = totals;
  };
  run.ranks[1].os = "windows";
  for (size_t rank : {0, 1}) {
    set(rank, CopyWay::h2d_pinned, {1'000'000, 800'000, 100'000, 20'000});
    set(rank, CopyWay::d2h_untold, {500, 0, 100, 0});
    set(rank, CopyWay::peer, {4'000, 0, 0, 0});
  }
  auto facts = write_facts(run, platforms());
  REQUIRE(facts);
  const char* kCopies =
      "SELECT group_concat(direction || ' ' || coalesce(host_memory, '-') || ' ' || bytes || ' ' "
      "|| busy_ns || ' ' || coalesce(gbps, '-'), ', ') FROM fact_copy";
  CHECK(value(*facts, kCopies) ==
        "h2d pinned 1000000 100000 10.0, d2h - 500 100 5.0, peer - 4000 0 -");
  const char* kLink =
      "SELECT pinned_gbps || ' ' || host_link_gbps || ' ' || pinned_link_share "
      "FROM fact_memory";
  CHECK(value(*facts, kLink) == "40.0 64.0 0.625");
  CHECK(value(*facts, "SELECT os FROM fact_run") == "windows");

  // The other direction takes rank 1 longer; it is the slowest device.
  set(1, CopyWay::d2h_pinned, {800'000, 800'000, 50'000, 50'000});
  run.ranks[1].os = "BeOS";
  facts = write_facts(run, platforms());
  CHECK(value(*facts, kLink) == "16.0 64.0 0.25");
  CHECK(value(*facts, "SELECT os FROM fact_run") == "NULL");

  for (RankAnalysis& rank : run.ranks)
    for (DeviceAnalysis& device : rank.devices) device.gpu = "a board nobody knows";
  facts = write_facts(run, platforms());
  CHECK(value(*facts, "SELECT pinned_gbps FROM fact_memory") == "16.0");
  CHECK(value(*facts, "SELECT pinned_link_share FROM fact_memory") == "NULL");

  facts = write_facts(made_run(), platforms());
  CHECK(value(*facts, "SELECT pinned_gbps FROM fact_memory") == "NULL");
  CHECK(value(*facts, "SELECT count(*) FROM fact_copy") == "0");
}

TEST_CASE("facts: stages are those of the joined ranks, not the size of a communicator of sends") {
  RunAnalysis run = made_run();
  Communicator sends;
  sends.kind = CommKind::pp;
  sends.named = true;
  sends.size = 2;
  run.ranks[0].communicators.push_back(sends);
  const auto stages = [&] {
    const auto facts = write_facts(run, platforms());
    REQUIRE(facts);
    return value(*facts, "SELECT pp FROM fact_config");
  };
  CHECK(stages() == "NULL");
  run.across.pipeline = PipelineShape{};
  run.across.pipeline->stages = 4;
  CHECK(stages() == "4");
}

TEST_CASE("facts: the dispatcher as the kernels show it") {
  RunAnalysis run = made_run();
  const auto dispatcher = [&] {
    const auto facts = write_facts(run, platforms());
    REQUIRE(facts);
    return value(*facts,
                 "SELECT moe_token_dispatcher_type || '/' || "
                 "coalesce(moe_flex_dispatcher_backend, '-') FROM fact_config");
  };
  run.ranks[0].config.collectives_on_ep = true;
  CHECK(dispatcher() == "allgather/-");
  run.ranks[0].config.nccl_all_to_all_on_ep = true;
  CHECK(dispatcher() == "alltoall/-");
  run.ranks[1].config.deepep = true;
  CHECK(dispatcher() == "flex/deepep");
  run.ranks[1].config.hybridep = true;
  CHECK(dispatcher() == "flex/hybridep");
}

TEST_CASE("facts: settings of the environment that all ranks share") {
  RunAnalysis run = made_run();
  const auto config = [&](const std::string& column) {
    const auto facts = write_facts(run, platforms());
    REQUIRE(facts);
    return value(*facts, "SELECT " + column + " FROM fact_config");
  };
  CHECK(config("expandable_segments") == "NULL");
  run.ranks[0].config.settings = {
      {"CUDA_DEVICE_MAX_CONNECTIONS", "1"},
      {"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:128,expandable_segments:True"}};
  CHECK(config("cuda_device_max_connections") == "1");
  CHECK(config("expandable_segments") == "1");
  run.ranks[1].config.settings = {{"CUDA_DEVICE_MAX_CONNECTIONS", "32"},
                                  {"PYTORCH_ALLOC_CONF", "max_split_size_mb:128"}};
  CHECK(config("cuda_device_max_connections") == "NULL");
  CHECK(config("expandable_segments") == "0");
  run.ranks[1].config.settings = {{"CUDA_DEVICE_MAX_CONNECTIONS", "many"}};
  run.ranks[0].config.settings.clear();
  CHECK(config("cuda_device_max_connections") == "NULL");
}

TEST_CASE("facts: without a step the whole recording is one row per device and counts as none") {
  RankAnalysis rank = made::rank(made::device(made::leaves({{Leaf::gemm, 1'000}}), 0));
  rank.step_origin = StepOrigin::whole;
  rank.devices[0].steps[0].steady = true;
  const auto facts = write_facts(run_of({rank}), platforms());
  REQUIRE(facts);
  CHECK(value(*facts,
              "SELECT step_origin || ' ' || step_count || ' ' || steady_count FROM fact_run") ==
        "whole 0 0");
  CHECK(value(*facts, "SELECT step_mean_ns FROM fact_run") == "1000");
  CHECK(value(*facts, "SELECT step_median_ns FROM fact_run") == "NULL");
  CHECK(value(*facts, "SELECT loss FROM fact_run") == "NULL");
  CHECK(value(*facts, "SELECT count(*) FROM fact_step") == "1");
  CHECK(value(*facts, "SELECT sum(ns) FROM fact_leaf") == "1000");
}

TEST_CASE("facts: without device records everything is zero or NULL, and steps are the host's") {
  RankAnalysis rank = made::rank(made::device({}));
  rank.devices.clear();
  rank.host_steps = 2;
  const auto facts = write_facts(run_of({rank}), platforms());
  REQUIRE(facts);
  CHECK(value(*facts, "SELECT verdict_kind || ' ' || cause FROM fact_run") ==
        "insufficient no_gpu_events");
  CHECK(value(*facts, "SELECT step_count FROM fact_run") == "2");
  CHECK(value(*facts, "SELECT step_mean_ns FROM fact_run") == "NULL");
  CHECK(value(*facts, "SELECT compute_share FROM fact_run") == "NULL");
  CHECK(value(*facts, "SELECT count(*) FROM fact_step") == "0");
  CHECK(value(*facts, "SELECT launches_per_step FROM fact_host") == "NULL");
  CHECK(value(*facts, "SELECT sum(share) FROM fact_leaf") == "0.0");
}

TEST_CASE("facts: what recording cost, for the ranks that say it") {
  RunAnalysis run = made_run();
  run.ranks[0].recorder = {1'000'000, 2'000, 30'000, 400, 500};
  const auto facts = write_facts(run, platforms());
  REQUIRE(facts);
  CHECK(value(*facts, "SELECT count(*) FROM fact_recorder") == "1");
  CHECK(value(*facts, "SELECT window_ns FROM fact_recorder WHERE rank = 0") == "1000000");
  CHECK(value(*facts, "SELECT tool_share FROM fact_recorder") == "0.002");
  CHECK(value(*facts, "SELECT writer_share FROM fact_recorder") == "0.03");
  CHECK(value(*facts, "SELECT slowdown_share FROM fact_recorder") == "0.25");
  run.ranks[0].recorder = {-1, 0, 30'000, -1, 500};
  const auto less = write_facts(run, platforms());
  CHECK(value(*less, "SELECT count(*) FROM fact_recorder WHERE window_ns IS NULL") == "1");
  CHECK(value(*less, "SELECT writer_share FROM fact_recorder") == "NULL");
  CHECK(value(*less, "SELECT slowdown_share FROM fact_recorder") == "NULL");
}

TEST_CASE("facts: the id follows from names, times and sizes; host names stay out") {
  const auto id = [](const RunAnalysis& run) {
    const auto facts = write_facts(run, platforms());
    REQUIRE(facts);
    return value(*facts, "SELECT id FROM fact_run");
  };
  RunAnalysis run = made_run();
  const std::string first = id(run);
  CHECK(first.size() == 16);
  CHECK(id(made_run()) == first);
  run.ranks[0].path = "elsewhere/rank0.json";
  CHECK(id(run) == first);
  run.ranks[0].capture.end_ns += 1;
  CHECK(id(run) != first);

  const auto quiet = write_facts(run, platforms());
  CHECK(value(*quiet, "SELECT host FROM fact_rank WHERE rank = 0") == "host0");
  FactOptions show;
  show.show_names = true;
  const auto open = write_facts(run, platforms(), show);
  CHECK(value(*open, "SELECT host FROM fact_rank WHERE rank = 0") == "secret-node");
  CHECK(value(*open, "SELECT path FROM fact_source WHERE rank = 0") == "elsewhere/rank0.json");
}

}  // namespace
}  // namespace ws
