// Which settings of a file a recording denies, and where it can not know.
#include "facts/config_denials.h"

#include "facts/config_merge.h"
#include "support/catch.h"
#include "unit/facts/denied_run.h"

namespace ws {

using made::Change;
using made::denied_keys;
using made::kMs;
using made::on;
using made::row;
using made::run_with;

TEST_CASE("denials: all-reduces alone deny sequence parallelism and the distributed optimizer") {
  struct Side {
    const char* key;
    CommKind kind;
    int64_t per_step;
  };
  for (const Side& s : {Side{"sequence_parallel", CommKind::tp, 4},
                        Side{"use_distributed_optimizer", CommKind::dp, 1}}) {
    INFO(s.key);
    const CollectiveRow reduce = row(s.kind, CollectiveOp::all_reduce, s.per_step);
    const auto keys = [&](const std::vector<CollectiveRow>& rows, const Change& change = {}) {
      return denied_keys(run_with(s.kind, rows, change), on(s.key));
    };
    CHECK(keys({reduce}) == s.key);
    CHECK(denied_keys(run_with(s.kind, {reduce}), {}).empty());
    CHECK(denied_keys(run_with(s.kind, {reduce}), {{s.key, int64_t{0}}}).empty());
    // A single gather or scatter, or an operation without a name, may be what the setting makes.
    for (const CollectiveOp op :
         {CollectiveOp::all_gather, CollectiveOp::reduce_scatter, CollectiveOp::unknown})
      CHECK(keys({reduce, row(s.kind, op, 1, 4096)}).empty());
    CHECK(keys({}).empty());
    CHECK(keys({row(s.kind, CollectiveOp::all_reduce, 8, 4096)}).empty());  // losses and norms
    CHECK(keys({row(s.kind, CollectiveOp::all_reduce, 8, -1)}).empty());
    // Nothing is sure of a guessed kind, of no whole step, of graphs in one piece.
    CHECK(keys({reduce}, [](RankAnalysis& r) { r.communicators[0].guessed = true; }).empty());
    CHECK(keys({reduce}, [](RankAnalysis& r) { r.communicators[0].named = false; }).empty());
    CHECK(keys({reduce}, [](RankAnalysis& r) { r.step_origin = StepOrigin::whole; }).empty());
    CHECK(keys({reduce}, [](RankAnalysis& r) { r.graphs_as_a_whole = true; }).empty());
  }
  // One layer reduces four times: fewer are not those of its activations.
  CHECK(denied_keys(run_with(CommKind::tp, {row(CommKind::tp, CollectiveOp::all_reduce, 3)}),
                    on("sequence_parallel"))
            .empty());
  FactRowValues fsdp = on("use_distributed_optimizer");
  fsdp["megatron_fsdp"] = int64_t{1};
  CHECK(denied_keys(run_with(CommKind::dp, {row(CommKind::dp, CollectiveOp::all_reduce, 1)}), fsdp)
            .empty());
}

TEST_CASE("denials: an overlap of which nothing lies under compute") {
  struct Side {
    const char* key;
    CommKind kind;
    CollectiveOp op;
  };
  for (const Side& s : {Side{"tp_comm_overlap", CommKind::tp, CollectiveOp::all_gather},
                        Side{"overlap_grad_reduce", CommKind::dp, CollectiveOp::reduce_scatter},
                        Side{"overlap_param_gather", CommKind::dp, CollectiveOp::all_gather}}) {
    INFO(s.key);
    const auto keys = [&](const CollectiveRow& r) {
      return denied_keys(run_with(s.kind, {r}), on(s.key));
    };
    CHECK(keys(row(s.kind, s.op, 8)) == s.key);
    CHECK(keys(row(s.kind, s.op, 8, 1 << 20, kMs / 10)).empty());  // some is hidden
    CHECK(keys(row(s.kind, s.op, 1)).empty());  // the last of all has nothing to hide under
    CollectiveRow little = row(s.kind, s.op, 8);
    little.total_ns = little.unsplit_ns = 6 * 10'000;
    CHECK(keys(little).empty());
  }
  // User buffers are sends.
  CHECK(denied_keys(run_with(CommKind::tp, {row(CommKind::tp, CollectiveOp::all_gather, 8),
                                            row(CommKind::tp, CollectiveOp::send_recv, 8)}),
                    on("tp_comm_overlap"))
            .empty());
}

TEST_CASE("denials: full recompute where it would show") {
  const FactRowValues full = {{"recompute_granularity", std::string("full")}};
  const auto keys = [&](bool would_show, TimeNs recompute_ns, const FactRowValues& asked) {
    return denied_keys(run_with(CommKind::dp, {},
                                [&](RankAnalysis& r) {
                                  if (would_show)
                                    r.config.settings.emplace_back("recompute_would_show", "1");
                                  r.devices[0].memory.recompute_ns = recompute_ns;
                                }),
                       asked);
  };
  CHECK(keys(true, 0, full) == "recompute_granularity");
  CHECK(keys(false, 0, full).empty());
  CHECK(keys(true, 1000, full).empty());
  const auto selective = [](const char* modules) {
    return FactRowValues{{"framework", std::string("megatron_lm")},
                         {"recompute_granularity", std::string("selective")},
                         {"recompute_modules", std::string(modules)}};
  };
  CHECK(keys(true, 0, selective(" core_attn ")) == "recompute_granularity");
  CHECK(keys(true, 0, selective(" layernorm core_attn ")) == "recompute_granularity");
  for (const char* modules : {" moe ", " layernorm moe_act ", " mla_up_proj ", " mlp "}) {
    INFO(modules);  // kernels alone do not tell; ranges of backward ops do
    CHECK(keys(true, 0, selective(modules)).empty());
    const auto by_ranges = [&](TimeNs recompute_ns) {
      return denied_keys(run_with(CommKind::dp, {},
                                  [&](RankAnalysis& r) {
                                    r.config.settings.emplace_back("recompute_ranges_would_show",
                                                                   "1");
                                    r.devices[0].memory.recompute_ns = recompute_ns;
                                  }),
                         selective(modules));
    };
    CHECK(by_ranges(0) == "recompute_granularity");
    CHECK(by_ranges(1000).empty());
  }
  FactRowValues of_torch = selective(" core_attn ");
  of_torch["framework"] = std::string("pytorch");
  CHECK(keys(true, 0, of_torch).empty());
  // One rank of two can not tell.
  int asked_ranks = 0;
  CHECK(denied_keys(run_with(CommKind::dp, {},
                             [&](RankAnalysis& r) {
                               if (asked_ranks++ == 0)
                                 r.config.settings.emplace_back("recompute_would_show", "1");
                             }),
                    full)
            .empty());
}

TEST_CASE("denials: virtual stages where the stages hand over once a micro-batch") {
  const auto keys = [](int64_t sends, const FactRowValues& changes) {
    RunAnalysis run = run_with(CommKind::pp, {row(CommKind::pp, CollectiveOp::send_recv, sends)});
    run.across.pipeline = PipelineShape{};
    run.across.pipeline->stages = 2;
    FactRowValues asked = {{"vpp", int64_t{4}},         {"pp", int64_t{2}},
                           {"gpus", int64_t{2}},        {"tp", int64_t{1}},
                           {"cp", int64_t{1}},          {"micro_batch", int64_t{1}},
                           {"global_batch", int64_t{8}}};
    for (const auto& [key, value] : changes) asked[key] = value;
    return denied_keys(run, asked);
  };
  CHECK(keys(16, {}) == "vpp");
  CHECK(keys(32, {}).empty());  // one kernel of all transfers at a time
  CHECK(keys(64, {}).empty());
  CHECK(keys(16, {{"vpp", int64_t{2}}}).empty());
  CHECK(keys(15, {{"vpp", int64_t{2}}}) == "vpp");
  CHECK(keys(16, {{"vpp", int64_t{1}}}).empty());
  CHECK(keys(16, {{"gpus", int64_t{0}}}).empty());          // micro-batches are not known
  CHECK(keys(16, {{"global_batch", int64_t{4}}}).empty());  // half as many
}

TEST_CASE("denials: experts of the file where no rank has a kernel of them") {
  const auto keys = [](const char* setting, const FactRowValues& asked) {
    return denied_keys(run_with(CommKind::dp, {},
                                [&](RankAnalysis& r) {
                                  if (*setting != 0) r.config.settings.emplace_back(setting, "1");
                                }),
                       asked);
  };
  const FactRowValues moe = {{"num_experts", int64_t{64}}};
  CHECK(keys("no_experts_seen", moe) == "num_experts");
  CHECK(keys("no_experts_seen", {{"ep", int64_t{4}}}) == "num_experts");
  CHECK(keys("experts_seen", moe).empty());
  CHECK(keys("", moe).empty());  // routing may be made of kernels that sort
  CHECK(keys("no_experts_seen", {{"num_experts", int64_t{1}}}).empty());
  // A stage may hold the dense layers alone.
  CHECK(keys("no_experts_seen", {{"num_experts", int64_t{64}}, {"pp", int64_t{2}}}).empty());
}

TEST_CASE("denials: loader, gradients, sharding and the exchange of context parallelism") {
  const RunAnalysis none = run_with(CommKind::dp, {});
  const auto workers = [&](int64_t asked, int64_t seen) {
    return denied_keys(none, {{"num_workers", asked}}, {{"loader_workers_seen", seen}});
  };
  CHECK(workers(0, 1) == "num_workers");
  CHECK(workers(4, 0) == "num_workers");
  CHECK(workers(0, 0).empty());
  CHECK(workers(4, 1).empty());
  CHECK(denied_keys(none, {{"num_workers", int64_t{0}}}).empty());
  CHECK(denied_keys(none, on("grad_reduce_in_fp32"), on("reduces_in_16_bits")) ==
        "grad_reduce_in_fp32");
  CHECK(denied_keys(none, on("grad_reduce_in_fp32"), {{"reduces_in_16_bits", int64_t{0}}}).empty());

  const RunAnalysis reduces =
      run_with(CommKind::dp, {row(CommKind::dp, CollectiveOp::all_reduce, 1)});
  const RunAnalysis shards =
      run_with(CommKind::dp, {row(CommKind::dp, CollectiveOp::all_gather, 6, 1 << 20, kMs),
                              row(CommKind::dp, CollectiveOp::reduce_scatter, 6, 1 << 20, kMs)});
  const FactRowValues fsdp = {{"fsdp_shard_size", int64_t{64}}};
  const FactRowValues ddp = {{"ddp_bucket_cap_mb", 25.0}};
  CHECK(denied_keys(reduces, fsdp) == "fsdp_shard_size");
  CHECK(denied_keys(reduces, {{"fsdp_shard_size", int64_t{1}}}).empty());
  CHECK(denied_keys(reduces, {{"fsdp_shard_size", int64_t{0}}}) == "fsdp_shard_size");
  CHECK(denied_keys(shards, fsdp).empty());
  CHECK(denied_keys(shards, fsdp, on("ddp_seen")) == "fsdp_shard_size");
  CHECK(denied_keys(shards, ddp) == "ddp_bucket_cap_mb");
  CHECK(denied_keys(reduces, ddp).empty());

  const RunAnalysis gathers =
      run_with(CommKind::cp, {row(CommKind::cp, CollectiveOp::all_gather, 6),
                              row(CommKind::cp, CollectiveOp::reduce_scatter, 6)});
  const RunAnalysis ring = run_with(CommKind::cp, {row(CommKind::cp, CollectiveOp::send_recv, 6)});
  const FactRowValues p2p = {{"cp_comm_type", std::string("p2p")}};
  CHECK(denied_keys(gathers, p2p) == "cp_comm_type");
  CHECK(denied_keys(gathers, {{"cp_comm_type", std::string("allgather")}}).empty());
  CHECK(denied_keys(gathers, {{"framework", std::string("megatron_lm")}}) == "cp_comm_type");
  CHECK(denied_keys(gathers, {}).empty());
  CHECK(denied_keys(ring, p2p).empty());
  CHECK(denied_keys(ring, {{"cp_comm_type", std::string("a2a")}}).empty());  // sends as well
}

TEST_CASE("denials: the row has what ran, and the lever is not in use") {
  const RunAnalysis run = run_with(CommKind::tp, {row(CommKind::tp, CollectiveOp::all_reduce, 8)});
  const ConfigShown shown = config_shown(run, evidence_of(run.ranks, run.means));
  const FactRowValues asked = {{"sequence_parallel", int64_t{1}},
                               {"tp_comm_overlap", int64_t{1}},
                               {"num_workers", int64_t{0}}};
  const ConfigMerge m = merge_config(asked, {{"loader_workers_seen", int64_t{1}}}, {"num_workers"},
                                     std::nullopt, shown);
  CHECK(std::get<int64_t>(m.row.at("sequence_parallel")) == 0);
  CHECK(std::get<int64_t>(m.row.at("tp_comm_overlap")) == 0);  // it can not run without
  CHECK(m.row.count("num_workers") == 0);
  CHECK(std::get<std::string>(m.row.at("denied")) ==
        " sequence_parallel tp_comm_overlap num_workers ");
  CHECK(std::get<std::string>(m.row.at("contradicted")).find("0 (its default) against worker") !=
        std::string::npos);
  CHECK(m.not_in_use ==
        std::set<std::string>{"num_workers", "sequence_parallel", "tp_comm_overlap"});
  for (const Contradiction& c : m.contradictions) CHECK(c.told_by_rule);
}

TEST_CASE("denials: small modules in the file, and whole layers are computed again") {
  ConfigShown shown;
  shown.recompute_of_layers = true;
  FactRowValues asked = {{"framework", std::string("megatron_lm")},
                         {"recompute_granularity", std::string("selective")},
                         {"recompute_modules", std::string(" moe_act layernorm ")}};
  const auto told = [&] { return denials(asked, {}, shown); };
  REQUIRE(told().size() == 1);
  CHECK(told()[0].key == "recompute_modules");
  CHECK(told()[0].configured == "moe_act layernorm");
  CHECK(told()[0].drop == std::vector<std::string>{"recompute_granularity", "recompute_modules"});
  asked["overlap_moe_expert_parallel_comm"] = int64_t{1};  // the passes lie beside each other
  CHECK(told().empty());
  asked.erase("overlap_moe_expert_parallel_comm");
  asked["recompute_modules"] = std::string(" core_attn layernorm ");
  CHECK(told().empty());
  asked.erase("recompute_modules");
  CHECK(told().empty());
  asked["recompute_modules"] = std::string(" layernorm ");
  CHECK(told().size() == 1);
  shown.recompute_of_layers = false;
  CHECK(told().empty());
}

TEST_CASE("denials: the file of a framework that did not run is another run's") {
  // One rank alone has the sign, both have the names.
  const auto told = [&](const std::string& framework, const char* names, const char* sign,
                        const std::string& format = std::string(kNativeFormat)) {
    bool first = true;
    const RunAnalysis run = run_with(CommKind::dp, {}, [&](RankAnalysis& r) {
      r.framework = names;
      if (first && *sign != 0) r.config.settings.emplace_back("no_megatron", sign);
      first = false;
    });
    RunConfig config;
    config.format = format;
    if (!framework.empty()) set_value(config, "framework", framework, "run.json");
    const auto found =
        framework_against_names(config, config_shown(run, evidence_of(run.ranks, run.means)));
    return found ? found->configured + " against " + found->recorded : std::string();
  };
  CHECK(told("megatron_lm", "pytorch", "embedding bags") ==
        "Megatron-LM against PyTorch (embedding bags)");
  CHECK(told("megatron_bridge", "pytorch", "torchtitan") ==
        "Megatron Bridge against PyTorch (torchtitan)");
  CHECK(told("pytorch", "megatron_lm", "") == "PyTorch against Megatron-LM");
  CHECK(told("pytorch", "megatron_bridge", "") == "PyTorch against Megatron Bridge");
  CHECK(told("pytorch", "megatron_core", "", std::string(kTorchtitanFormat)) ==
        "torchtitan against Megatron Core");
  CHECK(told("pytorch", "megatron_core", "") == "PyTorch against Megatron Core");
  CHECK(told("megatron_lm", "megatron_bridge", "") == "Megatron-LM against Megatron Bridge");
  CHECK(told("megatron_bridge", "megatron_lm", "") == "Megatron Bridge against Megatron-LM");
  // What goes together, and what is not sure.
  CHECK(told("megatron_lm", "pytorch", "").empty());
  CHECK(told("megatron_bridge", "megatron_core", "").empty());
  CHECK(told("megatron_lm", "megatron_core", "").empty());
  CHECK(told("pytorch", "pytorch", "DistributedDataParallel of PyTorch").empty());
  CHECK(told("pytorch", "pytorch", "torchtitan", std::string(kTorchtitanFormat)).empty());
  CHECK(told("", "pytorch", "embedding bags").empty());
  CHECK(told("megatron_lm", "megatron_core", "embedding bags").empty());

  const ConfigMerge m = merge_config(
      {{"tp", int64_t{2}}, {"precision", std::string("bf16")}, {"num_experts", int64_t{8}}},
      {{"precision", std::string("fp32")}}, {}, std::nullopt, {},
      {{"framework", "Megatron-LM", "PyTorch", false}});
  CHECK(m.other_run);
  CHECK_FALSE(m.unfit);
  CHECK(std::get<std::string>(m.row.at("precision")) == "fp32");
  CHECK(m.row.count("tp") + m.row.count("num_experts") == 0);
  CHECK(std::get<int64_t>(m.row.at("sizes_contradicted")) == 1);
  CHECK(std::get<std::string>(m.row.at("contradicted")).rfind("framework Megatron-LM against", 0) ==
        0);
}

TEST_CASE(
    "denials: the recorded type of the GEMMs takes the place of all that the file says of it") {
  ConfigShown shown;
  const auto merged = [&](FactRowValues asked, const char* seen,
                          const std::set<std::string>& defaults = {}) {
    shown.precisions = {seen};
    return merge_config(asked, {{"precision", std::string(seen)}}, defaults, std::nullopt, shown);
  };
  const FactRowValues bf16 = {
      {"precision", std::string("bf16")}, {"bf16", int64_t{1}}, {"fp16", int64_t{0}}};
  for (const char* seen : {"fp16", "fp32", "tf32"}) {
    INFO(seen);
    const ConfigMerge m = merged(bf16, seen);
    CHECK(std::get<std::string>(m.row.at("precision")) == seen);
    CHECK(std::get<int64_t>(m.row.at("bf16")) == 0);
    CHECK(std::get<int64_t>(m.row.at("fp16")) == (std::string(seen) == "fp16"));
    CHECK(m.not_in_use.count("bf16") == 1);
    CHECK(std::get<std::string>(m.row.at("denied")) == " precision ");
  }
  CHECK(merged(bf16, "bf16").row.count("denied") == 0);
  const ConfigMerge fp8 = merged({{"precision", std::string("fp8")},
                                  {"fp8_format", std::string("hybrid")},
                                  {"fp8_recipe", std::string("delayed")}},
                                 "bf16");
  CHECK(fp8.row.count("fp8_format") + fp8.row.count("fp8_recipe") == 0);  // they shape no list
  CHECK(fp8.row.count("bf16") == 0);  // the file has no such key
  CHECK(fp8.not_in_use.count("mixed_precision") + fp8.not_in_use.count("fp8_recipe") == 2);
  CHECK(std::get<int64_t>(merged(bf16, "fp8").row.at("bf16")) == 1);  // what FP8 is beside
  // Half of a command names no type: what was recorded counts, and a warning tells.
  const ConfigMerge half = merged({{"precision", std::string("fp32")}}, "bf16", {"bf16", "fp16"});
  CHECK(std::get<std::string>(half.row.at("precision")) == "bf16");
  CHECK(half.row.count("denied") + half.row.count("precision_asked") == 0);
  CHECK_FALSE(half.contradictions.at(0).told_by_rule);
  CHECK(half.contradictions.at(0).configured == "fp32 (its default)");
  shown.gemm_types_told = false;
  CHECK(merged(bf16, "fp32").contradictions.empty());
}

TEST_CASE("denials: GEMMs of several types, of which none is the one asked for") {
  ConfigShown shown;
  shown.precisions = {"bf16", "fp16"};
  const FactRowValues seen = {{"precision", std::string("mixed")}};
  const auto asked = [&](const char* precision) {
    return merge_config({{"precision", std::string(precision)}}, seen, {}, std::nullopt, shown);
  };
  const ConfigMerge fp32 = asked("fp32");
  CHECK(std::get<std::string>(fp32.row.at("precision")) == "mixed");
  CHECK(std::get<std::string>(fp32.row.at("precision_asked")) == "fp32");
  REQUIRE(fp32.contradictions.size() == 1);
  CHECK(fp32.contradictions[0].recorded == "bf16 and fp16");
  CHECK(fp32.contradictions[0].told_by_rule);
  CHECK(std::get<std::string>(fp32.row.at("denied")) == " precision ");
  CHECK(asked("bf16").contradictions.empty());
  // The router multiplies in FP32, and the names of the experts' GEMMs tell nothing.
  shown.gemm_types_told = false;
  CHECK(merge_config({{"precision", std::string("bf16")}}, {{"precision", std::string("fp32")}}, {},
                     std::nullopt, shown)
            .contradictions.empty());
  shown.gemm_types_told = true;
  shown.precisions.insert("tf32");
  CHECK(asked("fp32").contradictions.empty());
}

}  // namespace ws
