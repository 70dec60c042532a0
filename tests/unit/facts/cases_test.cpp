// From files to facts: the made inputs of tests/cases give their verdicts from one rank, whatever
// the number of threads. Where ../shared stands beside the clone, its other cases too.
#include <filesystem>
#include <string>

#include "analysis/analyze_rank.h"
#include "analysis/run_builder.h"
#include "facts/write_facts.h"
#include "import/importer.h"
#include "support/catch.h"

namespace ws {
namespace {

const std::string kHere = WS_SOURCE_DIR "/tests/cases/";
const std::string kShared = WS_SOURCE_DIR "/../shared/cases/";

const KernelClasses& classes() {
  static const KernelClasses kClasses = [] {
    auto loaded = KernelClasses::load(WS_SOURCE_DIR "/rules/kernel_classes.json");
    if (!loaded) FAIL(loaded.error().message);
    return *loaded;
  }();
  return kClasses;
}

Result<RunAnalysis> analyzed(const std::vector<std::string>& paths, unsigned threads = 1) {
  auto parts = in_parallel(paths.size(), threads, [&](size_t i) {
    std::vector<RankAnalysis> out;
    auto traces = read_file(paths[i]);
    if (traces)
      for (const Trace& trace : *traces)
        out.push_back(analyze_rank(trace, classes(), {}, {threads > 1, false}));
    return out;
  });
  std::vector<RankAnalysis> ranks;
  for (auto& part : parts)
    for (RankAnalysis& rank : part) ranks.push_back(std::move(rank));
  return combine_ranks(std::move(ranks), {});
}

struct Row {
  const char* path;
  VerdictKind kind;
  std::optional<LossGroup> loss;
  Cause cause;
  std::vector<std::string> where_steps = {};
};

const std::vector<Row>& rows() {
  constexpr auto kDominant = VerdictKind::dominant;
  constexpr auto kMixed = VerdictKind::mixed;
  constexpr auto kNone = VerdictKind::none;
  constexpr auto kInsufficient = VerdictKind::insufficient;
  static const std::vector<Row> kRows = {
      {"b01_launch_bound_v1/rank0.pt.trace.json", kDominant, LossGroup::host, Cause::launch_bound},
      {"b02_gc_pause_v1/rank2.pt.trace.json",
       kDominant,
       LossGroup::host,
       Cause::gc_pause,
       {"ProfilerStep#15"}},
      {"b03_dataloader_stall_v1/rank0.pt.trace.json", kDominant, LossGroup::host,
       Cause::input_pipeline},
      {"b04_allocator_thrash_v1/rank0.pt.trace.json", kDominant, LossGroup::memory,
       Cause::allocator},
      {"b05_pageable_copies_v1/rank0.pt.trace.json", kDominant, LossGroup::host,
       Cause::pageable_copy},
      {"b06_item_sync_v1/rank0.pt.trace.json", kDominant, LossGroup::host, Cause::host_sync},
      {"b09_exposed_a2a_v1/rank0.pt.trace.json.gz", kMixed, LossGroup::communication,
       Cause::ep_all_to_all},
      {"b10_grad_reduce_tail_v1/rank0.pt.trace.json", kMixed, LossGroup::communication,
       Cause::dp_gradient},
      {"b12_full_recompute_v1/rank0.pt.trace.json", kDominant, LossGroup::memory, Cause::recompute},
      {"b13_offload_critical_v1/rank0.pt.trace.json", kDominant, LossGroup::memory, Cause::offload},
      {"b14_healthy_v1/rank0.pt.trace.json", kNone, LossGroup::useful, Cause::gemm_bound},
      {"b15_only_warmup_v1/rank0.pt.trace.json", kInsufficient, std::nullopt, Cause::only_warmup},
      {"b16_too_short_v1/rank0.pt.trace.json", kInsufficient, std::nullopt, Cause::too_few_steps},
      {"b21_profiler_overhead_v1/rank0.pt.trace.json",
       kNone,
       LossGroup::useful,
       Cause::gemm_bound,
       {"ProfilerStep#152"}},
      {"b23_host_runs_ahead_v1/rank0.pt.trace.json", kNone, LossGroup::useful, Cause::gemm_bound},
      {"b24_exposed_not_blocking_v1/rank0.pt.trace.json", kDominant, LossGroup::host,
       Cause::input_pipeline},
      {"k56_no_profilerstep.json", kInsufficient, std::nullopt, Cause::too_few_steps},
      {"k58_cpu_only.json", kInsufficient, std::nullopt, Cause::no_gpu_events},
      {"n03_no_kernel_table.sqlite", kInsufficient, std::nullopt, Cause::no_gpu_events},
  };
  return kRows;
}

// The case as it is, or packed; empty when it is in neither place.
std::string find(const std::string& path) {
  for (const std::string& folder : {kHere, kShared})
    for (const char* packed : {"", ".gz"})
      if (std::filesystem::exists(folder + path + packed)) return folder + path + packed;
  return {};
}

TEST_CASE("cases: the verdict from one rank") {
  int found = 0;
  for (const Row& row : rows()) {
    const std::string path = find(row.path);
    if (path.empty()) continue;
    ++found;
    INFO(row.path);
    const auto run = analyzed({path});
    REQUIRE(run);
    const RunVerdict& v = run->verdict;
    CHECK(name_of(v.kind) == name_of(row.kind));
    CHECK(v.loss == row.loss);
    CHECK(name_of(v.cause) == name_of(row.cause));
    CHECK(v.where_steps == row.where_steps);
    // One rank whose communication is hidden needs nothing more.
    if (row.kind == VerdictKind::insufficient) CHECK_FALSE(v.missing.empty());
    if (row.kind != VerdictKind::insufficient && !v.single_rank_of_job) CHECK(v.missing.empty());
  }
  CHECK(found >= 12);
}

// Every row of every table, as text.
std::string dump(const FactDb& facts) {
  std::string out;
  std::string table;
  for (const FactColumn& column : facts_columns()) {
    if (column.table == table) continue;
    table = column.table;
    auto rows = facts.db().prepare("SELECT * FROM " + table);
    REQUIRE(rows);
    while (rows->step()) {
      out += table;
      for (int i = 0; i < rows->column_count(); ++i) out += "|" + std::string(rows->text(i));
      out += "\n";
    }
  }
  return out;
}

TEST_CASE("cases: the facts do not depend on threads or on the order of the inputs") {
  const std::string folder = find("b25_next_wall_v1/before/rank0.pt.trace.json");
  if (folder.empty()) return;
  const std::vector<std::string> forward = {find("b25_next_wall_v1/before/rank0.pt.trace.json"),
                                            find("b25_next_wall_v1/before/rank1.pt.trace.json")};
  const auto platforms = Platforms::load(WS_SOURCE_DIR "/rules/platforms.json");
  REQUIRE(platforms);
  const auto facts = [&](const std::vector<std::string>& paths, unsigned threads) {
    const auto run = analyzed(paths, threads);
    REQUIRE(run);
    const auto written = write_facts(*run, *platforms);
    REQUIRE(written);
    return dump(*written);
  };
  const std::string expected = facts(forward, 1);
  CHECK(expected.size() > 5000);
  CHECK(facts(forward, 4) == expected);
  CHECK(facts({forward[1], forward[0]}, 2) == expected);
}

}  // namespace
}  // namespace ws
