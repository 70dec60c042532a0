// What a plan comes to, what its file is worth, and what the dry run leaves out.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "plan/plan.h"
#include "support/catch.h"
#include "unit/plan/made_plan.h"

namespace ws {

using made::plan_of;
using made::rendered;

namespace {

const std::string kRun =
    "framework: megatron_lm\nmodel: llama3_8b\nplatform: h100\nseq_len: 8192\nmicro_batch: 1\n"
    "global_batch: 128\nbf16: true\nrecompute_granularity: none\nuse_distributed_optimizer: true\n"
    "overlap_grad_reduce: true\noverlap_param_gather: true\n";

}  // namespace

TEST_CASE("plan result: the worst that is known") {
  CHECK(result_of(plan_of(kRun + "gpus: 64\ntp: 4\nsequence_parallel: true\n")).status == "fits");
  const Plan exceeds = plan_of(kRun + "gpus: 1\ntp: 1\n");
  CHECK(result_of(exceeds).status == "does_not_fit");
  CHECK(result_of(exceeds).memory == "does_not_fit");
  CHECK(result_words(exceeds).find("adds up, but does not fit the memory") == 0);
  const Plan fault = plan_of(kRun + "gpus: 63\ntp: 4\nsequence_parallel: true\n");
  CHECK(result_of(fault).status == "violations");
  const Plan no_gpus = plan_of("framework: megatron_lm\ntp: 2\n");
  CHECK(result_of(no_gpus).status == "not_enough_known");
  CHECK(result_of(no_gpus).unknown ==
        std::vector<std::string>{"the number of GPUs", "what memory it takes"});
  CHECK(result_words(no_gpus).find("no fault found, but not known: the number of GPUs") == 0);
}

TEST_CASE("plan: flags are spelled for the stated release") {
  const auto flags = [](const std::string& version) {
    std::string out;
    for (const Finding& f :
         plan_of("framework: megatron_lm\npp: 8\nnum_layers: 61\n" + version).findings)
      for (const Action& a : f.actions)
        if (a.framework == "megatron_lm" && f.rule == "configuration/pipeline_stages")
          out += a.set + " " + a.to + " (" + a.note + ")\n";
    return out;
  };
  const auto has = [](const std::string& text, const char* words) {
    return text.find(words) != std::string::npos;
  };
  CHECK(has(flags(""), "the flag from core 0.13 on"));
  CHECK(has(flags("framework_version: 0.14\n"), "--pipeline-model-parallel-layout PP x VPP"));
  CHECK_FALSE(has(flags("framework_version: 0.14\n"), "from core"));
  CHECK(flags("framework_version: 0.12\n").empty());  // "nearest that adds up" stands alone
}

TEST_CASE("plan: what the stated releases can not do is no item and told below") {
  const std::string fp8 = "framework: megatron_lm\nfp8_format: hybrid\nbf16: true\n";
  const auto items = [](const Plan& p) {
    return std::count_if(p.findings.begin(), p.findings.end(), [](const Finding& f) {
      return f.rule == "configuration/fp8_recipe_default";
    });
  };
  const auto told = [](const Plan& p) {
    return std::count(
        p.notes.begin(), p.notes.end(),
        "not offered, since the stated release does not have it: FP8 runs with delayed scaling, "
        "by choice or by default (current scaling needs Transformer Engine 2.2)");
  };
  const Plan old = plan_of(fp8 + "te_version: '1.9'\n"), now = plan_of(fp8 + "te_version: '2.2'\n");
  CHECK(items(old) == 0);
  CHECK(told(old) == 1);
  CHECK(items(now) == 1);
  CHECK(told(now) == 0);
}

TEST_CASE("plan result: in every format, with GPUs, framework, release and platform") {
  const Plan p =
      plan_of(kRun + "gpus: 64\ntp: 4\nsequence_parallel: true\nframework_version: v0.16\n");
  const auto json = nlohmann::json::parse(rendered(p, "json"));
  CHECK(json["result"]["status"] == "fits");
  CHECK(json["result"]["text"] == result_words(p));
  CHECK(json["gpus"] == 64);
  CHECK(json["framework"] == "megatron_lm");
  CHECK(json["framework_version"] == "0.16");
  const std::string md = rendered(p, "md");
  for (const char* row : {"| result | adds up and fits the memory", "| GPUs | 64 |",
                          "| platform | h100 |", "| framework | Megatron-LM 0.16 |"})
    CHECK(md.find(row) != std::string::npos);
  CHECK(rendered(p, "text").find("64 GPUs, h100, Megatron-LM 0.16") != std::string::npos);
  const auto none = nlohmann::json::parse(rendered(plan_of("tp: 2\n"), "json"));
  for (const char* key : {"gpus", "framework", "framework_version", "platform"})
    CHECK(none[key].is_null());
}

TEST_CASE("plan: of a model's config.json the sizes are taken and no run is made up") {
  const std::string card =
      R"({"architectures": ["X"], "model_type": "qwen3_moe", "hidden_size": 4096, "num_hidden_layers": 94,
          "num_attention_heads": 64, "num_experts": 128, "num_experts_per_tok": 8, "vocab_size": 151936)";
  const Plan p = plan_of(card + "}", "config.json");
  CHECK(p.model_only);
  CHECK_FALSE(p.min_gpus);
  CHECK(p.grids.empty());
  CHECK(p.findings.empty());
  CHECK(p.dry_run.empty());
  CHECK(result_of(p).status == "not_enough_known");
  const std::string text = rendered(p, "text");
  CHECK(text.find("num_experts 128") != std::string::npos);
  for (const char* made_up : {"--", "TP 1", "smallest job 1"})
    CHECK(text.substr(0, text.find("NEAREST")).find(made_up) == std::string::npos);
  // Keys of a run beside them make it a run.
  CHECK_FALSE(plan_of(card + R"(, "tp": 2, "gpus": 8})", "config.json").model_only);
}

TEST_CASE("plan: without a framework the dry run asks for it") {
  CHECK(plan_of("tp: 2\ngpus: 8\n").dry_run ==
        std::vector<std::string>{
            "needs the framework: --framework megatron-lm, megatron-bridge or pytorch"});
}

TEST_CASE("plan: most flags unknown and no name of Megatron make no Megatron-LM") {
  const auto framework = [](const std::string& command) {
    return plan_of("torchrun --nproc-per-node 8 " + command + "\n", "run.sh").framework;
  };
  CHECK(
      framework("train.py --model llama --batch-size 4 --seq-length 4096 --sharding full").empty());
  CHECK(framework("pretrain_gpt.py --model llama --batch-size 4 --seq-length 4096 --a 1") ==
        "megatron_lm");
  CHECK(framework("train.py --num-layers 4 --hidden-size 512 --seq-length 4096 --mine 1") ==
        "megatron_lm");
}

TEST_CASE("plan: the dry run leaves out what one rank can not do") {
  const std::string job =
      "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --tensor-model-parallel-size 2 ";
  const auto without = [&](const std::string& flags) {
    std::string out;
    for (const std::string& line : plan_of(job + flags + "\n", "run.sh").dry_run)
      if (line.rfind("ARGUMENTS", 0) == 0) out = line;
    return out;
  };
  CHECK(without("").empty());
  CHECK(without("--tp-comm-overlap --use-nccl-ub") ==
        "ARGUMENTS are those of the job without --tp-comm-overlap (its buffers need real peers), "
        "--use-nccl-ub (registers buffers with NCCL)");
  const std::string experts = "--num-experts 8 --moe-token-dispatcher-type flex ";
  CHECK(without(experts + "--moe-enable-deepep") ==
        "ARGUMENTS are those of the job without --moe-enable-deepep (goes with the flex dispatcher "
        "alone)");
  CHECK(without(experts + "--moe-flex-dispatcher-backend deepep").empty());
  CHECK(without(experts + "--moe-paged-stash").find("--moe-paged-stash") != std::string::npos);
  CHECK(without(experts + "--cuda-graph-impl full_iteration").find("full_iteration") !=
        std::string::npos);
  CHECK(without("--cuda-graph-impl full_iteration").empty());
}

}  // namespace ws
