// Names of settings as the file of a run has them.
#include "facts/fact_db.h"
#include "support/catch.h"

namespace ws {

TEST_CASE("file names: of torchtitan by its release, of a section of ours where it has none") {
  const std::string old = " training.batch-size experimental.pipeline-parallel-degree ";
  const std::string today = " parallelism.tensor-parallel-degree compile.enable ";
  CHECK(key_in_file("torch_compile", "pytorch", old) == "training.compile (torch_compile)");
  CHECK(key_in_file("torch_compile", "pytorch", today) == "compile.enable (torch_compile)");
  CHECK(key_in_file("num_experts", "pytorch", old) == "num_experts (in a section [wallsight])");
  CHECK(key_in_file("torch_compile", "pytorch", " torch-compile ") == "torch_compile");
  CHECK(key_in_file("cpu_offloading_layers", "megatron_lm", "") ==
        "--cpu-offloading-num-layers (cpu_offloading_layers)");
  CHECK(is_of_torchtitan(old));
  CHECK_FALSE(is_of_torchtitan(" training batch-size "));
}

TEST_CASE("file names: a text in the words of torchtitan's release") {
  const auto old = [](const char* text) {
    return in_words_of_torchtitan(text, " training.tensor-parallel-degree optimizer.fused ");
  };
  CHECK(old("compile.enable = true, with the model") == "training.compile = true, with the model");
  CHECK(old("optimizer.implementation = \"fused\"") == "optimizer.fused = true");
  CHECK(old("parallelism.pipeline_parallel_schedule; no.name") ==
        "experimental.pipeline_parallel_schedule; no.name");
  CHECK(in_words_of_torchtitan("compile.enable", " parallelism.tensor-parallel-degree ") ==
        "compile.enable");
}

}  // namespace ws
