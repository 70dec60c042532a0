#pragma once
// Facts filled by hand for tests of advise/ and report/: two ranks, four steps of 10 ms each with
// an exposed expert exchange. Tests change what they need with further SQL.
#include <string>
#include <string_view>

#include "facts/fact_db.h"
#include "support/catch.h"

namespace ws::test {

inline void exec(const FactDb& facts, const std::string& sql) {
  const auto ok = facts.db().exec(sql);
  INFO(sql);
  INFO((ok ? std::string() : ok.error().message));
  REQUIRE(ok);
}

// One row of fact_run, verdict by parts. Everything optional is NULL.
inline void add_run(const FactDb& facts, std::string_view verdict_kind, std::string_view cause) {
  exec(
      facts,
      "INSERT INTO fact_run (id, tool_version, rank_count, device_count, single_rank_of_job, "
      "step_origin, step_window, step_count, steady_count, verdict_kind, cause, confidence) VALUES "
      "('0123456789abcdef', '0.1.0', 1, 1, 0, 'profiler_step', 'device', 4, 3, '" +
          std::string(verdict_kind) + "', '" + std::string(cause) + "', 'low')");
}

inline void add_steps(const FactDb& facts) {
  for (int rank = 0; rank < 2; ++rank) {
    for (int step = 3; step < 7; ++step) {
      const std::string key = std::to_string(rank) + ", 0, " + std::to_string(step);
      const std::string begin = std::to_string(1'000'000'000 + step * 10'000'000);
      const std::string end = std::to_string(1'000'000'000 + (step + 1) * 10'000'000);
      const bool steady = step > 3;
      exec(facts, "INSERT INTO fact_step VALUES (" + key + ", 'ProfilerStep#" +
                      std::to_string(step) + "', " + begin + ", " + end + ", " +
                      (steady ? "1" : "0") + ", 1, " + (step == 5 ? "1" : "0") + ", " +
                      (steady ? "NULL" : "'first of several'") +
                      (step == 5 ? ", 'comm.ep.unsplit', 1200000)" : ", NULL, NULL)"));
      exec(facts, "INSERT INTO fact_step_leaf VALUES (" + key + ", 'gemm', 3000000), (" + key +
                      ", 'membound', 1666667), (" + key + ", 'comm.ep.unsplit', 4500000), (" + key +
                      ", 'idle.launch', 433333), (" + key + ", 'idle.unknown', 400000)");
    }
    const std::string key = std::to_string(rank) + ", 0";
    exec(facts,
         "INSERT INTO fact_rank (rank, device, host, rank_source, gpu, launch_latency_ns, "
         "kernel_gap_ns, step_mean_ns, ops, ops_with_launch) VALUES (" +
             key +
             ", 'host0', 'distributed_info', 'NVIDIA H100 80GB HBM3', 4800, 1900, 10000000, 400, "
             "400)");
    exec(facts, "INSERT INTO fact_rank_leaf SELECT " + key +
                    ", leaf, ns FROM fact_step_leaf WHERE rank = 0 AND step = 4");
  }
}

// The leaves of the contract with 0 ns, then the five of the steps above.
inline void add_leaves(const FactDb& facts) {
  for (const FactColumn& c : facts_columns()) {
    if (c.table != "fact_leaf" || c.column != "leaf") continue;
    for (const std::string& leaf : c.allowed)
      exec(facts, "INSERT INTO fact_leaf VALUES ('" + leaf + "', 0, 0, 0.0)");
  }
  exec(facts,
       "UPDATE fact_leaf SET ns = l.ns, total_ns = 6 * l.ns, share = l.ns / 10000000.0 FROM "
       "fact_rank_leaf l "
       "WHERE l.rank = 0 AND l.leaf = fact_leaf.leaf");
}

inline FactDb exchange_facts() {
  auto made = FactDb::in_memory();
  REQUIRE(made);
  FactDb facts = std::move(made.value());
  add_run(facts, "dominant", "ep_all_to_all");
  exec(facts,
       "UPDATE fact_run SET rank_count = 2, device_count = 2, world_size = 8, gpu = 'NVIDIA H100 "
       "80GB HBM3', "
       "gpu_memory_bytes = 85899345920, platform = 'h100', framework = 'pytorch', step_mean_ns = "
       "10000000, "
       "step_median_ns = 9900000, step_min_ns = 9800000, step_max_ns = 10300000, step_spread_share "
       "= 0.0505, "
       "critical_rank = 1, loss = 'communication', wall = 'communication', confidence = 'medium', "
       "share_lo = 0.45, "
       "share_hi = 0.45, compute_share = 0.4666667, comm_exposed_share = 0.45, idle_share = "
       "0.0833333, latent_memory_wall = 0");
  exec(facts,
       "INSERT INTO fact_config (ep, tp, moe_token_dispatcher_type) VALUES (8, 1, 'alltoall')");
  exec(facts,
       "INSERT INTO fact_source VALUES ('rank0.json.gz', 'kineto-json', 'torch profiler schema 1', "
       "0), "
       "('rank1.json.gz', 'kineto-json', NULL, 1)");
  add_steps(facts);
  add_leaves(facts);
  exec(facts,
       "INSERT INTO fact_loss VALUES ('useful', 4666667, 4666667, 0.4666667, 0.4666667, NULL, "
       "NULL, 'gemm_bound'), "
       "('memory', 0, 0, 0.0, 0.0, NULL, NULL, 'unknown'), "
       "('communication', 4500000, 4500000, 0.45, 0.45, NULL, NULL, 'ep_all_to_all'), "
       "('imbalance', 0, 4500000, 0.0, 0.45, NULL, NULL, 'unknown'), ('bubble', 0, 0, 0.0, 0.0, "
       "NULL, NULL, 'unknown'), "
       "('host', 433333, 833333, 0.0433333, 0.0833333, NULL, NULL, 'launch_bound')");
  exec(facts,
       "INSERT INTO fact_verdict_text VALUES ('why', 0, 'Exchanges between experts are exposed for "
       "4.5 ms a step.'), "
       "('missing', 0, 'the other 6 ranks of the job')");
  exec(facts,
       "INSERT INTO fact_kernel VALUES ('gemm_kernel<float>', 'gemm', 600, 18000000, 30000, 29000, "
       "41000, 0.3, 0), "
       "('a|b`c<d>&e', 'membound', 300, 10000002, 33333, 33000, 40000, 0.1666667, 1)");
  exec(facts,
       "INSERT INTO fact_collective VALUES ('EXPERT_GROUP', 'ep', 'all_to_all', 1048576, 60, "
       "27000000, 0, 0, 27000000, "
       "0, 400000, NULL, NULL)");
  exec(facts,
       "INSERT INTO fact_idle VALUES ('launch', 433333, 120, 0.0433333, 1, 0, 1052000000, 90000, "
       "'gemm_kernel<float>', "
       "'a|b`c<d>&e'), ('unknown', 400000, 6, 0.04, NULL, NULL, NULL, NULL, NULL, NULL)");
  exec(facts,
       "INSERT INTO fact_memory VALUES (85899345920, 60000000000, 70000000000, 0.185, 0.143, 0.0, "
       "0, 0.0, 0.0, 0, 0.0, "
       "1048576, 4, 0.0, 0.0, 0.0, 0, 0.0, NULL, NULL, NULL, NULL)");
  exec(facts,
       "INSERT INTO fact_note VALUES ('peers_missing', 'warning', 1, '', 'only some ranks of the "
       "job were recorded', "
       "'record all ranks'), ('negative_duration', 'warning', 3, 'event 12', 'records ended before "
       "they began', ''), "
       "('records_lost', 'data_loss', 1, 'table X', 'the recorder says that it lost records', "
       "'record a shorter window')");
  return facts;
}

}  // namespace ws::test
