#include "import/framework.h"

#include "import/kineto.h"
#include "support/catch.h"
#include "support/kineto_file.h"

namespace ws {
namespace {

std::string told_by(test::KinetoFile file) {
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

TEST_CASE("framework: Bridge is told where a name of its own stands, before or behind others") {
  test::KinetoFile f = with_op("megatron/bridge/training/train.py(120): train");
  f.cpu_op("megatron/core/utils.py(1): f", 40, 50);
  CHECK(told_by(f) == "megatron_bridge");
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
