#include "report/fact_words.h"

#include "advise/rule.h"
#include "facts/fact_db.h"
#include "support/catch.h"

namespace ws {
namespace {

std::string words(const std::string& expression, std::optional<double> number,
                  const std::string& text = "", const std::string& clause = "") {
  Finding f;
  if (!clause.empty()) f.clauses.push_back({clause, true, {}});
  return fact_words({expression, text, number}, f);
}

}  // namespace

TEST_CASE("fact words: names and units of a reader, no aliases and columns") {
  CHECK(words("run.share_lo", 0.182) == "the loss takes at least 18.2 %");
  CHECK(words("c.total_share", 0.25, "", "c.kind = 'dp'") == "DP communication in all 25.0 %");
  CHECK(words("ep.exposed_share", 0.451, "", "ep.kind = 'ep'") ==
        "exposed EP communication 45.1 %");
  CHECK(words("p2p.exposed_share", 0.1, "", "p2p.kind = 'p2p'") ==
        "exposed p2p communication 10.0 %");
  CHECK(words("idle.share", 0.21, "", "idle.cause = 'gc'") == "idle for garbage collection 21.0 %");
  CHECK(words("idle.largest_ns", 147600000, "", "idle.cause = 'gc'") ==
        "longest idle for garbage collection 147.6 ms");
  CHECK(words("run.step_origin", std::nullopt, "profiler_step") == "steps found by ProfilerStep");
  CHECK(words("run.step_origin", std::nullopt, "whole") == "no steps found");
  CHECK(words("lay.dp", 1) == "DP 1");
  CHECK(words("lay.etp_used", 2) == "ETP as taken 2");
  CHECK(words("run.where_ranks", std::nullopt, "2, 3") == "on ranks 2, 3");
  CHECK(words("run.where_ranks", 3, "3") == "on rank 3");
  CHECK(words("run.where_steps", std::nullopt, "ProfilerStep#7") == "in ProfilerStep#7");
  CHECK(words("ep.main_op", std::nullopt, "all_to_all") == "mostly all to all");
  CHECK(words("round(col.bus_gbps)", 26, "26") == "bus GB/s 26");
  CHECK(words("coalesce(cfg.moe_token_dispatcher_type, 'allgather')", std::nullopt, "alltoall") ==
        "dispatcher alltoall");
  // Rules of one's own may read any column, and round it.
  CHECK(words("r.step_mean_ns", 22'200'000) == "step mean 22.2 ms");
  CHECK(words("round(r.idle_share, 3)", 0.412, "0.412") == "idle 41.2 %");
  CHECK(words("coalesce(m.headroom_share, 0)", 0.25, "0.25") == words("m.headroom_share", 0.25));
  CHECK(words("round(r.idle_share + 1)", 1, "1") == "round((idle) + 1) = 1");
  CHECK(words("4 * cfg.pp", 16, "16").empty());  // a mark in the words of the rule
  CHECK(words("cfg.recompute_modules", std::nullopt, " mlp layernorm ") ==
        "recomputed modules mlp layernorm");
  CHECK(words("cfg.overlap_grad_reduce", 1) == "overlap of the gradient reduction yes");
  CHECK(words("mem.capacity_bytes", 85029158912) == "GPU memory 79.2 GiB");
}

TEST_CASE("fact words: a count says what is counted") {
  CHECK(words("idle.count", 5, "", "idle.cause = 'dataload'") ==
        "stretches idle for data loading, in all 5");
  CHECK(words("idle.share", 0.2, "", "idle.cause = 'alloc'") == "idle for the allocator 20.0 %");
  CHECK(words("idle.share", 0.2, "", "idle.cause = 'jit'") ==
        "idle for code loading and compilation 20.0 %");
  CHECK(words("idle.share", 0.2, "", "idle.cause = 'dependency'") ==
        "idle with work launched 20.0 %");
  CHECK(words("dp.count", 4, "", "dp.kind = 'dp'") == "DP collectives of every kind per step 4");
  CHECK(words("other.count", 4, "", "other.kind = 'other'") ==
        "collectives of unknown groups per step 4");
  CHECK(words("other.exposed_share", 0.2, "", "other.kind = 'other'") ==
        "exposed communication of unknown groups 20.0 %");
  CHECK(words("gemm.count", 4, "", "gemm.class = 'gemm'") == "gemm kernels per step 4");
  // Copies on the device are among them: there may be more than kernels.
  CHECK(words("m.count", 810, "", "m.class = 'membound'") ==
        "memory-bound kernels, device copies and fills per step 810");
  CHECK(words("m.mean_ns", 6800, "", "m.class = 'membound'") == "mean of these 6.8 us");
}

TEST_CASE("fact words: all that a rule or the configuration shows has words of its own") {
  const auto folder = read_rule_folder(WS_SOURCE_DIR "/rules");
  REQUIRE(folder);
  for (const Rule& rule : folder->set.rules) {
    for (const std::string& e : rule.evidence) {
      INFO(rule.id << ": " << e);
      CHECK(has_words(e));
    }
  }
  for (const FactColumn& c : facts_columns()) {
    INFO(c.column);
    if (c.table == "fact_config") CHECK(has_words(c.column));
  }
}

TEST_CASE("fact words: what is not known or says nothing is left out") {
  CHECK(words("cfg.vpp", std::nullopt, "unknown").empty());
  CHECK(words("run.framework", std::nullopt, "pytorch").empty());
  CHECK(words("100 * run.share_lo", 12, "12.0") == "100 * (the loss takes at least) = 12.0");
  CHECK(visible_share({"run.share_lo", "", 0.2}) == true);
  CHECK(visible_share({"run.share_lo", "", 0.0001}) == false);
  CHECK_FALSE(visible_share({"host.kernels_per_step", "", 12}));
  CHECK_FALSE(visible_share({"cfg.precision", "bf16", std::nullopt}));
}

TEST_CASE("fact words: a row of the configuration, as recorded or given, has no column's name") {
  CHECK(config_words("cuda_graphs", "0") == "CUDA graphs no");
  CHECK(config_words("reduces_in_16_bits", "1") == "gradients reduced in 16 bits yes");
  CHECK(config_words("optimizer_seen", "sgd") == "optimizer sgd");
  CHECK(config_words("ddp_seen", "1") == "DistributedDataParallel in use yes");
  CHECK(config_words("loader_workers_seen", "0") == "batches from worker processes no");
  CHECK(config_words("ep", "8") == "EP 8");
  CHECK(config_words("framework", "megatron_lm") == "framework Megatron-LM");
  for (const FactColumn& c : facts_columns()) {
    if (c.table != "fact_config" || c.column == "cuda_device_max_connections") continue;
    INFO(c.column);
    CHECK(config_words(c.column, "1").find('_') == std::string::npos);
  }
}

}  // namespace ws
