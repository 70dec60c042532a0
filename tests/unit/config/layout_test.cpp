#include "config/layout.h"

#include "config/read_config.h"
#include "support/catch.h"

namespace ws {
namespace {

RunConfig config_of(const std::string& yaml) {
  auto config = read_config(yaml, "test.yaml");
  if (!config) FAIL(config.error().message);
  return *config;
}

Layout layout(const std::string& yaml) { return layout_of(config_of(yaml)); }

}  // namespace

TEST_CASE("layout: both grids, the smallest job and what is left for data parallelism") {
  // The published long-context layouts: 256, 512 and 128 GPUs, exactly the smallest job.
  const Layout a =
      layout("gpus: 256\ntp: 1\ncp: 32\nep: 32\netp: 1\npp: 8\nvpp: 4\nseq_len: 131072\n");
  CHECK(a.attention_product == 256);
  CHECK(a.expert_product == 256);
  CHECK(a.min_gpus == 256);
  CHECK(a.dp == 1);
  CHECK(a.edp == 1);
  CHECK(a.cp_suggested == 32);
  const Layout b = layout("gpus: 512\ntp: 1\ncp: 64\nep: 32\netp: 1\npp: 8\nseq_len: 262144\n");
  CHECK(b.min_gpus == 512);
  CHECK(b.expert_product == 256);
  CHECK(b.dp == 1);
  CHECK(b.edp == 2);
  CHECK(b.cp_suggested == 64);
  const Layout c = layout("gpus: 128\ntp: 4\ncp: 4\nep: 32\netp: 1\npp: 4\nseq_len: 131072\n");
  CHECK(c.min_gpus == 128);
  CHECK(c.attention_product == 64);
  CHECK(c.dp == 2);
  CHECK(c.cp_suggested == 8);  // 131072 / 4096 = 32 pieces, 4 of them by TP
}

TEST_CASE("layout: the grids are folded, so the smallest job is a common multiple") {
  const Layout a = layout("gpus: 48\ntp: 2\ncp: 3\nep: 4\netp: 1\npp: 2\n");
  CHECK(a.min_gpus == 2 * 12);
  CHECK(a.dp == 4);
  CHECK(a.edp == 6);
  const Layout b = layout("gpus: 50\ntp: 2\ncp: 3\nep: 4\netp: 1\npp: 2\n");
  CHECK_FALSE(b.dp);
  CHECK_FALSE(b.edp);
}

TEST_CASE("layout: recompute modules that this model accepts") {
  const auto cheap = [](const std::string& yaml) { return cheap_recompute(config_of(yaml)); };
  using Names = std::vector<std::string>;
  CHECK(cheap("num_layers: 4\n") == Names{"layernorm", "mlp"});
  CHECK(cheap("num_experts: 8\n") == Names{"layernorm", "moe_act"});
  CHECK(cheap("num_experts: 8\nmoe_grouped_gemm: false\n") == Names{"layernorm"});
  CHECK(cheap("num_experts: 8\nmulti_latent_attention: true\n") ==
        Names{"layernorm", "moe_act", "mla_up_proj"});
  CHECK(cheap("num_layers: 4\nfp8_format: hybrid\nfp8_recipe: delayed\n") == Names{"mlp"});
}

TEST_CASE("layout: one list of recompute modules answers all that is said of the configured one") {
  const auto advised = [](const std::string& yaml) {
    return advised_recompute(config_of("recompute_granularity: selective\n" + yaml), false, false);
  };
  using Names = std::vector<std::string>;
  CHECK(advised("num_experts: 8\nrecompute_modules: [layernorm, moe_act]\n").empty());
  CHECK(advised("num_experts: 8\nrecompute_modules: [core_attn]\n").empty());
  CHECK(advised("num_experts: 8\nrecompute_modules: [core_attn, mlp]\n") == Names{"mlp"});
  CHECK(advised("num_experts: 8\nrecompute_modules: [moe, mlp]\n") ==
        Names{"mlp", "layernorm", "moe_act"});
  CHECK(advised("num_experts: 8\nmulti_latent_attention: true\n"
                "recompute_modules: [up_proj, norm, moe, core_attn]\n") ==
        Names{"mla_up_proj", "layernorm", "moe_act"});
  CHECK(advised("num_experts: 8\nrecompute_modules: [moe]\noffload_modules: [expert_fc1]\n") ==
        Names{"layernorm"});
  CHECK(advised_recompute(
            config_of("recompute_granularity: full\nrecompute_modules: [moe]\nnum_experts: 8\n"),
            false, false)
            .empty());
  // What is short of memory needs something in the place of core_attn, and keeps a moe that counts.
  const RunConfig attention =
      config_of("recompute_granularity: selective\nrecompute_modules: [core_attn]\n");
  CHECK(advised_recompute(attention, false, true) == Names{"layernorm", "mlp"});
  const RunConfig whole = config_of(
      "recompute_granularity: selective\nrecompute_modules: [up_proj, moe]\nnum_experts: 8\n"
      "multi_latent_attention: true\n");
  CHECK(advised_recompute(whole, true, false) == Names{"mla_up_proj", "moe"});
}

TEST_CASE("layout: a selective list is widened by the cheap modules it lacks") {
  const auto widened = [](const std::string& yaml) { return widened_recompute(config_of(yaml)); };
  const std::string some = "recompute_granularity: selective\nrecompute_modules: [mlp]\n";
  CHECK(widened(some) == std::vector<std::string>{"mlp", "layernorm"});
  CHECK(widened("recompute_granularity: selective\nrecompute_modules: [mlp, layernorm]\n").empty());
  CHECK(widened("recompute_modules: [mlp]\n").empty());  // not selective
  // Another list is advised already.
  CHECK(widened("recompute_granularity: selective\nrecompute_modules: [core_attn]\n").empty());
  CHECK(widened(some + "num_experts: 8\nmoe_grouped_gemm: true\noffload_modules: [expert_fc1]\n") ==
        std::vector<std::string>{"mlp", "layernorm"});
}

TEST_CASE("layout: expert tensor parallelism that is not given is that of attention") {
  const Layout a = layout("gpus: 64\ntp: 2\nep: 8\n");
  CHECK(a.etp == 2);
  CHECK(a.expert_product == 16);
  CHECK(std::count(a.assumed.begin(), a.assumed.end(), "etp") == 1);
  const Layout dense = layout("gpus: 64\ntp: 2\n");
  CHECK_FALSE(dense.experts);
  CHECK(dense.min_gpus == 2);
  CHECK_FALSE(dense.edp);
}

TEST_CASE("layout: accumulation, bubble, virtual stages") {
  const Layout a = layout("gpus: 64\ntp: 2\npp: 4\nvpp: 3\nmicro_batch: 2\nglobal_batch: 256\n");
  CHECK(a.dp == 8);
  CHECK(a.accumulation == 16);
  CHECK(a.stages == 12);
  CHECK(*a.bubble_share == Approx(3.0 / (3 * 16)));
  CHECK_FALSE(layout("gpus: 64\nmicro_batch: 2\nglobal_batch: 100\n").accumulation);
  CHECK(layout("pp: 2\nnum_layers: 24\nlayers_per_virtual_stage: 3\n").vpp == 4);
  const Layout uneven = layout(
      "gpus: 2\nmicro_batch: 1\nglobal_batch: 8\npp: 2\nnum_layers: 25\n"
      "layers_per_virtual_stage: 3\n");
  CHECK_FALSE(uneven.vpp);
  CHECK_FALSE(uneven.bubble_share);  // which hangs on it
  const std::string per_stage = "pp: 2\nlayers_per_virtual_stage: 3\n";
  CHECK(layout(per_stage + "num_layers: 23\naccount_for_loss: true\n").vpp == 4);
  CHECK(layout(per_stage + "num_layers: 23\naccount_for_embedding: true\n").vpp == 4);
  CHECK(layout(per_stage + "num_layers: 22\naccount_for_embedding: true\naccount_for_loss: true\n")
            .vpp == 4);
}

TEST_CASE("layout: context parallel sizes round to the nearer power of two") {
  const auto cp = [](const std::string& seq, const std::string& tp = "1") {
    return layout("seq_len: " + seq + "\ntp: " + tp + "\n").cp_suggested;
  };
  CHECK(cp("4096") == 1);
  CHECK(cp("8192") == 2);
  CHECK(cp("1000") == 1);
  CHECK(cp("20480") == 4);  // 5 pieces: 4 is nearer than 8
  CHECK(cp("24576") == 8);  // 6 pieces: up from here
  CHECK(cp("65536", "8") == 2);
  CHECK(cp("8192", "8") == 1);
}

TEST_CASE("layout: replicas and shards are factors of the smallest job") {
  const Layout a = layout("tp: 2\npp: 2\nfsdp_shard_size: 4\nfsdp_replicas: 3\n");
  CHECK(a.min_gpus == 48);
  CHECK(a.gpus == 48);  // no other number goes
  CHECK(a.gpus_from_degrees);
  CHECK(a.dp == 12);
  CHECK(layout("gpus: 7\nfsdp_shard_size: 4\nfsdp_replicas: 3\n").gpus == 7);
  const Layout one = layout("fsdp_shard_size: 4\n");
  CHECK(one.min_gpus == 4);
  CHECK_FALSE(one.gpus);
  CHECK(layout("fsdp_shard_size: 0\ntp: 2\n").min_gpus == 2);  // all that is left: no factor
  CHECK(layout("fsdp_shard_size: 0\nfsdp_replicas: 3\ntp: 2\n").min_gpus == 6);
  CHECK(layout("fsdp_shard_size: 6\nep: 4\netp: 1\nnum_experts: 8\n").min_gpus == 12);
  const Layout huge = layout("fsdp_shard_size: 4194304\nfsdp_replicas: 4194304\ntp: 32768\n");
  CHECK(huge.min_gpus);
  CHECK_FALSE(huge.gpus);
}

TEST_CASE("layout: products never overflow") {
  const Layout a = layout("tp: 32768\ncp: 32767\nep: 32749\netp: 32719\npp: 32768\n");
  CHECK(a.min_gpus == INT64_MAX);
  CHECK(saturating_product(INT64_MAX, 2) == INT64_MAX);
  CHECK(least_common_multiple(12, 18) == 36);
}

TEST_CASE("precision: from flags and from the names of Bridge recipes") {
  const auto p = [](const std::string& yaml) { return precision_of(config_of(yaml)); };
  CHECK(p("bf16: true\n") == "bf16");
  CHECK(p("bf16: true\nfp8_format: hybrid\n") == "fp8");
  CHECK(p("bf16: true\nfp8_format: e4m3\nfp8_recipe: mxfp8\n") == "mxfp8");
  CHECK(p("fp4_format: e2m1\n") == "nvfp4");
  CHECK(p("mixed_precision: bf16_with_mxfp8_mixed\n") == "mxfp8");
  CHECK(p("mixed_precision: bf16_with_nvfp4_mixed\n") == "nvfp4");
  CHECK(p("mixed_precision: bf16_with_fp8_current_scaling_mixed\n") == "fp8");
  CHECK(p("mixed_precision: bf16_mixed\n") == "bf16");
  CHECK(p("fp16: true\n") == "fp16");
  CHECK(p("fp16: false\nbf16: false\n") == "fp32");
  CHECK(p("mixed_precision: float32\n") == "fp32");
  CHECK_FALSE(p("tp: 1\n"));
}

TEST_CASE("recompute: names that no release accepts are told and translated") {
  const auto names = [](const std::string& modules, const std::string& more = "") {
    return check_recompute_names(config_of("recompute_modules: [" + modules + "]\n" + more));
  };
  const RecomputeNames a = names("up_proj, norm, moe, mlp");
  CHECK(a.rejected == std::vector<std::string>{"up_proj", "norm"});
  CHECK(a.corrected == std::vector<std::string>{"mla_up_proj", "layernorm", "moe", "mlp"});
  CHECK(names("moe_act, layernorm").rejected.empty());
  const RecomputeNames b = names("up_proj, layernorm", "multi_latent_attention: false\n");
  CHECK(b.rejected == std::vector<std::string>{"up_proj"});
  CHECK(b.corrected == std::vector<std::string>{"layernorm"});
  const RecomputeNames c = names("mla_up_proj", "multi_latent_attention: false\n");
  CHECK(c.rejected == std::vector<std::string>{"mla_up_proj"});
  CHECK(c.corrected.empty());
  CHECK(names("everything").rejected == std::vector<std::string>{"everything"});
}

}  // namespace ws
