#include "config/remedies.h"

#include "config/read_config.h"
#include "support/catch.h"

namespace ws {
namespace {

Remedies remedies(const std::string& yaml, const MemoryUse& memory = {}) {
  const auto config = read_config(yaml, "test.yaml");
  if (!config) FAIL(config.error().message);
  const Layout layout = layout_of(*config);
  return remedies_of(*config, layout, pipeline_split(*config, layout, nullptr), memory);
}

}  // namespace

TEST_CASE("remedies: a grid that does not divide, in numbers, and the nearest that does") {
  const Remedies r = remedies("gpus: 24\ntp: 4\ncp: 1\npp: 4\n");
  CHECK(r.attention.arithmetic == "24 GPUs / (TP 4 x CP 1 x PP 4 = 16) = 1.5");
  CHECK(r.attention.nearest == "16 or 32 GPUs");
  CHECK(r.expert.arithmetic.empty());
  CHECK(r.layout_nearest == "PP 3 (DP 2) or PP 6 (DP 1)");
  // What the model has of a size must divide as well: 8 layers take neither 3 nor 6 stages.
  const Remedies layers = remedies("gpus: 24\ntp: 4\npp: 4\nnum_layers: 8\n");
  CHECK(layers.layout_nearest == "PP 2 (DP 3) or TP 2 (DP 3)");
  const Remedies heads = remedies("gpus: 24\ntp: 4\npp: 4\nnum_layers: 8\nattention_heads: 12\n");
  CHECK(heads.layout_nearest == "TP 3 (DP 2) or TP 6 (DP 1)");
  const Remedies none = remedies("gpus: 32\ntp: 4\npp: 4\n");
  CHECK(none.attention.arithmetic.empty());
  CHECK(none.layout_nearest.empty());
}

TEST_CASE("remedies: both grids stand on the same GPUs") {
  const Remedies r = remedies("gpus: 64\ntp: 1\npp: 8\nep: 32\netp: 1\nnum_experts: 256\n");
  CHECK(r.attention.arithmetic.empty());
  CHECK(r.expert.arithmetic == "64 GPUs / (ETP 1 x EP 32 x PP 8 = 256) = 0.25");
  CHECK(r.expert.nearest == "256 GPUs");
  CHECK(r.layout_nearest == "PP 2 (DP 32, EDP 1) or EP 8 (DP 8, EDP 1)");
  // Where the experts' TP is not given it moves with TP, or 1 is the nearest.
  const Remedies follows = remedies("gpus: 8\ntp: 4\nep: 4\nnum_experts: 8\n");
  CHECK(follows.expert.arithmetic == "8 GPUs / (ETP 4 x EP 4 x PP 1 = 16) = 0.5");
  CHECK(follows.layout_nearest == "ETP 1 (DP 2, EDP 2) or TP 2 (DP 4, EDP 1)");
  // Both at once, and a batch that the new DP has to divide where that goes.
  const Remedies both =
      remedies("gpus: 24\ntp: 4\npp: 4\nep: 8\netp: 4\nmicro_batch: 1\nglobal_batch: 6\n");
  CHECK_FALSE(both.attention.arithmetic.empty());
  CHECK(both.attention.nearest == "128 GPUs");
  CHECK(both.layout_nearest.find("PP 3 and EP 2 (DP 2, EDP 1)") == 0);
}

TEST_CASE("remedies: batch, heads, experts, sequence and stages") {
  const Remedies batch = remedies("gpus: 8\nmicro_batch: 4\nglobal_batch: 50\n");
  CHECK(batch.batch.arithmetic == "global batch 50 / (micro-batch 4 x DP 8 = 32) = 1.562");
  CHECK(batch.batch.nearest == "global batch 32 or 64");
  const Remedies heads = remedies("tp: 8\nattention_heads: 20\n");
  CHECK(heads.heads.arithmetic == "20 query heads / TP 8 = 2.5");
  CHECK(heads.heads.nearest == "TP 5 or 10");
  const Remedies groups = remedies("tp: 8\nattention_heads: 24\nkv_heads: 6\ngpus: 24\n");
  CHECK(groups.heads.arithmetic == "6 key-value heads / TP 8 = 0.75");
  CHECK(groups.heads.nearest == "TP 6");
  const std::string grouped = "framework: megatron_lm\ntp: 8\nattention_heads: 24\ngpus: 24\n";
  const auto nearest = [&](const char* more) { return remedies(grouped + more).heads.nearest; };
  CHECK(nearest("kv_heads: 6\nframework_version: 0.15\n") == "TP 6");
  CHECK(nearest("kv_heads: 6\nframework_version: 0.16\n") == "TP 6 or 12");
  CHECK(nearest("kv_heads: 4\nframework_version: 0.15\n") == "TP 4");
  CHECK(nearest("kv_heads: 4\nframework_version: 0.16\n").empty());  // it is taken
  CHECK(nearest("kv_heads: 4\n").empty());                           // it may be
  const std::string torch =
      "framework: pytorch\ntp: 16\nattention_heads: 64\ngpus: 64\nkv_heads: 8\n";
  CHECK(remedies(torch).heads.arithmetic == "8 key-value heads / TP 16 = 0.5");
  CHECK(remedies(torch).heads.nearest == "TP 8");
  CHECK(remedies(torch + "multi_latent_attention: true\n").heads.arithmetic.empty());
  const Remedies moved = remedies("tp: 4\ncp: 4\ncp_comm_type: a2a\nattention_heads: 24\n");
  CHECK(moved.heads.arithmetic == "24 query heads / (TP 4 x CP 4 = 16) = 1.5");
  CHECK(moved.heads.nearest == "TP 3 or 6, or CP 2");
  CHECK(remedies("cp: 64\ncp_comm_type: a2a\nattention_heads: 32\n").heads.nearest == "CP 32");
  const Remedies experts = remedies("ep: 8\nnum_experts: 60\n");
  CHECK(experts.expert_count.arithmetic == "60 experts / EP 8 = 7.5");
  CHECK(experts.expert_count.nearest == "EP 6 or 10");
  const Remedies sequence = remedies("cp: 8\nseq_len: 4100\n");
  CHECK(sequence.sequence.arithmetic == "sequence 4100 / (2 x CP 8 = 16) = 256.2");
  CHECK(sequence.sequence.nearest == "CP 2, or sequence 4096 or 4112");
  CHECK(remedies("cp: 3\nseq_len: 8192\n").sequence.nearest ==
        "CP 2 or 4, or sequence 8190 or 8196");
  CHECK(remedies("cp: 3\nseq_len: 8192\ntp: 8\ncp_comm_type: a2a\nattention_heads: 16\n")
            .sequence.nearest == "CP 2, or sequence 8190 or 8196");
  CHECK(remedies("cp: 3\nseq_len: 4097\n").sequence.nearest == "sequence 4092 or 4098");
  // The layout that is nearest has sizes that divide heads, experts and sequence.
  const Remedies all = remedies(
      "gpus: 8\ntp: 3\ncp: 3\nattention_heads: 32\nep: 3\nnum_experts: 64\nseq_len: 8192\n");
  CHECK_FALSE(all.layout_nearest.empty());
  for (const Remedy* r : {&all.heads, &all.expert_count, &all.sequence}) {
    CHECK_FALSE(r->arithmetic.empty());
    CHECK(r->nearest.empty());
  }
  const Remedies stages = remedies("pp: 4\nvpp: 4\nnum_layers: 40\n");
  CHECK(stages.stages.arithmetic == "40 / (PP 4 x VPP 4 = 16) = 2.5");
  CHECK(stages.stages.nearest == "VPP 2 or 5, or PP 2 or 5");
  const Remedies accounted = remedies("pp: 4\nnum_layers: 30\naccount_for_loss: true\n");
  CHECK(accounted.stages.arithmetic == "31 / (PP 4 x VPP 1 = 4) = 7.75");
  CHECK(accounted.stages.nearest == "PP 1 or 31");
  const Remedies by_layers = remedies("pp: 4\nnum_layers: 40\nlayers_per_virtual_stage: 4\n");
  CHECK(by_layers.stages.arithmetic == "40 / (PP 4 x layers 4 = 16) = 2.5");
  CHECK(by_layers.stages.nearest == "PP 2 or 5");
}

TEST_CASE("remedies: what is near passes the checks that come next") {
  // 96 GPUs are nearer, but DP 3 does not divide the batch.
  const Remedies batch = remedies("gpus: 100\ntp: 8\npp: 4\nmicro_batch: 1\nglobal_batch: 256\n");
  CHECK(batch.attention.nearest == "64 or 128 GPUs");
  CHECK(batch.layout_nearest == "TP 4 and PP 25 (DP 1) or TP 2 and PP 25 (DP 2)");
  // Interleaving needs a pipeline, and whole virtual stages.
  const std::string per_stage =
      "x.py --world-size 100 --tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 "
      "--num-layers 80 --num-layers-per-virtual-pipeline-stage 5 --num-attention-heads 64\n";
  CHECK(remedies(per_stage).layout_nearest == "TP 1 (DP 25) or TP 2 and PP 2 (DP 25)");
  const auto config = read_config(per_stage, "run.sh");
  if (!config) FAIL(config.error().message);
  const Layout layout = layout_of(*config);
  const PipelineSplit split = pipeline_split(*config, layout, nullptr);
  // TP 1 holds too much.
  const auto by_tp = [](const RunConfig& c) {
    const auto tp = static_cast<double>(integer(c, "tp").value_or(1));
    return std::optional(MemoryShares{1.2 / tp, 1.3 / tp});
  };
  CHECK(remedies_of(*config, layout, split, by_tp)
            .layout_nearest.find("TP 2 and PP 2 (DP 25, 60 % of the memory)") == 0);
  const auto never = [](const RunConfig&) { return std::optional(MemoryShares{0.95, 1.01}); };
  CHECK(remedies_of(*config, layout, split, never).layout_nearest.empty());
}

TEST_CASE("remedies: TP stays with the key-value heads and inside the fast domain") {
  const std::string run = "gpus: 576\ntp: 8\npp: 5\nattention_heads: 128\n";
  CHECK(remedies(run).layout_nearest == "PP 6 (DP 12) or PP 4 (DP 18)");
  const auto config = read_config("gpus: 144\ntp: 8\npp: 32\nattention_heads: 128\n", "a.yaml");
  REQUIRE(config);
  const Layout layout = layout_of(*config);
  const auto nearest = [&](int64_t domain) {
    return remedies_of(*config, layout, PipelineSplit{}, {}, domain).layout_nearest;
  };
  CHECK(nearest(0) == "PP 18 (DP 1) or PP 9 (DP 2)");
  CHECK(nearest(8) == nearest(0));
  const auto heads = read_config("tp: 12\nattention_heads: 128\n", "a.yaml");
  REQUIRE(heads);
  CHECK(remedies_of(*heads, layout_of(*heads), {}, {}, 0).heads.nearest == "TP 8 or 16");
  CHECK(remedies_of(*heads, layout_of(*heads), {}, {}, 8).heads.nearest == "TP 8");
}

TEST_CASE("remedies: a layout that is given says how many virtual stages there are") {
  const std::string layout = "pipeline_layout: 'Ettt|ttt|ttt|ttt|ttt|ttt|ttt|tttL'\n";
  CHECK(remedies("gpus: 16\npp: 2\nvpp: 2\n" + layout).stages.nearest == "VPP 4, or PP 4");
  CHECK(remedies("gpus: 6\npp: 2\nvpp: 2\n" + layout).stages.nearest == "VPP 4");
  CHECK(remedies("pp: 3\n" + layout).stages.nearest == "PP 8");
  CHECK(remedies("pp: 2\nvpp: 4\n" + layout).stages.nearest.empty());
}

TEST_CASE("remedies: a value with which the model would not fit the memory is none") {
  const auto most = [](const char* key, int64_t least) {
    return [=](const RunConfig& c) {
      const double share = static_cast<double>(least) / static_cast<double>(*integer(c, key));
      return std::optional(MemoryShares{share, share});
    };
  };
  const std::string stages = "pp: 4\nnum_layers: 31\n";
  CHECK(remedies(stages).stages.nearest == "PP 1 or 31");
  CHECK(remedies(stages, most("pp", 4)).stages.nearest == "PP 31");
  CHECK(remedies(stages, most("pp", 32)).stages.nearest.empty());
  const std::string heads = "tp: 8\nattention_heads: 20\n";
  CHECK(remedies(heads, most("tp", 8)).heads.nearest == "TP 10");
  const std::string experts = "gpus: 24\nep: 3\netp: 1\nnum_experts: 8\n";
  CHECK(remedies(experts).expert_count.nearest == "EP 2 or 4");
  CHECK(remedies(experts, most("ep", 3)).expert_count.nearest == "EP 4");
  CHECK(remedies(experts, most("ep", 16)).expert_count.nearest.empty());
  const MemoryUse unknown = [](const RunConfig&) { return std::optional<MemoryShares>(); };
  CHECK(remedies(stages, unknown).stages.nearest == "PP 1 or 31");
}

TEST_CASE("remedies: what comes from outside, and sizes beyond any job, are not computed with") {
  const Remedies outside = remedies(
      "x.py --tensor-model-parallel-size $TP --world-size 16 "
      "--pipeline-model-parallel-size 3 --num-attention-heads 7\n");
  CHECK(outside.attention.arithmetic.empty());
  CHECK(outside.heads.arithmetic.empty());
  const Remedies huge = remedies("gpus: 4194304\ntp: 32768\ncp: 32767\npp: 32768\n");
  CHECK_FALSE(huge.attention.arithmetic.empty());
  CHECK(huge.attention.nearest.empty());
  CHECK(huge.layout_nearest.empty());
  // The most divisors there are below the limit: still at once.
  const Remedies many = remedies(
      "gpus: 110880\ntp: 13\ncp: 17\npp: 19\nep: 64\netp: 8\nnum_experts: 55440\nattention_heads: "
      "55440\nseq_len: 110880000\n");
  CHECK_FALSE(many.layout_nearest.empty());
}

TEST_CASE("remedies: sizes of VPP that divide the layers of a stage") {
  const auto choices = [](const std::string& yaml) {
    const auto config = read_config(yaml, "test.yaml");
    REQUIRE(config);
    return vpp_choices(*config, layout_of(*config));
  };
  CHECK(choices("pp: 4\nnum_layers: 32\n") == "2, 4 or 8 (8 layers per stage)");
  CHECK(choices("pp: 4\nnum_layers: 20\n") == "5 (5 layers per stage)");
  CHECK(choices("pp: 4\nnum_layers: 4\n").empty());
  CHECK(choices("pp: 4\nnum_layers: 30\n").empty());
  CHECK(choices("pp: 4\nnum_layers: 31\naccount_for_embedding: true\n") ==
        "2, 4 or 8 (8 layers per stage)");
  CHECK(choices("pp: 4\nnum_layers: 32\nfirst_stage_layers: 5\n").empty());
  CHECK(choices("pp: 1\nnum_layers: 32\n").empty());
  CHECK(choices("pp: 4\n").empty());
}

}  // namespace ws
