// Tested by: precision_recipes_test.cpp
#include "config/precision_recipes.h"

#include <algorithm>

namespace ws {
namespace {

struct Recipe {
  std::string_view part;  // of the name; the first that is in it counts
  std::string_view fp8_format, fp8_recipe, fp4_format;
  bool gathers_fp8;
};

// source: Megatron-Bridge src/megatron/bridge/training/mixed_precision.py
constexpr Recipe kRecipes[] = {
    {"mxfp8", "e4m3", "mxfp8", "", true},
    {"nvfp4", "", "", "e2m1", false},
    {"fp8_delayed_scaling", "hybrid", "delayed", "", true},
    {"nanov2_bf16_with_fp8_current_scaling", "hybrid", "blockwise", "", true},
    {"fp8_current_scaling", "hybrid", "tensorwise", "", true},
    {"fp8_subchannel_scaling", "hybrid", "blockwise", "", false},
};

bool has(const std::string& name, std::string_view part) {
  return name.find(part) != std::string::npos;
}

}  // namespace

void add_precision_recipe(RunConfig& config) {
  auto named = text(config, "mixed_precision");
  if (!named) return;
  std::string name = *named;
  std::replace(name.begin(), name.end(), '-', '_');  // Bridge takes both
  const bool bf16 = has(name, "bf16_mixed") || has(name, "bf16_with_");
  const bool fp16 = has(name, "fp16_mixed") || has(name, "fp16_with_");
  if (!bf16 && !fp16) return;
  const std::string place = "recipe " + *named;
  const auto put = [&](std::string_view key, ConfigValue value) {
    add_missing(config, key, std::move(value), place);
  };
  put(bf16 ? "bf16" : "fp16", true);
  put("grad_reduce_in_fp32", bf16 && !has(name, "_bf16_grad_reduce"));
  const auto* recipe = std::find_if(std::begin(kRecipes), std::end(kRecipes),
                                    [&](const Recipe& r) { return has(name, r.part); });
  if (recipe == std::end(kRecipes)) return;
  const bool gathers = recipe->gathers_fp8 && !has(name, "_bf16_params");
  if (!recipe->fp8_format.empty()) {
    put("fp8_format", std::string(recipe->fp8_format));
    put("fp8_recipe", std::string(recipe->fp8_recipe));
  }
  if (!recipe->fp4_format.empty()) put("fp4_format", std::string(recipe->fp4_format));
  put("fp8_param_gather", gathers);
  if (recipe->fp8_recipe == "mxfp8") put("reuse_grad_buf_for_mxfp8_param_ag", gathers);
}

}  // namespace ws
