#include "config/precision_recipes.h"

#include "config/read_config.h"
#include "support/catch.h"

using namespace ws;

namespace {

RunConfig with(const std::string& yaml) {
  auto config = read_config("model: {num_layers: 4}\n" + yaml, "run.yaml");
  if (!config) FAIL(config.error().message);
  return *config;
}

}  // namespace

TEST_CASE("a recipe of Bridge sets what its name stands for") {
  const RunConfig delayed = with("mixed_precision: bf16_with_fp8_delayed_scaling_mixed\n");
  CHECK(text(delayed, "fp8_format") == "hybrid");
  CHECK(text(delayed, "fp8_recipe") == "delayed");
  CHECK(boolean(delayed, "fp8_param_gather") == true);
  CHECK(boolean(delayed, "grad_reduce_in_fp32") == true);
  CHECK(entry(delayed, "fp8_recipe")->place == "recipe bf16_with_fp8_delayed_scaling_mixed");
  const RunConfig blocks = with("mixed_precision: fp16-with-fp8-subchannel-scaling-mixed\n");
  CHECK(text(blocks, "fp8_recipe") == "blockwise");
  CHECK(boolean(blocks, "fp8_param_gather") == false);
  CHECK(boolean(blocks, "grad_reduce_in_fp32") == false);
  CHECK(boolean(blocks, "fp16") == true);
  const RunConfig four = with("mixed_precision: bf16_with_nvfp4_mixed\n");
  CHECK(text(four, "fp4_format") == "e2m1");
  CHECK(!entry(four, "fp8_format"));
  const RunConfig plain = with("mixed_precision: bf16_mixed\n");
  CHECK(boolean(plain, "bf16") == true);
  CHECK(!entry(plain, "fp8_param_gather"));
}

TEST_CASE("modifiers of a recipe's name, and what the file says itself") {
  const RunConfig mxfp8 =
      with("mixed_precision: bf16_with_mxfp8_mixed_bf16_params_bf16_grad_reduce\n");
  CHECK(text(mxfp8, "fp8_recipe") == "mxfp8");
  CHECK(boolean(mxfp8, "fp8_param_gather") == false);
  CHECK(boolean(mxfp8, "reuse_grad_buf_for_mxfp8_param_ag") == false);
  CHECK(boolean(mxfp8, "grad_reduce_in_fp32") == false);
  const RunConfig own = with(
      "ddp: {grad_reduce_in_fp32: false}\nmixed_precision: bf16_with_fp8_current_scaling_mixed\n");
  CHECK(boolean(own, "grad_reduce_in_fp32") == false);
  CHECK(text(own, "fp8_recipe") == "tensorwise");
}

TEST_CASE("other words are no recipe of Bridge") {
  CHECK(!entry(with("mixed_precision: bf16\n"), "grad_reduce_in_fp32"));
  auto ddp = read_config("framework: pytorch\nmixed_precision: bf16_mixed\n", "ddp.yaml");
  REQUIRE(ddp);
  CHECK(!entry(*ddp, "grad_reduce_in_fp32"));
}
