// The plan of the published long-context layouts and of broken ones.
#include "plan/plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/catch.h"
#include "unit/plan/made_plan.h"

namespace ws {

using made::errors;
using made::find;
using made::kRoot;
using made::plan_of;
using made::rendered;
using made::sample;

TEST_CASE("plan: the published long-context layouts, 256, 512 and 128 GPUs") {
  const Plan a = sample("deepseek_v3_128k_h100.yaml");
  CHECK(a.min_gpus == 256);
  CHECK(a.dp == 1);
  CHECK(a.edp == 1);
  CHECK(a.min_gpus_arithmetic == "PP 8 x lcm(TP x CP 32, ETP x EP 32) = 256");
  CHECK(a.context.suggested == 32);
  const Plan b = sample("deepseek_v3_256k_h100.yaml");
  CHECK(b.min_gpus == 512);
  CHECK(b.dp == 1);
  CHECK(b.edp == 2);
  const Plan c = plan_of(house::read_text(kRoot + "/samples/config/qwen3_235b_128k_gb200.yaml") +
                         "gpus: 128\nplatform: gb200\n");
  CHECK(c.min_gpus == 128);
  CHECK(c.dp == 2);
  CHECK(c.edp == 1);
  CHECK(c.accumulation == 512);
}

TEST_CASE("plan: recompute names that circulate are corrected, and nothing else is an error") {
  const Plan a = sample("deepseek_v3_128k_h100.yaml");
  const Finding* names = find(a, "configuration/recompute_names");
  REQUIRE(names != nullptr);
  CHECK(names->actions[0].set == "--recompute-modules");
  CHECK(names->actions[0].to == "mla_up_proj layernorm moe mlp");  // without moe it does not fit
  CHECK(find(a, "configuration/recompute_whole_moe") == nullptr);
  CHECK(find(a, "configuration/data_parallel_exhausted") != nullptr);
  const Plan c = sample("qwen3_235b_128k_gb200.yaml");
  REQUIRE(find(c, "configuration/recompute_names") != nullptr);
  CHECK(find(c, "configuration/recompute_names")->actions[0].to == "moe_act layernorm");
  CHECK(errors(c) == 1);
}

TEST_CASE("plan: a layout that does not divide says what would") {
  const Plan p = plan_of(
      "framework: megatron_lm\ngpus: 64\ntp: 1\ncp: 1\npp: 8\nep: 32\netp: 1\n"
      "global_batch: 100\nmicro_batch: 1\n");
  const Finding* grid = find(p, "configuration/expert_grid");
  REQUIRE(grid != nullptr);
  CHECK(grid->kind == "error");
  CHECK(grid->actions[0].to == "a multiple of 256");
  CHECK(grid->actions[0].note == "nearest: 256 GPUs");
  CHECK(grid->actions[1].set == "nearest on 64 GPUs");
  CHECK(grid->actions[1].to ==
        "PP 2 (DP 32, EDP 1, global batch 96 or 128) or EP 8 (DP 8, EDP 1, global batch 96 or "
        "104)");
  CHECK(grid->why.find("Here 64 GPUs / (ETP 1 x EP 32 x PP 8 = 256) = 0.25") == 0);
  CHECK(p.dry_run[0].find("WORLD_SIZE=256 ") == 0);  // 64 would not start
  CHECK(find(p, "configuration/attention_grid") == nullptr);
  REQUIRE(find(p, "configuration/global_batch") != nullptr);
  CHECK(find(p, "configuration/global_batch")->actions[0].to == "a multiple of 8");
  CHECK(find(p, "configuration/global_batch")->actions[0].note.find("global batch 96 or 104") !=
        std::string::npos);
  CHECK(p.dp == 8);
  CHECK_FALSE(p.edp);
  CHECK(grid_arithmetic(p.grids[1]) ==
        "ETP 1 x EP 32 x PP 8 = 256; 64 GPUs / 256 = 0.25, no whole number");
}

TEST_CASE("plan: a dispatcher that nothing sets is a finding of its own") {
  const auto rule = [](const std::string& text) {
    const Plan p = plan_of(text);
    return std::pair(find(p, "configuration/dispatcher_unset") != nullptr,
                     find(p, "configuration/dispatcher_left_at_default") != nullptr);
  };
  const std::string experts = "python pretrain_gpt.py --num-layers 8 --num-experts 8 ";
  const std::string spread = experts + "--expert-model-parallel-size 4 ";
  CHECK(rule(spread) == std::pair(true, false));
  CHECK(rule("ep: 4\nnum_experts: 8\nframework: megatron_bridge\n") == std::pair(true, false));
  CHECK(rule(spread + "--moe-token-dispatcher-type allgather") == std::pair(false, true));
  CHECK(rule(spread + "--moe-token-dispatcher-type alltoall") == std::pair(false, false));
  CHECK(rule(spread + "$MORE_ARGS") == std::pair(false, false));  // may be in there
  CHECK(rule(spread + "--moe-token-dispatcher-type $TYPE") == std::pair(false, false));
  CHECK(rule(experts) == std::pair(false, false));
  CHECK(rule("ep: 4\nnum_experts: 8\nframework: pytorch\n") == std::pair(false, false));
}

TEST_CASE("plan: lowest releases and the key in use are told by the configuration") {
  const auto note = [](const std::string& text) {
    const Plan p = plan_of(text);
    const Finding* f = find(p, "configuration/full_recompute");
    REQUIRE(f != nullptr);
    return f->actions[0].note.find("needs Transformer Engine 2.6") != std::string::npos;
  };
  const std::string full =
      "framework: megatron_lm\nnum_experts: 8\nrecompute_granularity: full\n"
      "recompute_method: uniform\nrecompute_num_layers: 1\n";
  CHECK(note(full + "fp8_format: e4m3\nfp8_recipe: mxfp8\n"));
  CHECK_FALSE(note(full + "fp8_format: e4m3\nfp8_recipe: mxfp8\nte_version: \"2.8\"\n"));
  CHECK_FALSE(note(full + "bf16: true\n"));
  const Plan scope = plan_of(
      "model: {cuda_graph_impl: transformer_engine, cuda_graph_scope: [moe, moe_router], "
      "num_moe_experts: 8}\n");
  const Finding* twice = find(scope, "configuration/graph_moe_twice");
  REQUIRE(twice != nullptr);
  CHECK(shown_actions(scope, *twice)[0].set == "cfg.model.cuda_graph_scope");
}

TEST_CASE("plan: memory, nearest run, dry run, what to profile first") {
  const Plan a = sample("deepseek_v3_128k_h100.yaml");
  REQUIRE(a.memory);
  CHECK(a.memory->rank_totals.size() == 8);
  CHECK(a.memory->capacity_bytes == 85'029'158'912);
  int64_t sum = 0;
  for (const MemoryPart& part : a.memory->parts) {
    sum += part.bytes;
    CHECK_FALSE(part.formula.empty());
    CHECK_FALSE(part.source.empty());
  }
  CHECK(sum == a.memory->total_bytes);
  REQUIRE(a.nearest);
  CHECK(a.nearest->run.seq_len == 131072);
  CHECK(a.nearest->differences.empty());
  std::string flat = house::read_text(kRoot + "/samples/config/deepseek_v3_128k_h100.yaml");
  for (const char* key : {"\nvpp:", "\npipeline_layout:"}) flat.insert(flat.find(key) + 1, "#");
  const Plan b = plan_of(flat);
  REQUIRE(b.nearest);
  CHECK(std::count(b.nearest->differences.begin(), b.nearest->differences.end(),
                   "VPP 4 there, 1 here") == 1);
  REQUIRE(a.dry_run.size() == 4);
  CHECK(a.dry_run[3] == "--fake-process-group exists from Megatron Core 0.16 on");
  CHECK(a.dry_run[1] ==
        "WORLD_SIZE=256 RANK=128 python pretrain_gpt.py ARGUMENTS --fake-process-group "
        "--moe-token-dispatcher-type alltoall");
  CHECK(sample("qwen3_235b_128k_gb200.yaml").dry_run[0].find("estimate_training_memory") !=
        std::string::npos);
  CHECK(plan_of("framework: megatron_lm\nframework_version: 0.14\ntp: 1\n").dry_run[0] ==
        "--fake-process-group exists from Megatron Core 0.16 on");
  CHECK(plan_of("framework: megatron_lm\nframework_version: 0.16\ntp: 1\n")
            .dry_run[0]
            .find("--fake-process-group") != std::string::npos);
  const auto three = plan_of("framework: megatron_lm\ngpus: 6\npp: 3\n").dry_run;
  REQUIRE(three.size() == 4);
  CHECK(three[1].find("RANK=2 ") != std::string::npos);
  const std::string torch = sample("ddp_native.json").dry_run[0];
  CHECK(torch.find("init_process_group(\"fake\", store=FakeStore(), rank=R, world_size=8)") !=
        std::string::npos);
  CHECK(plan_of("framework: pytorch\ngpus: 64\npp: 4\n").dry_run[0].find("for R in 0, 32, 48;") !=
        std::string::npos);
}

TEST_CASE("plan: the degrees of FSDP are part of the smallest job and of the dry run") {
  const std::string model = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[parallelism]\n";
  const auto titan = [&](const std::string& keys) { return plan_of(model + keys, "a.toml"); };
  const Plan a = sample("llama3_8b_torchtitan.toml");
  CHECK(a.min_gpus == 8);
  CHECK(a.min_gpus_arithmetic == "PP 1 x replicas 1 x shards 8 x TP 1 x CP 1 = 8");
  CHECK(a.dry_run[0].find("NGPU=8 COMM_MODE=fake_backend ") == 0);
  CHECK(a.memory);  // the sizes come with the name, the GPUs with the degrees
  CHECK(std::count(a.notes.begin(), a.notes.end(),
                   "GPUs are not given: taken as 8, the product of all degrees") == 1);
  const std::string degrees =
      "data_parallel_shard_degree = 4\ndata_parallel_replicate_degree = 2\n"
      "tensor_parallel_degree = 2\npipeline_parallel_degree = 3\n";
  const Plan b = titan(degrees);
  CHECK(b.min_gpus == 48);
  CHECK(b.min_gpus_arithmetic == "PP 3 x replicas 2 x shards 4 x TP 2 x CP 1 = 48");
  CHECK(grid_arithmetic(b.grids[1]) == "replicas 2 x shards 4 x TP 2 x CP 1 x PP 3 = 48, the GPUs");
  CHECK(titan("data_parallel_shard_degree = -1\ndata_parallel_replicate_degree = 2\n").min_gpus ==
        2);
  // A number of GPUs that is no product of the degrees does not start, nor is it played.
  for (const char* gpus : {"12", "16"}) {
    INFO(gpus);
    const Plan c =
        titan("data_parallel_shard_degree = 8\n[wallsight]\ngpus = " + std::string(gpus) + "\n");
    REQUIRE(find(c, "configuration/shard_degree") != nullptr);
    CHECK(find(c, "configuration/shard_degree")->actions[0].to == "8");
    CHECK(c.dry_run[0].find("NGPU=8 ") == 0);
    CHECK(nlohmann::json::parse(rendered(c, "json"))["grids"][1]["fits"] == false);
  }
  // Our own keys: the replicas are what is left where only the shards are given.
  const Plan own = plan_of("framework: pytorch\ngpus: 32\nfsdp_shard_size: 8\ntp: 2\n");
  CHECK(own.min_gpus == 16);
  CHECK(own.dry_run[0].find("world_size=32)") != std::string::npos);
  CHECK(grid_arithmetic(own.grids[1]) ==
        "shards 8 x TP 2 x CP 1 x PP 1 = 16; 32 GPUs / 16 = replicas 2");
  const Plan experts = titan("data_parallel_shard_degree = 8\nexpert_parallel_degree = 16\n");
  CHECK(experts.min_gpus_arithmetic ==
        "PP 1 x lcm(replicas 1 x shards 8 x TP 1 x CP 1, ETP x EP 16) = 16");
}

TEST_CASE("plan: a size that only the start of the job knows makes what hangs on it unknown") {
  const std::string fixed = "torchrun pretrain_gpt.py --num-layers 32 --hidden-size 4096 ";
  const Plan p = plan_of(fixed +
                             "--num-attention-heads 32 --ffn-hidden-size 11008 --vocab-size 32000 "
                             "--seq-length 4096 --world-size 8 --micro-batch-size 1 "
                             "--tensor-model-parallel-size=$(nproc)\n",
                         "run.sh");
  CHECK_FALSE(p.min_gpus);
  CHECK_FALSE(p.grids[0].product);
  CHECK_FALSE(p.dp);
  CHECK_FALSE(p.memory);
  CHECK(errors(p) == 0);
  const std::string text = rendered(p, "text");
  CHECK(text.find("TP ? x CP 1 x PP 1: not known") != std::string::npos);
  CHECK(text.find("memory estimate: needs tp (comes from outside the file)") != std::string::npos);
  const auto json = nlohmann::json::parse(rendered(p, "json"));
  CHECK(json["min_gpus"].is_null());
  CHECK(json["grids"][0]["fits"].is_null());
  CHECK(json["grids"][0]["sizes"]["TP"].is_null());
  // --gpus and its like take the place of what the file does not know.
  const Plan batch = plan_of(fixed + "--tensor-model-parallel-size 2 --micro-batch-size $MBS\n");
  CHECK(batch.min_gpus == 2);
  CHECK(batch_words(batch) == "micro-batch, global batch and DP not known");
}

TEST_CASE("plan: words that fit the numbers and the model") {
  const Plan one = plan_of("tp: 2\ngpus: 1\nmicro_batch: 1\nglobal_batch: 8\n");
  CHECK(grid_arithmetic(one.grids[0]) ==
        "TP 2 x CP 1 x PP 1 = 2; 1 GPU / 2 = 0.5, no whole number");
  CHECK(result_words(one) == "1 setting that does not work; smallest job 2 GPUs");
  CHECK(batch_words(one) == "DP not known");
  const Plan typo = plan_of("torchrun x.py --tensor-model-paralel-size 2 --num-layers 4\n", "x.sh");
  CHECK(std::count(typo.notes.begin(), typo.notes.end(),
                   "`--tensor-model-paralel-size` (x.sh: line 1) is no setting that is known: is "
                   "`--tensor-model-parallel-size` meant?") == 1);
}

TEST_CASE("plan: what does not fit exceeds the GPU even at the lower end") {
  const std::string model =
      "model: llama3_70b\nframework: megatron_lm\nplatform: h100\nseq_len: 8192\nmicro_batch: 1\n"
      "global_batch: 64\nbf16: true\nrecompute_granularity: full\nuse_distributed_optimizer: "
      "true\n";
  bool fits = false, may = false, never = false;
  for (const char* layout :
       {"tp: 8\npp: 8\ngpus: 64\n", "tp: 8\npp: 4\ngpus: 64\n", "tp: 8\npp: 2\ngpus: 32\n",
        "tp: 8\npp: 2\ngpus: 16\n", "tp: 4\npp: 2\ngpus: 16\n", "tp: 4\npp: 4\ngpus: 16\n"}) {
    const Plan p = plan_of(model + layout);
    REQUIRE(p.memory);
    const int64_t lo = p.memory->total_bytes - p.memory->uncertainty_bytes;
    const int64_t hi = p.memory->total_bytes + p.memory->uncertainty_bytes;
    const bool exceeds = find(p, "configuration/memory_exceeds") != nullptr;
    const bool tight = find(p, "configuration/memory_tight") != nullptr;
    CHECK(exceeds == (lo > *p.memory->capacity_bytes));
    CHECK(tight == (hi > *p.memory->capacity_bytes && !exceeds));
    never |= exceeds;
    may |= tight;
    fits |= !exceeds && !tight;
  }
  CHECK(fits);
  CHECK(never);
  (void)may;
}

TEST_CASE("plan: missing keys limit it and are notes") {
  const Plan p = plan_of("tp: 2\nnum_experts: 8\n");
  CHECK_FALSE(p.memory);
  CHECK_FALSE(p.dp);
  const std::string text = rendered(p, "text");
  CHECK(text.find("gpus is not given") != std::string::npos);
  CHECK(text.find("memory estimate: needs") != std::string::npos);
  for (const char* line : {"\n  PP is not given: taken as 1\n", "\n  EP is not given: taken as 1\n",
                           "\n  ETP is not given: taken as TP, 2\n"}) {
    INFO(line);
    CHECK(text.find(line) != std::string::npos);
  }
  CHECK(text.find("TP is not given: taken as 1") == std::string::npos);
  const std::string outside =
      rendered(plan_of("x.py --num-experts 8 --tensor-model-parallel-size $TP\n", "a.sh"), "text");
  CHECK(outside.find("ETP is not given: taken as TP, which comes from outside the file") !=
        std::string::npos);
}

TEST_CASE("plan: FP32 for want of a flag, ungrouped experts, a precision that the GPU lacks") {
  const std::string flags =
      "python pretrain_gpt.py --num-layers 4 --num-experts 8 --expert-model-parallel-size 2 "
      "--world-size 8";
  const Plan bare = plan_of(flags + "\n", "run.sh"),
             whole = plan_of(flags + " --bf16 --moe-grouped-gemm\n", "run.sh");
  for (const char* rule : {"configuration/computes_in_fp32", "configuration/grouped_gemm_off"}) {
    INFO(rule);
    CHECK(find(bare, rule) != nullptr);
    CHECK(find(whole, rule) == nullptr);
  }
  const std::string bridge =
      "framework: megatron_bridge\ntp: 1\nmixed_precision: bf16_with_mxfp8_mixed\nplatform: ";
  CHECK(find(plan_of(bridge + "h100\n"), "configuration/precision_not_on_gpu") != nullptr);
  CHECK(find(plan_of(bridge + "gb200\n"), "configuration/precision_not_on_gpu") == nullptr);
}

}  // namespace ws
