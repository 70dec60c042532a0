// Tested by: framework_test.cpp
#include "import/framework.h"

#include <algorithm>

#include "model/framework_names.h"

namespace ws {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Python frames, NVTX ranges of modules and autograd functions.
// source: Megatron-LM megatron/core/utils.py (nvtx_range_push), tensor_parallel/layers.py,
// tensor_parallel/mappings.py, tensor_parallel/cross_entropy.py
bool is_megatron(std::string_view s) {
  constexpr std::string_view kFunctions[] = {"LinearWithGradAccumulationAndAsyncCommunication",
                                             "_VocabParallelCrossEntropy",
                                             "_CopyToModelParallelRegion",
                                             "_ReduceFromModelParallelRegion",
                                             "_GatherFromSequenceParallelRegion",
                                             "_ReduceScatterToSequenceParallelRegion"};
  return has(s, "megatron/core/") || has(s, "megatron.core.") ||
         std::any_of(std::begin(kFunctions), std::end(kFunctions), [&](std::string_view f) {
           return s.substr(0, f.size()) == f;  // and its Backward
         });
}

bool is_megatron_program(std::string_view s) {
  return has(s, "megatron/training/") || has(s, "megatron.training.");
}

bool is_bridge(std::string_view s) {
  return has(s, "megatron/bridge/") || has(s, "megatron.bridge.");
}

bool is_operator(std::string_view s) { return s.substr(0, 6) == "aten::"; }

// Its own kernels, mangled or not, and those that its compiler writes.
// source: pytorch torch/_inductor/codegen/triton.py (kernel_category of a kernel's name)
bool is_pytorch_kernel(std::string_view s) {
  constexpr std::string_view kCompiled[] = {"triton_poi_fused", "triton_red_fused",
                                            "triton_per_fused", "triton_tem_fused"};
  return has(s, "at::native::") || has(s, "2at6native") ||
         std::any_of(std::begin(kCompiled), std::end(kCompiled),
                     [&](std::string_view name) { return s.substr(0, name.size()) == name; });
}

// source: Megatron-LM megatron/core/parallel_state.py (group_desc)
bool is_megatron_group(std::string_view description) {
  return has(description, "DATA_PARALLEL_GROUP") || has(description, "MODEL_PARALLEL_GROUP");
}

// Serving engines by their modules and operators, and kernels on a paged cache of keys and values.
// source: vLLM csrc/attention, csrc/cache_kernels.cu, vllm/attention/ops; SGLang python/sglang/srt;
// FlashInfer include/flashinfer; xDiT xfuser/core; Diffusers src/diffusers/pipelines
bool is_inference_name(std::string_view s) {
  constexpr std::string_view kNames[] = {"vllm/",
                                         "vllm::",
                                         "sglang/",
                                         "sgl_kernel",
                                         "xfuser/",
                                         "diffusers/pipelines/",
                                         "paged_attention",
                                         "PagedAttention",
                                         "reshape_and_cache",
                                         "BatchDecodeWithPagedKV",
                                         "BatchPrefillWithPagedKV",
                                         "BatchPrefillWithRaggedKV",
                                         "kernel_unified_attention_"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view name) { return has(s, name); });
}

// A backward pass or an optimizer, as ranges, operators or kernels.
bool is_training_name(std::string_view s) {
  constexpr std::string_view kNames[] = {
      "ackward", "autograd::engine", "ptimizer", "_bwd", "bwd_", "wgrad", "dgrad", "adam", "Adam"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view name) { return has(s, name); });
}

bool is_inference(const Trace& trace) {
  bool found = false;
  for (uint32_t i = 0; i < trace.strings.size(); ++i) {
    const std::string_view s = trace.strings[StringId{i}];
    if (is_training_name(s)) return false;
    found = found || is_inference_name(s);
  }
  return found;
}

std::string_view program_of(const Trace& trace) {
  bool core = std::any_of(trace.groups.begin(), trace.groups.end(),
                          [](const GroupConfig& g) { return is_megatron_group(g.description); });
  bool program = false, operators = false, kernels = false;
  for (uint32_t i = 0; i < trace.strings.size(); ++i) {
    const std::string_view s = trace.strings[StringId{i}];
    if (is_bridge(s)) return "megatron_bridge";
    program = program || is_megatron_program(s);
    core = core || is_megatron(s);
    operators = operators || is_operator(s);
    kernels = kernels || is_pytorch_kernel(s);
  }
  if (program) return "megatron_lm";
  if (core) return "megatron_core";
  return operators ? "pytorch" : kernels ? "pytorch_kernels" : "";
}

}  // namespace

std::string framework_of(const Trace& trace) {
  std::string out(program_of(trace));
  if (is_inference(trace)) out += kInferenceMark;
  return out;
}

bool tells_framework(std::string_view python_function) {
  return is_bridge(python_function) || is_megatron_program(python_function) ||
         is_megatron(python_function) || is_inference_name(python_function);
}

}  // namespace ws
