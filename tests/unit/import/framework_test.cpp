#include "import/framework.h"

#include "import/kineto.h"
#include "support/catch.h"
#include "support/kineto_file.h"

namespace ws {
namespace {

std::string told_by(const test::KinetoFile& file) {
  const test::ScratchFile scratch("rank0.json", file.text());
  auto trace = read_kineto(scratch.path(), {});
  REQUIRE(trace);
  return trace->framework;
}

test::KinetoFile with_op(std::string_view name) {
  test::KinetoFile f;
  f.cpu_op("aten::mm", 0, 10).cpu_op(name, 20, 30);
  return f;
}

}  // namespace

TEST_CASE(
    "framework: what only Megatron names is Megatron's, though PyTorch's names stand beside") {
  CHECK(told_by(with_op("aten::add")) == "pytorch");
  CHECK(told_by(with_op("LinearWithGradAccumulationAndAsyncCommunicationBackward")) ==
        "megatron_core");
  CHECK(told_by(with_op("_VocabParallelCrossEntropy")) == "megatron_core");
  CHECK(told_by(with_op("_ReduceFromModelParallelRegion")) == "megatron_core");
  CHECK(told_by(with_op("megatron/core/pipeline_parallel/schedules.py(392): forward_step")) ==
        "megatron_core");
  CHECK(told_by(with_op("megatron.core.transformer.attention.forward.qkv")) == "megatron_core");
  CHECK(told_by(with_op("megatron/training/training.py(10): train")) == "megatron_lm");
}

TEST_CASE("framework: kernels tell PyTorch, not what runs above it; own kernels tell nothing") {
  const auto of_kernel = [](std::string_view name) {
    Trace trace;
    trace.strings.intern(name);
    return std::string(framework_of(trace));
  };
  for (const char* name :
       {"void at::native::vectorized_elementwise_kernel<4>(int)", "_ZN2at6native18elementwise",
        "triton_poi_fused_add_0", "triton_red_fused__softmax_3"}) {
    INFO(name);
    CHECK(of_kernel(name) == "pytorch_kernels");
  }
  CHECK(of_kernel("saxpy(double *, double *, int)").empty());
  CHECK(of_kernel("my_triton_poi_fused").empty());
  CHECK(of_kernel("aten::mm") == "pytorch");
}

TEST_CASE("framework: inference is told by its own names, and by nothing of training beside them") {
  const auto of = [](const std::vector<std::string_view>& names) {
    Trace trace;
    for (const std::string_view name : names) trace.strings.intern(name);
    return framework_of(trace);
  };
  for (const char* name :
       {"vllm/v1/worker/gpu_model_runner.py(10): execute_model", "vllm::unified_attention",
        "/x/sglang/srt/managers/scheduler.py(1): run", "void paged_attention_ll4mi_QKV_kernel<int>",
        "void vllm::reshape_and_cache_flash_kernel<float>(int)", "kernel_unified_attention_2d",
        "void flashinfer::BatchDecodeWithPagedKVCacheKernel<1>()",
        "xfuser/core/distributed/parallel_state.py(57): get_tp_group"}) {
    INFO(name);
    CHECK(of({"aten::mm", name}) == "pytorch (inference)");
    CHECK(of({name}) == " (inference)");
    // Rollouts of a training job.
    for (const char* training : {"AddmmBackward0", "Optimizer.step#AdamW.step",
                                 "flash_bwd_dq_kernel", "autograd::engine::evaluate_function: x"})
      CHECK(of({name, "aten::mm", training}) == "pytorch");
  }
  // Neither a forward pass alone nor a word that both use.
  CHECK(of({"aten::mm", "nn.Module: Qwen2DecoderLayer_0"}) == "pytorch");
  CHECK(of({"## decoder fp8 None ##"}).empty());
}

TEST_CASE("framework: Bridge is told where a name of its own stands, before or behind others") {
  test::KinetoFile f = with_op("megatron/bridge/training/train.py(120): train");
  f.cpu_op("megatron/core/utils.py(1): f", 40, 50);
  CHECK(told_by(f) == "megatron_bridge");
}

TEST_CASE("framework: Python functions tell by their names and are not kept") {
  const auto told = [](std::string_view function) {
    test::KinetoFile f = with_op("aten::add");
    f.python(function, 40, 50).python("torch/nn/modules/module.py(1): _call_impl", 60, 70);
    const test::ScratchFile scratch("rank0.json", f.text());
    auto trace = read_kineto(scratch.path(), {});
    REQUIRE(trace);
    CHECK(trace->ranges.size() == 2);
    return trace->framework;
  };
  CHECK(told("megatron/training/training.py(10): train") == "megatron_lm");
  CHECK(told("/app/xDiT/xfuser/core/distributed/parallel_state.py(1): get_world") ==
        "pytorch (inference)");
  CHECK(told("my/own/training.py(10): train") == "pytorch");
}

TEST_CASE("framework: a name inside another word tells nothing, groups of the file do") {
  CHECK(told_by(with_op("MyMegatronLayer")) == "pytorch");
  CHECK(told_by(with_op("my_VocabParallelCrossEntropy")) == "pytorch");
  test::KinetoFile f = with_op("aten::add");
  f.after(R"("distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2, "pg_config": [
      {"pg_name": "4", "pg_desc": "EXPERT_MODEL_PARALLEL_GROUP", "pg_size": 2, "ranks": [0, 1]}]})");
  CHECK(told_by(f) == "megatron_core");
  test::KinetoFile other = with_op("aten::add");
  other.after(R"("distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2, "pg_config": [
      {"pg_name": "4", "pg_desc": "mesh_dp", "pg_size": 2, "ranks": [0, 1]}]})");
  CHECK(told_by(other) == "pytorch");
}

}  // namespace ws
