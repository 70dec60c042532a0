// What the recording denies shapes nothing: layout, memory and lists are of what ran.
#include "config/layout.h"
#include "config/read_config.h"
#include "facts/config_merge.h"
#include "support/catch.h"

namespace ws {
namespace {

const std::string kFile =
    "framework: megatron_lm\ngpus: 8\ntp: 2\nnum_experts: 64\nep: 4\nmoe_grouped_gemm: true\n"
    "fp8_format: hybrid\nuse_distributed_optimizer: true\nrecompute_granularity: selective\n"
    "recompute_modules: [core_attn]\n";

RunConfig file() {
  auto config = read_config(kFile, "run.yaml");
  if (!config) FAIL(config.error().message);
  return std::move(*config);
}

// As merge_config() leaves it, with these keys denied.
ConfigMerge denied(const std::set<std::string>& keys, const FactRowValues& instead = {}) {
  ConfigMerge out;
  out.row = config_row(file());
  out.not_in_use = keys;
  for (const std::string& key : keys) out.row.erase(key);
  for (const auto& [key, value] : instead) out.row[key] = value;
  return out;
}

}  // namespace

TEST_CASE("as it ran: what is denied is gone, or what ran instead") {
  const RunConfig ran = as_it_ran(
      file(), denied({"use_distributed_optimizer", "recompute_granularity", "recompute_modules"},
                     {{"use_distributed_optimizer", int64_t{0}},
                      {"recompute_granularity", std::string("none")}}));
  CHECK(boolean(ran, "use_distributed_optimizer") == false);
  CHECK(text(ran, "recompute_granularity") == "none");
  CHECK_FALSE(entry(ran, "recompute_modules"));
  CHECK(integer(ran, "num_experts") == 64);
}

TEST_CASE("as it ran: a recipe that did not run shapes no list of modules") {
  CHECK(cheap_recompute(file()).empty());  // delayed scaling refuses what experts offer
  const RunConfig ran = as_it_ran(file(), denied({"fp8_format"}));
  CHECK(cheap_recompute(ran) == std::vector<std::string>{"layernorm", "moe_act"});
}

TEST_CASE("as it ran: experts that did not run have no grid") {
  CHECK(layout_of(file()).experts);
  CHECK_FALSE(
      layout_of(as_it_ran(file(), denied({"num_experts", "ep", "moe_grouped_gemm"}))).experts);
}

TEST_CASE("as it ran: sizes are the recorded ones, and another run's file stays as it is") {
  ConfigMerge merge = denied({}, {{"tp", int64_t{4}}});
  CHECK(integer(as_it_ran(file(), merge), "tp") == 4);
  merge.other_run = true;
  CHECK(integer(as_it_ran(file(), merge), "tp") == 2);
}

}  // namespace ws
