// What a plan says to set: each setting once, in the words of the release.
#include <algorithm>
#include <sstream>

#include "config/read_config.h"
#include "plan/render_plan.h"
#include "support/catch.h"

namespace ws {
namespace {

const std::string kRoot = WS_SOURCE_DIR;

template <class T>
T value_of(Result<T> r) {
  if (!r) FAIL(r.error().message);
  return std::move(*r);
}

Plan plan_of(const std::string& yaml) {
  static const Platforms platforms = value_of(Platforms::load(kRoot + "/rules/platforms.json"));
  static const KnownRuns known = value_of(load_known_runs(kRoot + "/rules/configurations.json"));
  static const RuleSet rules = value_of(load_rules({kRoot + "/rules"}));
  return value_of(build_plan(value_of(read_config(yaml, "run.yaml")), platforms, known, rules));
}

std::string rendered(const Plan& plan, const char* format) {
  std::ostringstream out;
  value_of(find_plan_format(format)).render(plan, out);
  return out.str();
}

}  // namespace

TEST_CASE("plan: the fix of two faults is told once, and both stand") {
  // No sequence parallelism beside TP: the experts and the overlap of TP both ask for it.
  const Plan plan = plan_of(
      "framework: megatron_lm\ngpus: 8\ntp: 2\nep: 4\nnum_experts: 64\nsequence_parallel: false\n"
      "tp_comm_overlap: true\nmoe_grouped_gemm: true\n");
  size_t set = 0, with = 0, errors = 0;
  for (const Finding& f : plan.findings) {
    errors += f.kind == "error";
    for (const Action& a : f.actions)
      set += a.framework == "megatron_lm" && a.set == "--sequence-parallel";
    for (const Finding::With& w : f.with)
      with += w.framework == "megatron_lm" && w.set == "--sequence-parallel";
    CHECK_FALSE(f.why.empty());
  }
  CHECK(errors >= 2);
  CHECK(set == 1);
  CHECK(with >= 1);
  for (const char* format : {"text", "md"})
    CHECK(rendered(plan, format).find("--sequence-parallel of item ") != std::string::npos);
  CHECK(rendered(plan, "json").find("\"with\": [\n") != std::string::npos);
}

TEST_CASE("plan: sizes that a grid, the heads and the sequence ask for are told once") {
  const Plan plan = plan_of(
      "framework: megatron_lm\ngpus: 8\ntp: 3\ncp: 3\nattention_heads: 32\nseq_len: 8192\n");
  size_t set = 0, with = 0;
  for (const Finding& f : plan.findings) {
    for (const Action& a : f.actions) {
      set += a.set == "nearest on 8 GPUs";
      CHECK(a.set != "TP");
      CHECK(a.set != "CP");
    }
    for (const Finding::With& w : f.with) with += w.set == "nearest on 8 GPUs";
  }
  CHECK(set == 1);
  CHECK(with == 2);
}

TEST_CASE("plan: names of no release stop the job, and no judged flag is one that no rule reads") {
  const Plan plan = plan_of(
      "torchrun pretrain_gpt.py --num-layers 4 --fake-init-process-group --use-flash-attention "
      "--moe-deepep-num-sms 20 --high-priority-a2a-comm-stream --rotary-base 10000\n");
  const auto at = std::find_if(plan.findings.begin(), plan.findings.end(), [](const Finding& f) {
    return f.rule == "configuration/flag_of_no_release";
  });
  REQUIRE(at != plan.findings.end());
  CHECK(at->kind == "error");
  CHECK(rendered(plan, "text")
            .find("--use-flash-attention: leave it out: the flag is "
                  "--use-flash-attn") != std::string::npos);
  CHECK(plan.notes.back() == "settings that no rule reads (1): --rotary-base");
  // What Megatron-LM printed of itself it has.
  const Plan dump = plan_of(
      "------------------------ arguments ------------------------\n"
      "  num_layers ...................................... 4\n"
      "  overlap_p2p_comm ................................ False\n"
      "-------------------- end of arguments ---------------------\n");
  CHECK(std::none_of(dump.findings.begin(), dump.findings.end(), [](const Finding& f) {
    return f.rule == "configuration/flag_of_no_release";
  }));
}

TEST_CASE("plan: a list of Bridge stands as one types it") {
  const Plan plan = plan_of(
      "framework: megatron_bridge\nmodel: {num_moe_experts: 64, expert_model_parallel_size: 8, "
      "recompute_granularity: full, recompute_method: uniform, recompute_num_layers: 1, "
      "moe_grouped_gemm: true}\ncomm_overlap: {overlap_moe_expert_parallel_comm: true}\n");
  const std::string text = rendered(plan, "json");
  CHECK(text.find("[\\\"layernorm\\\", \\\"moe_act\\\"]") != std::string::npos);
  CHECK(text.find("the list layernorm") == std::string::npos);
}

TEST_CASE("plan: a fix that the stated release lacks is told where the others stand") {
  const auto told = [](const char* release) {
    std::string out;
    for (const std::string& n : plan_of(std::string("framework: megatron_lm\ngpus: 8\npp: 4\n"
                                                    "num_layers: 30\nframework_version: '") +
                                        release + "'\n")
                                    .notes)
      if (n.find("the stated release does not have it") != std::string::npos) out += n;
    return out;
  };
  CHECK(told("0.12").find("--pipeline-model-parallel-layout of: the layers do not fit") !=
        std::string::npos);
  CHECK(told("0.12").find("came with core 0.13") != std::string::npos);
  CHECK(told("0.13").empty());
}

}  // namespace ws
