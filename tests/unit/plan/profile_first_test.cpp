// What to profile first follows from the numbers of the configuration.
#include <regex>

#include "config/read_config.h"
#include "plan/plan_parts.h"
#include "support/catch.h"
#include "unit/house/source_tree.h"

namespace ws {
namespace {

std::string first(const std::string& yaml) {
  static const auto platforms = Platforms::load(WS_SOURCE_DIR "/rules/platforms.json");
  REQUIRE(platforms);
  const auto config = read_config(yaml, "run.yaml");
  if (!config) FAIL(config.error().message);
  return profile_first(*config, study_config(*config, *platforms, nullptr),
                       platforms->profile_first());
}

const std::string kMegatron = "framework: megatron_lm\ngpus: 64\n";

}  // namespace

TEST_CASE("profile first: groups that leave the fast domain come before those that stay in it") {
  const std::string experts = kMegatron + "num_experts: 64\netp: 1\ntp: 1\n";
  CHECK(
      first(experts + "ep: 32\nplatform: h100\n")
          .find("the expert all-to-all: its groups of 32 reach beyond the fast domain of 8 GPUs") ==
      0);
  CHECK(first(experts + "ep: 32\nplatform: gb200\n")
            .find("the expert all-to-all, which stays inside the fast domain of 72 GPUs") == 0);
  CHECK(first(experts + "ep: 32\n").find("the expert all-to-all of groups of 32") == 0);
  CHECK(first(experts + "ep: 1\nplatform: h100\n").find("expert") == std::string::npos);
  CHECK(first(kMegatron + "tp: 16\nplatform: h100\n").find("groups of 16 reach beyond") !=
        std::string::npos);
  CHECK(first(kMegatron + "tp: 8\nplatform: h100\n").find("the collectives of TP 8") !=
        std::string::npos);
  CHECK(first(kMegatron + "tp: 4\ncp: 4\nplatform: h100\n").find("TP x CP = 16") !=
        std::string::npos);
}

TEST_CASE("profile first: what the settings themselves cost") {
  CHECK(first(kMegatron + "recompute_granularity: full\n").find("what full recompute costs") == 0);
  CHECK(first(kMegatron + "recompute_granularity: selective\n").find("recompute") ==
        std::string::npos);
  const std::string stages = kMegatron + "pp: 8\nmicro_batch: 1\nglobal_batch: ";
  CHECK(first(stages + "64\n").find("the pipeline bubble: 87.5 % of the ideal step") == 0);
  CHECK(first(stages + "8192\n").find("bubble") == std::string::npos);
  CHECK(first(kMegatron + "seq_len: 131072\n").find("the sequence of 131072") != std::string::npos);
  CHECK(first(kMegatron + "seq_len: 8192\n").find("sequence") == std::string::npos);
  CHECK(first(kMegatron + "optimizer_cpu_offload: true\n").find("on the host") !=
        std::string::npos);
  CHECK(first(kMegatron + "overlap_grad_reduce: false\n").find("DP 64, which is not told") !=
        std::string::npos);
  CHECK(first(kMegatron + "overlap_grad_reduce: true\n") ==
        "the gradient and parameter collectives of DP 64");
}

TEST_CASE("profile first: kernels are short on Blackwell alone, and in graphs nowhere") {
  const std::string small = kMegatron + "micro_batch: 1\nbf16: true\nplatform: ";
  CHECK(first(small + "b200\n").find("host and launch gaps: with a micro-batch of 1") == 0);
  CHECK(first(small + "h100\n").find("launch") == std::string::npos);
  CHECK(first(small + "b200\ncuda_graph_impl: transformer_engine\n").find("launch") ==
        std::string::npos);
  CHECK(first(small + "h100\n").find("which run in BF16 where the GPU has FP8") !=
        std::string::npos);
  CHECK(first(small + "a100\n").find("BF16") == std::string::npos);
}

TEST_CASE("profile first: every step can be reached, three are named and no mark is left") {
  const auto platforms = Platforms::load(WS_SOURCE_DIR "/rules/platforms.json");
  const std::string rest = "framework: megatron_lm\nmicro_batch: 1\nbf16: true\nseq_len: 131072\n";
  const std::string all =
      first(rest +
            "gpus: 1024\nglobal_batch: 64\ntp: 16\ncp: 2\npp: 8\nnum_experts: 64\nep: 16\n"
            "recompute_granularity: full\nplatform: h100\n");
  CHECK(std::count(all.begin(), all.end(), ';') == 2);
  CHECK(all.find('{') == std::string::npos);
  CHECK(first("gpus: 1\n") == "idle time of the GPU, then its largest kernels");
  CHECK(first("num_layers: 4\n").empty());
  const std::string source = house::read_text(WS_SOURCE_DIR "/analyzer/plan/profile_first.cpp");
  for (const ProfileStep& step : platforms->profile_first()) {
    INFO(step.when);
    const std::string name =
        std::regex_replace(step.when, std::regex("_(across|inside|somewhere)"), "");
    CHECK(source.find('"' + name + '"') != std::string::npos);
  }
}

}  // namespace ws
