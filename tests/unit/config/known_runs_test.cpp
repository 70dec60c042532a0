// rules/configurations.json: every row adds up, and a run finds the one that is nearest to it.
#include "config/known_runs.h"

#include <set>
#include <tuple>

#include "config/model_shape.h"
#include "config/read_config.h"
#include "support/catch.h"

namespace ws {
namespace {

const KnownRuns& known() {
  static const KnownRuns all = [] {
    auto loaded = load_known_runs(WS_SOURCE_DIR "/rules/configurations.json");
    if (!loaded) FAIL(loaded.error().message);
    return *loaded;
  }();
  return all;
}

}  // namespace

TEST_CASE("known runs: the arithmetic of every row") {
  const auto platforms = Platforms::load(WS_SOURCE_DIR "/rules/platforms.json");
  REQUIRE(platforms);
  CHECK(known().runs.size() >= 30);
  for (const KnownRun& run : known().runs) {
    INFO(run.name << " " << run.platform << " " << run.gpus);
    CHECK(platforms->by_key(run.platform) != nullptr);
    CHECK(run.gpus % (run.tp * run.cp * run.pp) == 0);
    CHECK(run.gpus % (run.etp * run.ep * run.pp) == 0);
    CHECK(run.gpus >= run.pp * least_common_multiple(run.tp * run.cp, run.etp * run.ep));
    CHECK(run.seq_len % (2 * run.cp) == 0);
    CHECK_FALSE(run.source.empty());
    const auto model = known().models.find(run.model);
    if (model == known().models.end()) continue;
    for (const auto& [key, value] : model->second.sizes)
      if (key == "num_experts") CHECK(std::get<int64_t>(value) % run.ep == 0);
  }
}

TEST_CASE("known models: as many parameters as their names say, under every name they have") {
  const auto billions = [](const std::string& model, const std::string& flavor) {
    RunConfig config{"test", "", {}, {}, {}, {}};
    add_missing(config, "model", model, "test");
    if (!flavor.empty()) add_missing(config, "model_flavor", flavor, "test");
    add_model_sizes(config, known());
    INFO(model << " " << flavor);
    CHECK(config.notes.empty());
    const auto shape = model_sizes(config).shape;
    REQUIRE(shape);
    const LayerParameters p = layer_parameters(*shape, Layout{});
    double sum = 0;
    for (const bool moe : shape->is_moe)
      sum += p.attention + (moe ? p.router + p.shared + p.experts : p.dense_mlp);
    const double table = static_cast<double>(shape->vocab) * static_cast<double>(shape->hidden);
    return (sum + (shape->tied ? 1 : 2) * table) / 1e9;
  };
  // Model name and flavor of torchtitan, parameters as published.
  const std::tuple<const char*, const char*, double> kFlavors[] = {
      {"llama3", "8B", 8.03},         {"llama3", "70B", 70.6},
      {"llama3", "405B", 405.9},      {"qwen3", "0.6B", 0.596},
      {"qwen3", "1.7B", 1.72},        {"qwen3", "4B", 4.02},
      {"qwen3", "8B", 8.19},          {"qwen3", "14B", 14.8},
      {"qwen3", "32B", 32.8},         {"qwen3", "30B-A3B", 30.5},
      {"qwen3", "235B-A22B", 235.1},  {"deepseek_v3", "16B", 15.7},
      {"deepseek_v3", "236B", 235.7}, {"deepseek_v3", "671B", 671.0},
      {"deepseek_v2", "", 235.7},     {"gpt_oss", "120b", 116.8},
      {"llama3", "8B_flex", 8.03},    {"deepseek_v3", "671B_flex_attn", 671.0}};
  for (const auto& [name, flavor, published] : kFlavors)
    CHECK(billions(name, flavor) == Approx(published).epsilon(0.01));
  RunConfig debug{"test", "", {}, {}, {}, {}};
  add_missing(debug, "model", std::string("llama3"), "test");
  add_missing(debug, "model_flavor", std::string("debugmodel"), "test");
  add_model_sizes(debug, known());
  REQUIRE(debug.notes.size() == 1);
  CHECK(debug.notes[0].find("'llama3 debugmodel'") != std::string::npos);
}

TEST_CASE("known models: keys of the configuration with values of their type, and complete") {
  for (const auto& [name, model] : known().models) {
    INFO(name);
    RunConfig config{"test", "", {}, {}, {}, {}};
    add_missing(config, "model", name, "test");
    add_model_sizes(config, known());
    CHECK(config.notes.empty());
    for (const auto& [key, value] : model.sizes) {
      INFO(key);
      const ConfigKey* k = key_table().find(key);
      REQUIRE(k != nullptr);
      CHECK(value.index() == static_cast<size_t>(k->type));
    }
  }
}

TEST_CASE("known models: a name nobody knows is a note, sizes of the file win") {
  auto config = read_config("model: my_model\ntp: 2\n", "a.yaml");
  REQUIRE(config);
  add_model_sizes(*config, known());
  REQUIRE(config->notes.size() == 1);
  CHECK(config->notes[0].find("'my_model'") != std::string::npos);
  auto named = read_config("model: DeepSeek-V3\nnum_layers: 7\n", "a.yaml");
  REQUIRE(named);
  add_model_sizes(*named, known());
  CHECK(integer(*named, "num_layers") == 7);
  CHECK(integer(*named, "hidden_size") == 7168);
}

TEST_CASE("nearest run: by model, then platform, length and layout") {
  const auto nearest = [](const std::string& yaml, const std::string& platform) {
    auto config = read_config(yaml, "a.yaml");
    REQUIRE(config);
    add_model_sizes(*config, known());
    return nearest_run(*config, layout_of(*config), platform, known());
  };
  const KnownRun* a =
      nearest("model: deepseek_v3\ngpus: 256\nseq_len: 131072\npp: 8\nep: 32\ncp: 32\n", "h100");
  REQUIRE(a != nullptr);
  CHECK(a->cp == 32);
  CHECK(a->seq_len == 131072);
  const KnownRun* b =
      nearest("model: deepseek_v3\ngpus: 256\nseq_len: 4096\npp: 4\nep: 64\n", "gb200");
  REQUIRE(b != nullptr);
  CHECK(b->platform == "gb200");
  const KnownRun* sizes = nearest(
      "num_layers: 94\nhidden_size: 4096\nnum_experts: 128\ngpus: 128\nseq_len: 131072\n", "gb200");
  REQUIRE(sizes != nullptr);
  CHECK(sizes->model == "qwen3_235b_a22b");
  CHECK(nearest("num_layers: 3\nhidden_size: 4096\n", "h100") == nullptr);
}

TEST_CASE("known runs: a missing or damaged table is an error with a place") {
  CHECK(load_known_runs("/no/such.json").error().message.find("/no/such.json: ") == 0);
  CHECK_FALSE(load_known_runs(WS_SOURCE_DIR "/rules/platforms.json"));
}

}  // namespace ws
