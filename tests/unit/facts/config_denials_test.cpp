// Which settings of a file a recording denies, and where it can not know.
#include "facts/config_denials.h"

#include <functional>

#include "facts/config_merge.h"
#include "support/catch.h"
#include "unit/analysis/made_rank.h"

namespace ws {
namespace {

constexpr TimeNs kMs = 1'000'000;

using Change = std::function<void(RankAnalysis&)>;

// Two ranks alike: six counted steps of 1 ms, a fifth of it communication of the kind.
RunAnalysis run_with(CommKind kind, const std::vector<CollectiveRow>& rows,
                     const Change& change = {}) {
  DeviceAnalysis device = made::device(made::leaves(
      {{Leaf::gemm, 800'000}, {comm_leaf(OpClass::comm, kind, CommPart::unsplit), 200'000}}));
  device.collectives = rows;
  std::vector<RankAnalysis> ranks = {made::rank(device, 0, 2), made::rank(device, 1, 2)};
  for (RankAnalysis& r : ranks) {
    r.communicators.push_back({"GROUP", "1|0|1", {0, 1}, 2, kind, true, false});
    if (change) change(r);
  }
  RunAnalysis run;
  run.ranks = std::move(ranks);
  run.means = means_of(run.ranks);
  return run;
}

CollectiveRow row(CommKind kind, CollectiveOp op, int64_t per_step, int64_t bytes = 96 << 20,
                  TimeNs hidden_ns = 0) {
  CollectiveRow out = made::collective(kind, op, 6 * 200'000, 6 * per_step);
  out.bytes = bytes;
  out.hidden_ns = hidden_ns;
  return out;
}

std::string denied_keys(const RunAnalysis& run, const FactRowValues& asked,
                        const FactRowValues& seen = {}) {
  const ConfigShown shown = config_shown(run, evidence_of(run.ranks, run.means));
  std::string out;
  for (const Denial& d : denials(asked, seen, shown)) out += (out.empty() ? "" : " ") + d.key;
  return out;
}

FactRowValues on(const char* key) { return {{key, int64_t{1}}}; }

}  // namespace

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
  // What goes together, and what is not sure.
  CHECK(told("megatron_lm", "pytorch", "").empty());
  CHECK(told("megatron_lm", "megatron_bridge", "").empty());
  CHECK(told("megatron_bridge", "megatron_core", "").empty());
  CHECK(told("megatron_bridge", "megatron_lm", "").empty());
  CHECK(told("pytorch", "megatron_core", "").empty());
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
  CHECK(fp8.row.count("fp8_recipe") == 1);  // beside what is advised it stands in the file
  CHECK(fp8.row.count("bf16") == 0);        // the file has no such key
  CHECK(fp8.not_in_use.count("mixed_precision") == 1);
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

TEST_CASE("denials: collectives that only a setting makes deny that it is off") {
  using Rows = std::vector<CollectiveRow>;
  const auto of = [](CommKind kind, int64_t reduces, int64_t scatters, int64_t gathers) {
    Rows out;
    if (reduces > 0) out.push_back(row(kind, CollectiveOp::all_reduce, reduces));
    if (scatters > 0) out.push_back(row(kind, CollectiveOp::reduce_scatter, scatters));
    if (gathers > 0) out.push_back(row(kind, CollectiveOp::all_gather, gathers));
    return out;
  };
  const auto off = [](const char* key, FactRowValues more = {}) {
    more[key] = int64_t{0};
    return more;
  };
  const auto keys = [&](CommKind kind, const Rows& rows, const FactRowValues& asked,
                        const Change& change = {}) {
    return denied_keys(run_with(kind, rows, change), asked);
  };
  const auto guessed = [](RankAnalysis& r) { r.communicators[0].guessed = true; };

  const FactRowValues no_sp = off("sequence_parallel");
  CHECK(keys(CommKind::tp, of(CommKind::tp, 1, 4, 6), no_sp) == "sequence_parallel");
  CHECK(keys(CommKind::tp, of(CommKind::tp, 1, 4, 6), on("sequence_parallel")).empty());
  CHECK(keys(CommKind::tp, of(CommKind::tp, 1, 4, 6), {}).empty());
  CHECK(keys(CommKind::tp, of(CommKind::tp, 4, 0, 6), no_sp).empty());  // tensors between stages
  CHECK(keys(CommKind::tp, of(CommKind::tp, 4, 2, 2), no_sp).empty());  // less than a layer
  CHECK(keys(CommKind::tp, of(CommKind::tp, 1, 4, 6), no_sp, guessed).empty());
  CHECK(keys(CommKind::tp, of(CommKind::tp, 1, 4, 6),  // experts that TP cuts
             off("sequence_parallel", {{"num_experts", int64_t{8}}}))
            .empty());
  CHECK(keys(CommKind::tp, of(CommKind::tp, 1, 4, 6), no_sp, [](RankAnalysis& r) {
          r.communicators.push_back({"E", "2|0|1", {0, 1}, 2, CommKind::ep, true, false});
        }).empty());

  const auto buffers = [](RankAnalysis& r) {
    r.config.settings.emplace_back("user_buffers_seen", "1");
  };
  CHECK(keys(CommKind::tp, {}, off("tp_comm_overlap"), buffers) == "tp_comm_overlap");
  CHECK(keys(CommKind::tp, {}, no_sp, buffers) == "sequence_parallel");
  CHECK(keys(CommKind::tp, {}, on("tp_comm_overlap"), buffers).empty());
  CHECK(keys(CommKind::tp, {}, off("tp_comm_overlap")).empty());

  const FactRowValues no_dist = off("use_distributed_optimizer");
  CHECK(keys(CommKind::dp, of(CommKind::dp, 0, 1, 1), no_dist) == "use_distributed_optimizer");
  CHECK(keys(CommKind::dp, of(CommKind::dp, 1, 1, 1), no_dist).empty());
  CHECK(keys(CommKind::dp, of(CommKind::dp, 0, 0, 2), no_dist).empty());
  CHECK(keys(CommKind::dp, of(CommKind::dp, 0, 1, 1), no_dist, guessed).empty());
  CHECK(keys(CommKind::dp, of(CommKind::dp, 0, 1, 1),
             off("use_distributed_optimizer", on("megatron_fsdp")))
            .empty());

  struct Side {
    const char* key;
    CollectiveOp op;
  };
  for (const Side& s : {Side{"overlap_grad_reduce", CollectiveOp::reduce_scatter},
                        Side{"overlap_param_gather", CollectiveOp::all_gather}}) {
    INFO(s.key);
    const auto hidden = [&](int64_t count, TimeNs ns, const FactRowValues& asked,
                            const Change& change = {}) {
      return keys(CommKind::dp, {row(CommKind::dp, s.op, count, 96 << 20, ns)}, asked, change);
    };
    constexpr TimeNs kAll = 6 * 200'000;
    CHECK(hidden(8, kAll, off(s.key)) == s.key);
    CHECK(hidden(8, kAll / 2 + 1, off(s.key)) == s.key);
    CHECK(hidden(8, kAll / 2, off(s.key)).empty());
    CHECK(hidden(1, kAll, off(s.key)).empty());
    CHECK(hidden(8, kAll, {}).empty());
    CHECK(hidden(8, kAll, off(s.key), guessed).empty());
    CHECK(hidden(8, kAll, off(s.key, on("megatron_fsdp"))).empty());
    CollectiveRow little = row(CommKind::dp, s.op, 8, 96 << 20, 6 * 10'000);
    little.total_ns = little.unsplit_ns = 6 * 10'000;
    CHECK(keys(CommKind::dp, {little}, off(s.key)).empty());
  }
}

TEST_CASE("denials: recompute and graphs that run though the file has none") {
  const FactRowValues none = {{"recompute_granularity", std::string("none")}};
  const auto recompute = [&](TimeNs first_ns, TimeNs second_ns, const FactRowValues& asked) {
    int ranks = 0;
    return denied_keys(run_with(CommKind::dp, {},
                                [&](RankAnalysis& r) {
                                  r.devices[0].memory.recompute_ns =
                                      ranks++ == 0 ? first_ns : second_ns;
                                }),
                       asked);
  };
  CHECK(recompute(kMs / 20, kMs / 20, none) == "recompute_granularity");
  CHECK(recompute(kMs / 20, kMs / 20 - 1, none).empty());  // one rank has next to none
  CHECK(recompute(0, 0, none).empty());
  CHECK(recompute(kMs / 20, kMs / 20, {}).empty());
  CHECK(
      recompute(kMs / 20, kMs / 20, {{"recompute_granularity", std::string("selective")}}).empty());
  FactRowValues two_batches = none;  // one goes forward while another goes backward
  two_batches["overlap_moe_expert_parallel_comm"] = int64_t{1};
  CHECK(recompute(kMs / 20, kMs / 20, two_batches).empty());

  const RunAnalysis run = run_with(CommKind::dp, {});
  const auto graphs = [&](const FactRowValues& asked, const FactRowValues& seen) {
    return denied_keys(run, asked, seen);
  };
  const FactRowValues no_graphs = {{"cuda_graph_impl", std::string("none")}};
  CHECK(graphs(no_graphs, {{"cuda_graphs", int64_t{1}}}) == "cuda_graph_impl");
  CHECK(graphs(no_graphs, {{"cuda_graphs", int64_t{0}}}).empty());
  CHECK(graphs(no_graphs, {}).empty());
  CHECK(graphs({}, {{"cuda_graphs", int64_t{1}}}).empty());
  CHECK(graphs({{"cuda_graph_impl", std::string("local")}}, {{"cuda_graphs", int64_t{1}}}).empty());
}

TEST_CASE("denials: what is on in the recording is in use") {
  const RunAnalysis run = run_with(
      CommKind::dp, {row(CommKind::dp, CollectiveOp::reduce_scatter, 8, 1 << 20, 6 * 200'000)});
  const ConfigShown shown = config_shown(run, evidence_of(run.ranks, run.means));
  const ConfigMerge m = merge_config({{"overlap_grad_reduce", int64_t{0}}}, {},
                                     {"overlap_grad_reduce"}, std::nullopt, shown);
  CHECK(std::get<int64_t>(m.row.at("overlap_grad_reduce")) == 1);
  CHECK(std::get<std::string>(m.row.at("denied")) == " overlap_grad_reduce_on ");
  CHECK(std::get<std::string>(m.row.at("contradicted")) ==
        "overlap_grad_reduce no (its default) against reductions under compute");
  CHECK(m.not_in_use.count("overlap_grad_reduce") == 1);  // as the file writes it
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
