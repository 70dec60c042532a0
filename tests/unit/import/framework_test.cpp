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
        "megatron_lm");
  CHECK(told_by(with_op("_VocabParallelCrossEntropy")) == "megatron_lm");
  CHECK(told_by(with_op("_ReduceFromModelParallelRegion")) == "megatron_lm");
  CHECK(told_by(with_op("megatron/core/pipeline_parallel/schedules.py(392): forward_step")) ==
        "megatron_lm");
  CHECK(told_by(with_op("megatron.core.transformer.attention.forward.qkv")) == "megatron_lm");
  CHECK(told_by(with_op("megatron/training/training.py(10): train")) == "megatron_lm");
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
  CHECK(told_by(f) == "megatron_lm");
  test::KinetoFile other = with_op("aten::add");
  other.after(R"("distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2, "pg_config": [
      {"pg_name": "4", "pg_desc": "mesh_dp", "pg_size": 2, "ranks": [0, 1]}]})");
  CHECK(told_by(other) == "pytorch");
}

}  // namespace ws
