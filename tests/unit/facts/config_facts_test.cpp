// A run configuration as facts, and what happens where the recording shows something else.
#include "facts/config_facts.h"

#include "config/read_config.h"
#include "facts/config_merge.h"
#include "support/catch.h"

namespace ws {
namespace {

FactDb facts_of(const std::string& yaml) {
  const auto config = read_config(yaml, "run.yaml");
  if (!config) FAIL(config.error().message);
  static const auto platforms = Platforms::load(WS_SOURCE_DIR "/rules/platforms.json");
  auto facts = config_facts(*config, study_config(*config, *platforms, nullptr));
  if (!facts) FAIL(facts.error().message);
  return std::move(*facts);
}

std::string value(const FactDb& facts, const std::string& table, const std::string& column) {
  auto row = facts.db().prepare("SELECT " + column + " FROM " + table);
  REQUIRE(row);
  REQUIRE(row->step());
  return row->is_null(0) ? "NULL" : std::string(row->text(0));
}

std::string word(const FactRowValues& row, const char* key) {
  const auto it = row.find(key);
  if (it == row.end()) return "-";
  if (const auto* i = std::get_if<int64_t>(&it->second)) return std::to_string(*i);
  return std::get<std::string>(it->second);
}

}  // namespace

TEST_CASE("config facts: releases as numbers that compare") {
  const auto release = [](const std::string& yaml, const char* column) {
    return value(facts_of(yaml), "fact_config", column);
  };
  CHECK(release("framework_version: '0.16'", "core_release") == "16");
  CHECK(release("framework_version: core_r0.12.0", "core_release") == "12");
  CHECK(release("framework_version: main", "core_release") == "19");
  CHECK(release("te_version: 2.10.0.dev0", "te_release") == "210");
  CHECK(release("torch_version: '2.9'", "torch_release") == "209");
  // PyTorch is no release of Megatron Core, and Bridge counts from 0.1.
  const std::string torch = "framework: pytorch\nframework_version: '2.8'";
  CHECK(release(torch, "core_release") == "NULL");
  CHECK(release(torch, "torch_release") == "208");
  CHECK(release("framework: pytorch\nframework_version: main", "torch_release") == "NULL");
  CHECK(release("framework: megatron_bridge\nframework_version: '0.4'", "core_release") == "NULL");
}

TEST_CASE("config facts: a model's sizes are no settings of a run") {
  const std::string card = "model_type: llama\nnum_hidden_layers: 8\nhidden_size: 512\n";
  CHECK(value(facts_of(card), "fact_config", "given") == "0");
  CHECK(value(facts_of(card), "fact_config", "environment_given") == "NULL");
  CHECK(value(facts_of(card), "fact_config", "num_layers") == "8");
  CHECK(value(facts_of(card + "tp: 1\n"), "fact_config", "given") == "1");
}

TEST_CASE("config facts: what a file shows of itself") {
  CHECK(value(facts_of("tp: 2"), "fact_config", "environment_given") == "0");
  CHECK(value(facts_of("tp: 2\nenv: {OMP_NUM_THREADS: 1}"), "fact_config", "environment_given") ==
        "1");
  CHECK(value(facts_of("tp: 2"), "fact_config", "taken_as_whole") == "1");
  CHECK(value(facts_of("framework: megatron_bridge\ntp: 2"), "fact_config", "taken_as_whole") ==
        "0");
  CHECK(value(facts_of("framework: megatron_bridge\ntensor_model_parallel_size: 2"), "fact_config",
              "spelled") == " framework tensor-model-parallel-size ");
  const auto script = [](const char* text) {
    const auto config = read_config(text, "run.sh");
    if (!config) FAIL(config.error().message);
    return config_row(*config);
  };
  const auto old = script(
      "export NCCL_NVLS_ENABLE=0\nGPUS=8\ntorchrun pretrain_gpt.py --moe-enable-deepep "
      "--num-layers 4\n");
  CHECK(word(old, "environment_given") == "1");
  CHECK(word(old, "spelled").find(" moe-enable-deepep ") != std::string::npos);
  CHECK(word(old, "taken_as_whole") == "1");
  const auto part = script("GPUS=8\ntorchrun pretrain_gpt.py --num-layers 4 $MORE\n");
  CHECK(word(part, "environment_given") == "0");
  CHECK(word(part, "taken_as_whole") == "0");
  // A run that was recorded did start, whatever its file leaves out.
  CHECK(merge_config(old, {}).row.count("taken_as_whole") == 0);
}

TEST_CASE("config facts: every column of fact_config is a key of the configuration, or derived") {
  const std::vector<std::string> derived = {"given",
                                            "core_release",
                                            "te_release",
                                            "torch_release",
                                            "taken_as_whole",
                                            "environment_given",
                                            "spelled",
                                            "cuda_graphs",
                                            "cuda_graph_key",
                                            "precision",
                                            "dispatcher_asked",
                                            "precision_asked",
                                            "graphs_asked",
                                            "contradicted",
                                            "denied",
                                            "sizes_contradicted",
                                            "reduces_in_16_bits",
                                            "optimizer_seen",
                                            "ddp_seen",
                                            "loader_workers_seen",
                                            "precisions_seen"};
  for (const FactColumn& c : facts_columns()) {
    if (c.table != "fact_config") continue;
    INFO(c.column);
    const ConfigKey* key = key_table().find(c.column);
    const bool known = std::count(derived.begin(), derived.end(), c.column) > 0;
    CHECK((key != nullptr || known));
    if (key == nullptr || key->type != KeyType::text) continue;
    for (const std::string& choice : c.allowed)
      CHECK(std::count(key->choices.begin(), key->choices.end(), choice) == 1);
  }
}

TEST_CASE("config facts: values, lists, derived columns") {
  const FactDb f = facts_of(
      "tp: 2\nep: 8\nnum_experts: 64\ngpus: 64\nsequence_parallel: true\nrecompute_granularity: "
      "selective\n"
      "recompute_modules: [moe_act, norm]\ncuda_graph_impl: transformer_engine\nbf16: true\n"
      "fp8_format: e4m3\nplatform: h100\nmicro_batch: 1\nglobal_batch: 100\nseq_len: 8192\ncp: "
      "2\npp: 2\n"
      "optimizer_offload_fraction: 0.5\nddp_bucket_cap_mb: 25\n");
  CHECK(value(f, "fact_config", "given") == "1");
  CHECK(value(f, "fact_config", "tp") == "2");
  CHECK(value(f, "fact_config", "sequence_parallel") == "1");
  CHECK(value(f, "fact_config", "recompute_modules") == " moe_act norm ");
  CHECK(value(f, "fact_config", "cuda_graphs") == "1");
  CHECK(value(f, "fact_config", "precision") == "fp8");
  CHECK(value(f, "fact_config", "ddp_bucket_cap_mb") == "25.0");
  CHECK(value(f, "fact_config", "vpp") == "NULL");
  CHECK(value(f, "fact_layout", "etp_used") == "2");
  CHECK(value(f, "fact_layout", "etp_given") == "0");
  CHECK(value(f, "fact_layout", "min_gpus") == "32");
  CHECK(value(f, "fact_layout", "attention_fits") == "1");
  CHECK(value(f, "fact_layout", "expert_fits") == "1");
  CHECK(value(f, "fact_layout", "dp") == "8");
  CHECK(value(f, "fact_layout", "batch_fits") == "0");
  CHECK(value(f, "fact_layout", "samples_per_pass") == "8");
  CHECK(value(f, "fact_layout", "sequence_fits") == "1");
  CHECK(value(f, "fact_layout", "experts_fit") == "1");
  CHECK(value(f, "fact_layout", "recompute_rejected") == " norm ");
  CHECK(value(f, "fact_layout", "recompute_corrected") == "moe_act layernorm");
  CHECK(value(f, "fact_layout", "compute_major") == "9");
  CHECK(value(f, "fact_layout", "fast_domain_gpus") == "8");
  CHECK(value(f, "fact_layout", "memory_bytes") == "NULL");
  CHECK(value(f, "fact_layout", "heads_fit") == "NULL");
}

TEST_CASE("config facts: one recipe of FP8 for the GPU and the model") {
  const auto recipe = [](const std::string& yaml) {
    const FactDb f = facts_of(yaml);
    return value(f, "fact_layout", "fp8_recipe_suggested") + " " +
           value(f, "fact_layout", "mixed_precision_suggested");
  };
  const std::string experts = "num_experts: 64\nmulti_latent_attention: true\n";
  CHECK(recipe("tp: 2\n") == "NULL NULL");
  CHECK(recipe("platform: h100\n") == "tensorwise bf16_with_fp8_current_scaling_mixed");
  CHECK(recipe("platform: h100\n" + experts) == "blockwise bf16_with_fp8_subchannel_scaling_mixed");
  CHECK(recipe("platform: gb200\n" + experts) == "mxfp8 bf16_with_mxfp8_mixed");
}

TEST_CASE("config facts: settings as the frameworks write them") {
  const FactDb f = facts_of(
      "manual_gc: true\nmanual_gc_interval: 50\nfp8_format: hybrid\ngrad_reduce_in_fp32: false\n"
      "recompute_modules: [mlp, layernorm]\noverlap_grad_reduce: false\n");
  const auto given = [&](const std::string& name) {
    auto row = f.db().prepare("SELECT value FROM fact_setting WHERE name = ?");
    REQUIRE(row);
    row->bind(1, std::string_view(name));
    return row->step() ? std::string(row->text(0)) : "-";
  };
  CHECK(given("--manual-gc").empty());
  CHECK(given("manual_gc") == "True");
  CHECK(given("--manual-gc-interval") == "50");
  CHECK(given("--fp8-format") == "hybrid");
  CHECK(given("--recompute-modules") == "mlp layernorm");
  CHECK(given("--grad-reduce-in-bf16").empty());                // the flag that says false
  CHECK(given("--accumulate-allreduce-grads-in-fp32") == "-");  // would say true
  CHECK(given("--overlap-grad-reduce") == "-");
  CHECK(given("overlap_grad_reduce") == "False");
}

TEST_CASE("config facts: the key of the graphs that the file itself uses") {
  const auto key = [](const std::string& text) {
    return value(facts_of(text), "fact_config", "cuda_graph_key");
  };
  const std::string script = "python pretrain_gpt.py --num-layers 4 ";
  CHECK(key(script + "--cuda-graph-scope attn") == "cuda_graph_scope");
  CHECK(key(script + "--cuda-graph-modules attn") == "cuda_graph_modules");
  CHECK(key(script + "--cuda-graph-modules attn --cuda-graph-scope attn") == "both");
  CHECK(key(script + "--cuda-graph-modules attn --cuda-graph-scope mlp") == "both");
  CHECK(key(script) == "NULL");
  CHECK(key("model: {num_layers: 4, cuda_graph_scope: [attn]}\n") == "cuda_graph_scope");
  CHECK(key("model: {num_layers: 4, cuda_graph_modules: [attn]}\n") == "cuda_graph_modules");
  CHECK(key("cfg.model.cuda_graph_scope = [\"attn\"]\ncfg.model.num_layers = 4\n") ==
        "cuda_graph_scope");
  CHECK(key("num_layers: 4\ntp: 1\ncuda_graph_modules: [attn]\n") ==
        "NULL");  // our own name for it
}

TEST_CASE("config facts: a size from outside the file leaves what hangs on it unknown") {
  const FactDb f = facts_of(
      "x.py --tensor-model-parallel-size $TP --num-experts 8 --expert-model-parallel-size 4 "
      "--world-size 16 --num-attention-heads 8 --seq-length 4096\n");
  for (const char* column :
       {"attention_product", "attention_fits", "expert_product", "expert_fits", "min_gpus", "dp",
        "edp", "heads_fit", "tokens_per_shard", "etp_used", "cp_suggested"}) {
    INFO(column);
    CHECK(value(f, "fact_layout", column) == "NULL");
  }
  CHECK(value(f, "fact_layout", "experts_fit") == "1");
}

TEST_CASE("config facts: what FSDP shards says that it is there") {
  const auto size = [](const std::string& yaml) {
    return value(facts_of(yaml), "fact_config", "fsdp_shard_size");
  };
  const std::string torch = "framework: pytorch\n";
  CHECK(size(torch + "fsdp_sharding: optim_grads_params\n") == "0");
  CHECK(size(torch + "fsdp_sharding: optim_grads_params\nfsdp_shard_size: 8\n") == "8");
  CHECK(size(torch + "fsdp_sharding: no_shard\n") == "NULL");
  CHECK(size(torch + "fsdp_sharding: optim\n") == "NULL");  // goes with DistributedDataParallel
  CHECK(size("framework: megatron_lm\nfsdp_sharding: optim_grads_params\n") == "NULL");
}

TEST_CASE("config facts: shards and the other sizes lie over all GPUs") {
  const std::string of = "framework: pytorch\ntp: 2\nfsdp_shard_size: 4\n";
  CHECK(value(facts_of(of + "gpus: 16\n"), "fact_layout", "shards_fit") == "1");
  const FactDb unfit = facts_of(of + "gpus: 12\n");
  CHECK(value(unfit, "fact_layout", "shard_product") == "8");
  CHECK(value(unfit, "fact_layout", "shards_fit") == "0");
  CHECK(value(facts_of("framework: pytorch\ngpus: 12\nfsdp_shard_size: 0\n"), "fact_layout",
              "shards_fit") == "NULL");
  // Both degrees given: no other number of GPUs than their product.
  const std::string both = "framework: pytorch\nfsdp_shard_size: 8\nfsdp_replicas: 2\n";
  CHECK(value(facts_of(both + "gpus: 16\n"), "fact_layout", "shards_fit") == "1");
  const FactDb twice = facts_of(both + "gpus: 32\n");
  CHECK(value(twice, "fact_layout", "shards_fit") == "0");
  CHECK(value(twice, "fact_layout", "shard_gpus") == "16");
  CHECK(value(twice, "fact_layout", "shard_arithmetic") ==
        "32 GPUs / (replicas 2 x shards 8 x TP 1 x CP 1 x PP 1 = 16) = 2, to be 1");
  CHECK(value(facts_of("framework: pytorch\nfsdp_replicas: 2\ngpus: 9\n"), "fact_layout",
              "shard_gpus") == "a multiple of 2");
}

TEST_CASE("config facts: stages, heads, memory") {
  const std::string model =
      "num_layers: 8\nhidden_size: 64\nattention_heads: 6\nkv_heads: 2\nvocab_size: 100\n"
      "ffn_hidden_size: 256\nseq_len: 100\ngpus: 4\nplatform: a100\n";
  const FactDb f = facts_of(model + "pp: 3\ntp: 4\ncp: 3\ncp_comm_type: a2a\ndp: 9\n");
  CHECK(value(f, "fact_layout", "stages_fit") == "0");
  CHECK(value(f, "fact_layout", "stages_problem").find("do not divide") != std::string::npos);
  CHECK(value(f, "fact_layout", "heads_fit") == "0");
  CHECK(value(f, "fact_layout", "kv_heads_fit") == "NULL");  // it depends on the release
  const std::string groups = model + "tp: 4\nframework: megatron_lm\nframework_version: ";
  CHECK(value(facts_of(groups + "0.15\n"), "fact_layout", "kv_heads_fit") == "0");
  CHECK(value(facts_of(groups + "0.16\n"), "fact_layout", "kv_heads_fit") == "1");
  CHECK(value(f, "fact_layout", "sequence_fits") == "0");
  CHECK(value(f, "fact_layout", "attention_fits") == "0");
  const FactDb g = facts_of(model + "dp: 9\n");
  CHECK(value(g, "fact_layout", "dp_asked") == "9");
  CHECK(value(g, "fact_layout", "dp") == "4");
  CHECK(value(g, "fact_layout", "stages_fit") == "1");
  CHECK(std::stoll(value(g, "fact_layout", "memory_bytes")) > 1'000'000);
  const double all = std::stod(value(g, "fact_layout", "memory_share"));
  const double state = std::stod(value(g, "fact_layout", "memory_state_share"));
  CHECK(state > 0);
  CHECK(state < all);  // activations are not in it
  const FactDb h = facts_of(model + "pp: 2\nvpp: 2\npipeline_layout: \"Et*4|t*4L\"\n");
  CHECK(value(h, "fact_layout", "stages_problem") ==
        "the layout has 2 stages, PP x VPP = 2 x 2 = 4");
  CHECK(value(h, "fact_layout", "stages_given") == "2");
}

TEST_CASE("merge: the recording wins and contradictions are told") {
  const FactRowValues asked = {{"tp", int64_t{4}},
                               {"pp", int64_t{2}},
                               {"moe_token_dispatcher_type", std::string("flex")},
                               {"moe_flex_dispatcher_backend", std::string("hybridep")},
                               {"precision", std::string("mxfp8")},
                               {"cuda_graphs", int64_t{1}}};
  FactRowValues seen = {{"tp", int64_t{4}},
                        {"moe_token_dispatcher_type", std::string("alltoall")},
                        {"precision", std::string("bf16")},
                        {"cuda_graphs", int64_t{0}}};
  const ConfigMerge m = merge_config(asked, seen);
  CHECK(word(m.row, "tp") == "4");
  CHECK(word(m.row, "pp") == "2");
  CHECK(word(m.row, "moe_token_dispatcher_type") == "alltoall");
  CHECK(word(m.row, "moe_flex_dispatcher_backend") == "-");
  CHECK(word(m.row, "dispatcher_asked") == "hybridep");
  CHECK(word(m.row, "precision") == "bf16");
  CHECK(word(m.row, "precision_asked") == "mxfp8");
  CHECK(word(m.row, "graphs_asked") == "1");
  CHECK(m.contradictions.size() == 3);
  CHECK(!m.other_run);
  // Of another run's file nothing is taken.
  seen["tp"] = int64_t{2};
  const ConfigMerge other = merge_config(asked, seen);
  CHECK(other.contradictions.size() == 3);
  CHECK(other.contradictions[0].sentence() ==
        "tp: the configuration says 4, the recording shows 2");
  CHECK(other.other_run);
  CHECK(word(other.row, "tp") == "2");
  CHECK(word(other.row, "given") == "1");
  CHECK(word(other.row, "sizes_contradicted") == "1");
  CHECK(word(other.row, "contradicted").rfind("tp 4 against 2, ", 0) == 0);
  CHECK(word(other.row, "precision") == "bf16");
  CHECK(word(other.row, "moe_token_dispatcher_type") == "alltoall");
  for (const char* key : {"pp", "dispatcher_asked", "precision_asked", "graphs_asked"}) {
    INFO(key);
    CHECK(word(other.row, key) == "-");
  }
}

TEST_CASE("merge: sizes that make no grid of the GPUs that ran are another run's") {
  Layout layout;
  layout.attention_product = 8;
  CHECK_FALSE(layout_against_gpus(layout, 8));
  CHECK_FALSE(layout_against_gpus(layout, 0));
  CHECK_FALSE(layout_against_gpus(Layout(), 0));
  const auto unfit = layout_against_gpus(layout, 12);
  REQUIRE(unfit);
  CHECK(unfit->sentence() == "TP x CP x PP: the configuration says 8, the recording shows 12 GPUs");
  layout.gpus = 64;  // for more GPUs than ran
  CHECK_FALSE(layout_against_gpus(layout, 16));
  REQUIRE(layout_against_gpus(layout, 4));  // nor can it have run on these
  CHECK(layout_against_gpus(layout, 4)->recorded == "4 GPUs");
  layout.gpus = 4;
  CHECK(layout_against_gpus(layout, 0)->recorded == "a job that started");
  layout.attention_known = false;  // sizes from outside the file
  CHECK_FALSE(layout_against_gpus(layout, 12));
  layout.experts = true;
  layout.expert_product = 16;
  CHECK(layout_against_gpus(layout, 8)->key == "ETP x EP x PP");
  CHECK(layout_against_gpus(layout, 4)->recorded == "4 GPUs");
  const ConfigMerge m = merge_config({{"fp8_format", std::string("hybrid")}, {"tp", int64_t{8}}},
                                     {{"precision", std::string("bf16")}}, {}, unfit);
  CHECK(m.other_run);
  CHECK(word(m.row, "fp8_format") == "-");
  CHECK(word(m.row, "sizes_contradicted") == "1");
  CHECK(word(m.row, "contradicted") == "TP x CP x PP 8 against 12 GPUs");
}

TEST_CASE("merge: what agrees, and what kernel names can not tell, is no contradiction") {
  const auto merged = [](const FactRowValues& asked, const FactRowValues& seen) {
    return merge_config(asked, seen);
  };
  const ConfigMerge fp8 =
      merged({{"precision", std::string("mxfp8")}}, {{"precision", std::string("mixed")}});
  CHECK(word(fp8.row, "precision") == "mxfp8");
  CHECK(fp8.contradictions.empty());
  CHECK(merged({{"precision", std::string("mxfp8")}}, {{"precision", std::string("fp8")}})
            .contradictions.empty());
  CHECK(word(merged({}, {{"precision", std::string("tf32")}}).row, "precision") == "tf32");
  const auto tf32 =
      merged({{"precision", std::string("fp32")}}, {{"precision", std::string("tf32")}});
  CHECK(tf32.contradictions.empty());  // how FP32 is multiplied
  CHECK(word(merged({{"precision", std::string("fp32")}}, {{"precision", std::string("bf16")}}).row,
             "precision_asked") == "fp32");
  const ConfigMerge gather = merged({{"moe_token_dispatcher_type", std::string("alltoall")}},
                                    {{"moe_token_dispatcher_type", std::string("allgather")}});
  CHECK(word(gather.row, "moe_token_dispatcher_type") == "alltoall");
  CHECK(gather.contradictions.empty());
  const ConfigMerge same = merged({{"moe_token_dispatcher_type", std::string("flex")},
                                   {"moe_flex_dispatcher_backend", std::string("deepep")}},
                                  {{"moe_token_dispatcher_type", std::string("flex")},
                                   {"moe_flex_dispatcher_backend", std::string("deepep")}});
  CHECK(same.contradictions.empty());
  CHECK(word(same.row, "contradicted") == "-");
  CHECK(word(same.row, "moe_flex_dispatcher_backend") == "deepep");
  const ConfigMerge graphs =
      merged({{"cuda_graphs", int64_t{0}}, {"cuda_graph_impl", std::string("none")}},
             {{"cuda_graphs", int64_t{1}}});
  CHECK(word(graphs.row, "denied") == " cuda_graph_impl_on ");
  CHECK(word(graphs.row, "cuda_graphs") == "1");
  CHECK(word(graphs.row, "cuda_graph_impl") == "-");
  // A setting that did not take effect does not make it another run.
  CHECK_FALSE(merged({{"cuda_graphs", int64_t{0}}}, {{"cuda_graphs", int64_t{1}}}).other_run);
  CHECK(merge_config({{"ep", int64_t{1}}}, {{"ep", int64_t{4}}}).other_run);
  CHECK_FALSE(merge_config({{"tp", int64_t{1}}}, {{"tp", int64_t{4}}}, {"tp"}).other_run);
  CHECK(merge_config({{"ep", int64_t{1}}}, {{"ep", int64_t{4}}}, {"ep"}).other_run);
  const ConfigMerge scaled = merged({{"gpus", int64_t{64}}}, {{"gpus", int64_t{8}}});
  CHECK(scaled.other_scale);
  CHECK_FALSE(scaled.other_run);
  CHECK(word(scaled.row, "gpus") == "64");
}

}  // namespace ws
