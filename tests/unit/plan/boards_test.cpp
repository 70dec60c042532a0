// The plan holds its estimate against the board that is named.
#include <algorithm>

#include "config/read_config.h"
#include "plan/plan.h"
#include "support/catch.h"

namespace ws {
namespace {

const std::string kRoot = WS_SOURCE_DIR;

Plan plan_for(const std::string& platform) {
  static const auto platforms = Platforms::load(kRoot + "/rules/platforms.json");
  static const auto known = load_known_runs(kRoot + "/rules/configurations.json");
  static const auto rules = load_rules({kRoot + "/rules"});
  if (!platforms || !known || !rules) FAIL("the tables of the checkout can not be read");
  const auto config = read_config(
      "framework: megatron_lm\nnum_layers: 32\nhidden_size: 4096\nffn_hidden_size: 11008\n"
      "attention_heads: 32\nvocab_size: 32000\ngpus: 8\nseq_len: 4096\nmicro_batch: 1\n"
      "use_distributed_optimizer: true\nglobal_batch: 8\nbf16: true\nplatform: " +
          platform + "\n",
      "run.yaml");
  if (!config) FAIL(config.error().message);
  auto plan = build_plan(*config, *platforms, *known, *rules);
  if (!plan) FAIL(plan.error().message);
  return std::move(*plan);
}

bool finds(const Plan& plan, const std::string& rule) {
  return std::any_of(plan.findings.begin(), plan.findings.end(),
                     [&](const Finding& f) { return f.rule == rule; });
}

bool notes_smaller(const Plan& plan) {
  return std::any_of(plan.notes.begin(), plan.notes.end(), [](const std::string& note) {
    return note.find("--platform a100-40gb") != std::string::npos;
  });
}

}  // namespace

TEST_CASE("plan: what fits the larger board does not fit the smaller one") {
  const Plan large = plan_for("a100"), small = plan_for("a100-40gb");
  REQUIRE(large.memory);
  REQUIRE(small.memory);
  CHECK(large.memory->total_bytes == small.memory->total_bytes);
  CHECK(large.memory->capacity_bytes == 85'095'874'560);
  CHECK(small.memory->capacity_bytes == 42'298'834'944);
  CHECK(large.memory->capacity_of == "a100");
  CHECK(small.memory->capacity_of == "A100 40GB");
  CHECK(small.platform == "a100");
  CHECK_FALSE(finds(large, "configuration/memory_exceeds"));
  CHECK(finds(small, "configuration/memory_exceeds"));
  // A key that does not say its size is taken as the larger one, and that is told.
  CHECK(notes_smaller(large));
  CHECK_FALSE(notes_smaller(small));
  CHECK_FALSE(notes_smaller(plan_for("a100-80gb")));
  CHECK_FALSE(notes_smaller(plan_for("h100")));
}

TEST_CASE("plan: a card without a row has the memory that its name says") {
  const Plan v100 = plan_for("V100-SXM2-32GB");
  REQUIRE(v100.memory);
  CHECK(v100.memory->capacity_bytes == int64_t{32} << 30);
  CHECK(v100.platform.empty());
  CHECK(finds(v100, "configuration/memory_exceeds"));
}

}  // namespace ws
