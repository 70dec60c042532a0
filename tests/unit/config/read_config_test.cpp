// The same settings in every form, and what each form has of its own.
#include "unit/config/read_text.h"

namespace ws {
namespace {

bool has_unknown(const RunConfig& config, const std::string& name) {
  return std::any_of(config.unknown.begin(), config.unknown.end(),
                     [&](const UnknownSetting& u) { return u.name == name; });
}

const std::string kScript = R"(#!/bin/bash
#SBATCH --nodes=4
# --tensor-model-parallel-size 99 in a comment
export CUDA_DEVICE_MAX_CONNECTIONS=1
export PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True"
GPUS_PER_NODE=8
TP=${TP:-2}
MODEL_ARGS=(
    --num-layers 32
    --hidden-size 4096   # width
    --seq-length $((4 * 1024))
)
MOE_ARGS="--num-experts 8 --expert-model-parallel-size=4"
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes 4 pretrain_gpt.py \
    ${MODEL_ARGS[@]} $MOE_ARGS \
    --tensor-model-parallel-size $TP --sequence-parallel \
    --recompute-granularity selective --recompute-modules moe_act layernorm \
    --grad-reduce-in-bf16 --bf16 \
    --data-path /data/secret --lr 1e-4
)";

}  // namespace

TEST_CASE("read config: the width of the feed-forward layers that Megatron-LM takes by itself") {
  const auto ffn = [](const std::string& flags) {
    const auto config = read_config("python pretrain_gpt.py --num-layers 4 " + flags, "a.sh");
    REQUIRE(config);
    return integer(*config, "ffn_hidden_size");
  };
  CHECK(ffn("--hidden-size 4096") == 16384);
  CHECK(ffn("--hidden-size 4096 --swiglu") == 10880);  // 10922.67, a multiple of 64
  CHECK(ffn("--hidden-size 4096 --ffn-hidden-size 14336 --swiglu") == 14336);
  CHECK_FALSE(ffn("--hidden-size 4096 $MORE"));  // may hold it
  CHECK_FALSE(ffn(""));
}

TEST_CASE("script: flags, arrays, variables, defaults, arithmetic, environment") {
  const RunConfig c = read(kScript);
  CHECK(value(c, "framework") == "megatron_lm");
  CHECK(value(c, "num_layers") == "32");
  CHECK(value(c, "seq_len") == "4096");
  CHECK(value(c, "tp") == "2");
  CHECK(value(c, "ep") == "4");
  CHECK(value(c, "num_experts") == "8");
  CHECK(value(c, "sequence_parallel") == "true");
  CHECK(value(c, "recompute_modules") == "moe_act layernorm");
  CHECK(value(c, "grad_reduce_in_fp32") == "false");
  CHECK(value(c, "cuda_device_max_connections") == "1");
  CHECK(value(c, "expandable_segments") == "true");
  CHECK(value(c, "gpus") == "32");
  CHECK(has_unknown(c, "--data-path"));
  CHECK(has_unknown(c, "--lr"));
  CHECK(c.unknown.size() == 2);
  CHECK(entry(c, "num_layers")->place == "run: line 9");
}

TEST_CASE("script: a flag that is not there is off, unless arguments come from outside") {
  const RunConfig c = read(kScript);
  CHECK(value(c, "overlap_grad_reduce") == "false");
  CHECK(value(c, "moe_token_dispatcher_type") == "allgather");
  CHECK(value(c, "check_for_nan") == "true");
  CHECK(value(c, "recompute_granularity") == "selective");
  CHECK(value(c, "etp") == "-");
  const RunConfig open =
      read("python pretrain_gpt.py --num-layers 4 --tensor-model-parallel-size 2 $@\n");
  CHECK(value(open, "tp") == "2");
  CHECK(value(open, "overlap_grad_reduce") == "-");
  CHECK(has_note(open, "come from outside the file"));
}

TEST_CASE("script: a value from outside is not given; the last of two wins") {
  const RunConfig c = read(
      "torchrun x.py --num-layers $(cat layers) --pipeline-model-parallel-size $PP "
      "--tensor-model-parallel-size 2 --tensor-model-parallel-size 4\n");
  CHECK(value(c, "num_layers") == "-");
  CHECK(value(c, "tp") == "4");
  CHECK(has_note(c, "`--num-layers` (run: line 1) comes from outside"));
  CHECK(has_note(c, "is given as 2 (run: line 1) and as 4 (run: line 1): the last is used"));
}

TEST_CASE("argv: a JSON list, and words that end in NUL") {
  const RunConfig a =
      read(R"(["python", "pretrain_gpt.py", "--tensor-model-parallel-size", "8", "--bf16"])");
  CHECK(value(a, "tp") == "8");
  CHECK(value(a, "bf16") == "true");
  using namespace std::string_literals;
  const RunConfig b = read(
      "python\0pretrain_gpt.py\0--num-layers\0"
      "12\0--context-parallel-size=2\0"s);
  CHECK(value(b, "num_layers") == "12");
  CHECK(value(b, "cp") == "2");
}

TEST_CASE("argument dump: also under a launcher's prefix, constants only when given") {
  const RunConfig c = read(
      "0: using world size: 16\n"
      "0: ------------------------ arguments ------------------------\n"
      "0:   accumulate_allreduce_grads_in_fp32 .............. True\n"
      "0:   bf16 ............................................ True\n"
      "0:   check_for_nan_in_loss_and_grad .................. False\n"
      "0:   data_path ....................................... ['/secret']\n"
      "0:   grad_reduce_in_bf16 ............................. False\n"
      "0:   moe_enable_deepep ............................... False\n"
      "0:   overlap_grad_reduce ............................. True\n"
      "0:   recompute_granularity ........................... None\n"
      "0:   recompute_modules ............................... ['core_attn', 'moe_act']\n"
      "0:   untie_embeddings_and_output_weights ............. True\n"
      "0:   virtual_pipeline_model_parallel_size ............ None\n"
      "0:   world_size ...................................... 16\n"
      "0: -------------------- end of arguments ---------------------\n"
      "0:   tensor_model_parallel_size ...................... 8\n");
  CHECK(value(c, "grad_reduce_in_fp32") == "true");
  CHECK(value(c, "check_for_nan") == "false");
  CHECK(value(c, "overlap_grad_reduce") == "true");
  CHECK(value(c, "moe_flex_dispatcher_backend") == "-");
  CHECK(value(c, "recompute_granularity") == "none");
  CHECK(value(c, "recompute_modules") == "core_attn moe_act");
  CHECK(value(c, "tied_embeddings") == "false");
  CHECK(value(c, "gpus") == "16");
  CHECK(value(c, "vpp") == "-");
  CHECK(value(c, "tp") == "-");
  CHECK(has_unknown(c, "data_path"));
}

TEST_CASE("Bridge: sections, interpolation, overrides, recipe lines") {
  const RunConfig c = read(R"(
_target_: megatron.bridge.training.config.ConfigContainer
model:
  _target_: x.GPTProvider
  tensor_model_parallel_size: 2
  expert_model_parallel_size: 8
  num_moe_experts: 64
  recompute_granularity: null
  recompute_modules: [moe_act, layernorm]
  seq_length: 8192
  pipeline_dtype: {_target_: torch.bfloat16}
train: {micro_batch_size: 1, global_batch_size: "${oc.env:GBS}", manual_gc: true}
ddp: {overlap_grad_reduce: true}
comm_overlap: {tp_comm_overlap: false}
mixed_precision: bf16_with_mxfp8_mixed
dataset: {num_workers: 8, path: /secret}
env_vars: {CUDA_DEVICE_MAX_CONNECTIONS: 32}
)");
  CHECK(value(c, "framework") == "megatron_bridge");
  CHECK(value(c, "tp") == "2");
  CHECK(value(c, "num_experts") == "64");
  CHECK(value(c, "recompute_granularity") == "none");
  CHECK(value(c, "recompute_modules") == "moe_act layernorm");
  CHECK(value(c, "micro_batch") == "1");
  CHECK(value(c, "global_batch") == "-");
  CHECK(value(c, "num_workers") == "8");
  CHECK(value(c, "mixed_precision") == "bf16_with_mxfp8_mixed");
  CHECK(value(c, "cuda_device_max_connections") == "32");
  CHECK(has_unknown(c, "dataset.path"));
  CHECK(has_note(c, "comes from outside"));
  const RunConfig overrides = read(
      "python train.py model.tensor_model_parallel_size=4 ++ddp.overlap_grad_reduce=true "
      "other.thing=1\n");
  CHECK(value(overrides, "framework") == "megatron_bridge");
  CHECK(value(overrides, "tp") == "4");
  CHECK(value(overrides, "overlap_grad_reduce") == "true");
  CHECK(has_unknown(overrides, "other.thing"));
  const RunConfig recipe = read(
      "def f(cfg):\n  cfg.model.context_parallel_size = 4  # long\n  cfg.train.micro_batch_size = "
      "2\n  cfg.model.cuda_graph_scope = [\"attn\", \"moe_router\"]\n  if cfg.model.x == 3: "
      "pass\n");
  CHECK(value(recipe, "cp") == "4");
  CHECK(value(recipe, "micro_batch") == "2");
  CHECK(value(recipe, "cuda_graph_modules") == "attn moe_router");
}

TEST_CASE("torchtitan TOML, a model card, the native form in JSON") {
  const RunConfig c = read(
      "[model]\nname = \"llama3\"\n[training]\nlocal_batch_size = 2  # per rank\nseq_len = "
      "8192\n[parallelism]\ntensor_parallel_degree = 4\n[compile]\nenable = true\n");
  CHECK(value(c, "framework") == "pytorch");
  CHECK(value(c, "micro_batch") == "2");
  CHECK(value(c, "tp") == "4");
  CHECK(value(c, "torch_compile") == "true");
  CHECK(value(c, "fsdp_shard_size") == "0");  // not given: FSDP over all of data parallel
  CHECK(value(read("[parallelism]\ndata_parallel_shard_degree = 1\n"), "fsdp_shard_size") == "1");
  const RunConfig card = read(
      R"({"num_hidden_layers": 61, "hidden_size": 7168, "n_routed_experts": 256, "first_k_dense_replace": 3, "tie_word_embeddings": false})");
  CHECK(value(card, "num_layers") == "61");
  CHECK(value(card, "num_experts") == "256");
  CHECK(value(card, "dense_layers") == "3");
  CHECK(value(card, "tied_embeddings") == "false");
  const RunConfig native =
      read(R"({"tp": 2, "seq_len": 4096, "env": {"NCCL_GRAPH_REGISTER": 0}, "mystery": 1})");
  CHECK(value(native, "tp") == "2");
  CHECK(value(native, "nccl_graph_register") == "0");
  CHECK(has_unknown(native, "mystery"));
  CHECK(native.format == "native keys");
}

TEST_CASE("values: types as people write them, words of other spellings, unknown words") {
  const RunConfig c = read(
      "seq_len: 131_072\nglobal_batch: 1e3\nsequence_parallel: yes\ncp_comm_type: "
      "all_gather\nexp_avg_dtype: torch.bfloat16\nmoe_router_load_balancing_type: brand_new\ntp: "
      "None\n");
  CHECK(value(c, "seq_len") == "131072");
  CHECK(value(c, "global_batch") == "1000");
  CHECK(value(c, "sequence_parallel") == "true");
  CHECK(value(c, "cp_comm_type") == "allgather");
  CHECK(value(c, "exp_avg_dtype") == "bf16");
  CHECK(value(c, "moe_router_load_balancing_type") == "-");
  CHECK(has_note(c, "'brand_new' is none of"));
  CHECK(value(c, "tp") == "-");
}

TEST_CASE("torchtitan: releases before the sections parallelism and compile") {
  const RunConfig c = read(
      "[training]\nbatch_size = 2\nseq_len = 2048\ndata_parallel_shard_degree = 4\n"
      "data_parallel_replicate_degree = 2\ntensor_parallel_degree = 8\ncompile = true\n"
      "[experimental]\npipeline_parallel_degree = 2\ncontext_parallel_degree = 4\n"
      "enable_async_tensor_parallel = true\npipeline_parallel_schedule = \"1f1b\"\n");
  CHECK(value(c, "micro_batch") == "2");
  CHECK(value(c, "fsdp_shard_size") == "4");
  CHECK(value(c, "fsdp_replicas") == "2");
  CHECK(value(c, "tp") == "8");
  CHECK(value(c, "pp") == "2");
  CHECK(value(c, "cp") == "4");
  CHECK(value(c, "torch_compile") == "true");
  CHECK(value(c, "tp_comm_overlap") == "true");
  CHECK(value(c, "pipeline_schedule") == "1f1b");
  CHECK(value(read("[training]\ndata_parallel_degree = -1\n"), "fsdp_shard_size") == "0");
}

TEST_CASE("torchtitan: words for yes and no, and what its loop does by itself") {
  const auto reshard = [](const std::string& word) {
    return value(read("[parallelism]\ntensor_parallel_degree = 2\n"
                      "fsdp_reshard_after_forward = \"" +
                      word + "\"\n"),
                 "fsdp_reshard_after_forward");
  };
  CHECK(reshard("always") == "true");
  CHECK(reshard("never") == "false");
  CHECK(reshard("default") == "-");
  const auto fused = [](const std::string& word) {
    return value(read("[optimizer]\nimplementation = \"" + word + "\"\n"), "fused_optimizer");
  };
  CHECK(fused("fused") == "true");
  CHECK(fused("foreach") == "false");
  CHECK(fused("for-loop") == "false");
  const RunConfig c = read(
      "[training]\nmixed_precision_reduce = \"float32\"\n[parallelism]\n"
      "enable_async_tensor_parallel = false\nenable_sequence_parallel = true\n");
  CHECK(value(c, "grad_reduce_in_fp32") == "true");
  CHECK(value(c, "tp_comm_overlap") == "false");
  CHECK(value(c, "sequence_parallel") == "true");
  CHECK(value(c, "manual_gc") == "true");
  CHECK(value(c, "manual_gc_interval") == "50");
  CHECK(value(read("[training]\ngc_freq = 10\n"), "manual_gc_interval") == "10");
  const RunConfig newer =
      read("[training]\nseq_len = 8\n[optimizer]\nimplementation = \"newer\"\n");
  CHECK(value(newer, "fused_optimizer") == "-");
  CHECK(has_note(newer, "'newer' is none of for-loop foreach fused"));
}

TEST_CASE("torchtitan: -1 is what is left over, elsewhere no size is negative") {
  const RunConfig c = read(
      "[training]\nglobal_batch_size = -1\nseq_len = 8192\n[parallelism]\n"
      "data_parallel_shard_degree = -1\n");
  CHECK(value(c, "global_batch") == "-");
  CHECK(value(c, "fsdp_shard_size") == "0");
  CHECK(value(c, "seq_len") == "8192");
  CHECK(refusal("[parallelism]\ntensor_parallel_degree = -1\n").find("found '-1'") !=
        std::string::npos);
}

TEST_CASE("what only mentions settings, or is no text, is no run configuration") {
  using namespace std::string_literals;
  for (const std::string& text :
       {"Use `--tensor-model-parallel-size` with care.\nThen --num-layers 32 as before.\n"s,
        "| `--sequence-parallel` | on |\n| --num-layers 4 | layers |\n"s,
        "see a.b=c and model.nothing.here=3\n"s})
    CHECK_FALSE(refusal(text).empty());
  for (const std::string& bytes :
       {"SQLite format 3\0\x10\x00\x01\x01--num-layers 3"s, "x.py --num-layers 3 \xff\xfe\n"s,
        "a\0b\x07\0--num-layers\0003"s})
    CHECK(refusal(bytes).find("found binary data") != std::string::npos);
  CHECK(value(read("# run\n--num-layers 4\n--bf16\n"), "num_layers") == "4");
  CHECK(value(read("$LAUNCH pretrain.py --num-layers 4\n"), "num_layers") == "4");
  CHECK(value(read("A=(\n  --num-layers 4\n)\nrun ${A[@]}\n"), "num_layers") == "4");
  CHECK(value(read("FOO=1 torchrun x.py --num-layers 4\n"), "num_layers") == "4");
}

TEST_CASE("refused with place and reason") {
  CHECK(refusal("tp: two\n") ==
        "run: line 1: tp: expected a whole number from 1 to 32768, found 'two'; correct the file");
  CHECK(refusal("\ntp: 99999999999999999999\n").find("run: line 2: tp: ") == 0);
  CHECK(refusal("tp: 0\n").find("found '0'") != std::string::npos);
  CHECK(refusal("tp: 1.5\n").find("found '1.5'") != std::string::npos);
  CHECK(refusal("tp: [1, 2]\n").find("expected one value, found a list of 2") != std::string::npos);
  CHECK(refusal("tp: {a: 1}\n").find("expected one value, found a section") != std::string::npos);
  CHECK(refusal("sequence_parallel: maybe\n").find("expected true or false") != std::string::npos);
  CHECK(refusal("optimizer_offload_fraction: 2\n").find("expected a number from 0 to 1") !=
        std::string::npos);
  CHECK(refusal("recompute_modules: [{a: 1}]\n").find("expected a list of names") !=
        std::string::npos);
  CHECK(refusal("x.py --num-layers --tensor-model-parallel-size 2\n")
            .find("--num-layers: expected a value, found none") != std::string::npos);
  CHECK(refusal("a: 1\n").find("found no setting that is known") != std::string::npos);
  CHECK(refusal("").find("run: ") == 0);
  CHECK(refusal("tp: 1\n  bad: [\n").find("run: line ") == 0);
  CHECK(refusal("- 1\n- 2\n").find("found a list") != std::string::npos);
}

TEST_CASE("read: torchrun without --nnodes is one node") {
  const std::string end = "pretrain_gpt.py --tensor-model-parallel-size 16 --num-layers 8\n";
  CHECK(value(read("torchrun --nproc_per_node 8 " + end), "gpus") == "8");
  CHECK(value(read("python -m torch.distributed.run --nproc_per_node 8 " + end), "gpus") == "8");
  CHECK(value(read("torchrun --nproc_per_node 8 --nnodes 4 " + end), "gpus") == "32");
  CHECK(value(read("#SBATCH --nodes=2\ntorchrun --nproc_per_node 8 " + end), "gpus") == "16");
  for (const char* other :
       {"torchrun --nproc_per_node 8 --nnodes $NODES ", "torchrun --nproc_per_node 8 $MORE ",
        "python -m launch --nproc_per_node 8 ", "torchrun "})
    CHECK(entry(read(other + end), "gpus") == nullptr);
}

TEST_CASE("read config: what norms leave free is read from the environment") {
  const RunConfig script = read("export NVTE_FWD_LAYERNORM_SM_MARGIN=16\n" + kScript);
  CHECK(value(script, "layernorm_fwd_sm_margin") == "16");
  CHECK(value(script, "layernorm_bwd_sm_margin") == "-");
  const RunConfig yaml = read("tp: 2\nenv: {NVTE_BWD_LAYERNORM_SM_MARGIN: 20}\n");
  CHECK(value(yaml, "layernorm_bwd_sm_margin") == "20");
}

TEST_CASE("read config: flags of torchtitan are the paths of its TOML") {
  const RunConfig c = read(
      "torchrun --nproc_per_node=8 -m torchtitan.train --module llama3 --config llama3_8b "
      "--parallelism.tensor_parallel_degree 2 --training.seq-len=8192 --compile.enable "
      "--activation_checkpoint.mode full\n");
  CHECK(value(c, "framework") == "pytorch");
  CHECK(value(c, "model") == "llama3_8b");
  CHECK(value(c, "tp") == "2");
  CHECK(value(c, "seq_len") == "8192");
  CHECK(value(c, "torch_compile") == "true");
  CHECK(value(c, "recompute_granularity") == "full");
  CHECK(c.partial);
  REQUIRE_FALSE(c.notes.empty());
  CHECK(c.notes.back().find("--job.config_file") != std::string::npos);
}

TEST_CASE("read config: a program of Python is no configuration, and says what to give") {
  const auto refused = [](const char* text) {
    const auto c = read_config(text, "config_registry.py");
    return c ? std::string() : c.error().message;
  };
  const std::string registry = refused(
      "from torchtitan.trainer import Trainer\n\n\ndef llama3_8b() -> Trainer.Config:\n"
      "    return Trainer.Config(training=TrainingConfig(seq_len=8192))\n");
  CHECK(registry.find("a program of Python") != std::string::npos);
  CHECK(registry.find("--training.seq_len 8192") != std::string::npos);
  CHECK(refused("import torch\n\ndef main():\n    pass\n").find("the command that starts") !=
        std::string::npos);
  // The recipes of Bridge set what they change.
  CHECK(refused("from megatron.bridge import recipes\n\ndef main():\n"
                "    cfg.model.tensor_model_parallel_size = 2\n")
            .empty());
}

}  // namespace ws
