// Throughput figures fix the operations per token: TFLOPS over tokens per second is a constant of
// the model and the length (DeepSeek-V3 with MTP 0.260 at 4K; Qwen3-235B 0.148 at 4K, 0.739 at
// 131K).
#include "config/model_shape.h"

#include "config/known_runs.h"
#include "config/read_config.h"
#include "support/catch.h"

namespace ws {
namespace {

RunConfig config_of(const std::string& yaml) {
  auto config = read_config(yaml, "test.yaml");
  if (!config) FAIL(config.error().message);
  const auto known = load_known_runs(WS_SOURCE_DIR "/rules/configurations.json");
  if (!known) FAIL(known.error().message);
  add_model_sizes(*config, *known);
  return *config;
}

PipelineSplit split(const std::string& yaml) {
  const RunConfig config = config_of(yaml);
  const ModelSizes sizes = model_sizes(config);
  REQUIRE(sizes.shape);
  return pipeline_split(config, layout_of(config), &*sizes.shape);
}

double total_parameters(const std::string& model) {
  const ModelShape m = *model_sizes(config_of("model: " + model + "\n")).shape;
  const LayerParameters p = layer_parameters(m, Layout{});
  double sum = 2.0 * static_cast<double>(m.vocab * m.hidden);
  for (const bool moe : m.is_moe)
    sum += p.attention + p.norms + (moe ? p.router + p.shared + p.experts : p.dense_mlp);
  return sum / 1e9;
}

const char* const kSmall =
    "num_layers: 8\nhidden_size: 64\nattention_heads: 4\nvocab_size: 100\nffn_hidden_size: 256\n";

}  // namespace

TEST_CASE("model sizes: parameters of published models") {
  CHECK(total_parameters("deepseek_v3") == Approx(671).epsilon(0.002));
  CHECK(total_parameters("qwen3_235b_a22b") == Approx(235.1).epsilon(0.002));
  CHECK(total_parameters("qwen3_30b_a3b") == Approx(30.5).epsilon(0.002));
  CHECK(total_parameters("llama3_70b") == Approx(70.55).epsilon(0.002));
  CHECK(total_parameters("llama31_405b") == Approx(405.8).epsilon(0.002));
  CHECK(total_parameters("llama3_8b") == Approx(8.03).epsilon(0.002));
  CHECK(total_parameters("mixtral_8x7b") == Approx(46.7).epsilon(0.002));
  CHECK(total_parameters("gpt_oss_120b") == Approx(116.8).epsilon(0.01));
  CHECK(total_parameters("kimi_k2") == Approx(1026).epsilon(0.01));
}

TEST_CASE("operations per token: as the published throughputs imply") {
  const auto teraflops = [](const std::string& model, int64_t seq_len) {
    return flops_per_token(*model_sizes(config_of("model: " + model + "\n")).shape, seq_len) / 1e12;
  };
  CHECK(teraflops("deepseek_v3", 4096) == Approx(0.260).epsilon(0.02));
  CHECK(teraflops("qwen3_235b_a22b", 4096) == Approx(0.148).epsilon(0.01));
  CHECK(teraflops("qwen3_235b_a22b", 131072) == Approx(0.739).epsilon(0.01));
}

TEST_CASE("stages: even, with lighter ends, by layout, and what does not divide") {
  CHECK(split(std::string(kSmall) + "pp: 2\nvpp: 2\n").problem.empty());
  CHECK(split(std::string(kSmall) + "pp: 3\n").problem ==
        "8 layers do not divide into PP x VPP = 3 stages");
  CHECK(split(std::string(kSmall) + "pp: 2\nlayers_per_virtual_stage: 2\n").problem.empty());
  CHECK(split(std::string(kSmall) + "pp: 2\nlayers_per_virtual_stage: 3\n").problem ==
        "8 layers do not divide into PP 2 x 3 layers per virtual stage");
  const PipelineSplit lighter =
      split(std::string(kSmall) + "pp: 5\naccount_for_embedding: true\naccount_for_loss: true\n");
  CHECK(lighter.problem.empty());
  REQUIRE(lighter.stages.size() == 5);
  CHECK(lighter.stages[0].dense == 1);
  CHECK(lighter.stages[1].dense == 2);
  CHECK(lighter.stages[4].dense == 1);
  CHECK(lighter.stages[0].embedding);
  CHECK(lighter.stages[4].loss);
  const PipelineSplit ends =
      split(std::string(kSmall) + "pp: 4\nfirst_stage_layers: 1\nlast_stage_layers: 1\n");
  CHECK(ends.problem.empty());
  CHECK(ends.stages[1].dense == 3);
  CHECK_FALSE(split(std::string(kSmall) + "pp: 4\nfirst_stage_layers: 2\nlast_stage_layers: 1\n")
                  .problem.empty());
  const PipelineSplit given =
      split(std::string(kSmall) + "pp: 2\npipeline_layout: \"Et*3|(tt|)*2tL\"\n");
  CHECK(given.given == 4);
  CHECK(given.problem.empty());
  CHECK(given.stages[0].dense == 3);
  CHECK(given.stages[3].loss);
  CHECK(split(std::string(kSmall) + "pp: 2\npipeline_layout: \"Et|tL\"\n").problem ==
        "the layout has 2 decoder layers, the model 8");
  CHECK(split(std::string(kSmall) + "pp: 2\npipeline_layout: \"E(t|\"\n").problem ==
        "the pipeline layout is not understood");
  CHECK(split(std::string(kSmall) + "pp: 2\npipeline_layout: \"((((t*9999)*9999)*9999)*9999)\"\n")
            .problem == "the pipeline layout is not understood");
}

TEST_CASE("stages: which layers have experts") {
  const std::string moe = std::string(kSmall) + "num_experts: 4\nmoe_top_k: 2\npp: 2\n";
  const auto counts = [&](const std::string& more) {
    const PipelineSplit s = split(moe + more);
    return std::to_string(s.stages[0].dense) + "+" + std::to_string(s.stages[0].moe) + " " +
           std::to_string(s.stages[1].dense) + "+" + std::to_string(s.stages[1].moe);
  };
  CHECK(counts("") == "0+4 0+4");
  CHECK(counts("dense_layers: 3\n") == "3+1 0+4");
  CHECK(counts("moe_layer_freq: \"([0]*3+[1]*5)\"\n") == "3+1 0+4");
  CHECK(counts("moe_layer_freq: 2\n") == "2+2 2+2");
  CHECK(counts("moe_layer_freq: [0, 0, 0, 0, 1, 1, 1, 1]\n") == "4+0 0+4");
  const auto wrong = model_sizes(config_of(moe + "moe_layer_freq: \"[0]*3\"\n"));
  CHECK(wrong.missing == std::vector<std::string>{"moe_layer_freq"});
}

}  // namespace ws
