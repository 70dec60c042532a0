// Forms that more than one program writes: NeMo 1, values from outside, keys that stand twice.
#include "unit/config/read_text.h"

namespace ws {

TEST_CASE("read config: keys that NeMo 1 alone has") {
  const std::string file = R"(trainer:
  devices: 8
  num_nodes: 4
  precision: bf16
model:
  encoder_seq_length: 4096
  tensor_model_parallel_size: 8
  activation: fast-swiglu
  override_vocab_size: 32000
  fp8: False
  ub_tp_comm_overlap: False
  activations_checkpoint_granularity: full
  activations_checkpoint_method: uniform
  activations_checkpoint_num_layers: 1
  data:
    seq_length: ${model.encoder_seq_length}
    num_workers: ${.workers}
    workers: 3
  optim:
    name: distributed_fused_adam
    overlap_grad_sync: true
    overlap_param_sync: False
    grad_sync_dtype: bf16
)";
  const RunConfig config = read(file);
  CHECK(value(config, "framework") == "megatron_bridge");
  CHECK(value(config, "gpus") == "32");
  CHECK(value(config, "seq_len") == "4096");
  CHECK(value(config, "vocab_size") == "32000");
  CHECK(value(config, "gated_mlp") == "true");
  CHECK(value(config, "fp8_format") == "-");
  CHECK(value(config, "tp_comm_overlap") == "false");
  CHECK(value(config, "recompute_granularity") == "full");
  CHECK(value(config, "recompute_method") == "uniform");
  CHECK(value(config, "recompute_num_layers") == "1");
  CHECK(value(config, "use_distributed_optimizer") == "true");
  CHECK(value(config, "overlap_grad_reduce") == "true");
  CHECK(value(config, "overlap_param_gather") == "false");
  CHECK(value(config, "grad_reduce_in_fp32") == "false");
  CHECK(value(config, "mixed_precision") == "bf16");
  CHECK(value(config, "num_workers") == "3");
  CHECK(has_note(config, "keys of NeMo 1"));
  CHECK_FALSE(has_note(config, "from outside"));
  CHECK(config.unknown.size() == 1);  // model.data.workers
  const RunConfig bridge = read("model:\n  seq_length: 4096\n  fp8: hybrid\n");
  CHECK_FALSE(has_note(bridge, "NeMo 1"));
  CHECK(value(bridge, "fp8_format") == "hybrid");
  // How much to recompute counts with whole layers alone.
  const RunConfig selective = read(
      "model:\n  activations_checkpoint_granularity: selective\n"
      "  activations_checkpoint_method: uniform\n  activations_checkpoint_num_layers: 1\n");
  CHECK(value(selective, "recompute_granularity") == "selective");
  CHECK(value(selective, "recompute_method") == "-");
  CHECK(value(selective, "recompute_num_layers") == "-");
}

TEST_CASE("read config: a value of Hydra that stands nowhere in the file is from outside") {
  for (const char* value :
       {"${other.x}", "${.x}", "${oc.env:TP}", "${..model}", "${model.a.b.c}"}) {
    INFO(value);
    const RunConfig config =
        read(std::string("model:\n  num_layers: 4\n  tensor_model_parallel_size: ") + value + "\n");
    CHECK(entry(config, "tp") == nullptr);
    CHECK(has_note(config, "from outside"));
  }
}

TEST_CASE("read config: WORLD_SIZE is the number of GPUs where no launcher sets it") {
  const std::string flags = " pretrain_gpt.py --num-layers 4 --tensor-model-parallel-size 2\n";
  CHECK(value(read("WORLD_SIZE=128 RANK=0 python" + flags), "gpus") == "128");
  CHECK(value(read("export WORLD_SIZE=64\nexport RANK=0\npython" + flags), "gpus") == "64");
  CHECK(value(read("WORLD_SIZE=128 torchrun --nproc_per_node 8" + flags), "gpus") == "8");
  CHECK(value(read("WORLD_SIZE=128 torchrun" + flags), "gpus") == "-");
  CHECK(value(read("WORLD_SIZE=$N python" + flags), "gpus") == "-");
  CHECK(value(read("WORLD_SIZE=0 python" + flags), "gpus") == "-");
  CHECK(value(read("WORLD_SIZE=16 python --world-size 32" + flags), "gpus") == "32");
}

TEST_CASE("read config: of a key that stands twice the last counts, as programs read it") {
  const RunConfig json = read(R"({"framework":"pytorch","gpus":8,"gpus":16,"tp":1,"tp":2})");
  CHECK(value(json, "gpus") == "16");
  CHECK(value(json, "tp") == "2");
  CHECK(has_note(json, "the last is used"));
  CHECK(value(read("gpus: 8\ngpus: 16\n"), "gpus") == "16");
}

TEST_CASE("read config: settings that all come from outside, by their names") {
  const std::string script =
      refusal("torchrun pretrain_gpt.py --num-layers $A --seq-length ${B}\n");
  CHECK(script.find("num_layers, seq_len") != std::string::npos);
  CHECK(script.find("$A, $B") != std::string::npos);
  CHECK(refusal("torchrun pretrain_gpt.py --num-layers $(date) --seq-length `date`\n")
            .find("(the output of a command)") != std::string::npos);
  CHECK(refusal("a: 1\n").find("no setting that is known") != std::string::npos);
}

TEST_CASE("read config: a key that YAML does not take is told as that") {
  const std::string text =
      R"({"framework":"pytorch","gpus":8,")" + std::string(2000, 'k') + R"(":1})";
  const std::string why = refusal(text, "long.json");
  CHECK(why.find("at most 1024 bytes") != std::string::npos);
  CHECK(why.find("found one of 2000 in well-formed JSON") != std::string::npos);
}

}  // namespace ws
