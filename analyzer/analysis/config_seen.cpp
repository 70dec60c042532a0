// Tested by: evidence_test.cpp
#include <algorithm>
#include <set>

#include "analysis/evidence.h"

namespace ws {
namespace {

// How GEMM names spell the type they compute in, narrowest first: the first that occurs counts.
// source: data of kernel names seen in nvjet, cutlass, xmma, cuBLAS, Tensile and Triton kernels.
struct PrecisionToken {
  std::string_view token, precision;
};
constexpr PrecisionToken kPrecisions[] = {
    {"nvfp4", "nvfp4"},   {"mxfp8", "mxfp8"}, {"e2m1", "nvfp4"}, {"e4m3", "fp8"},
    {"e5m2", "fp8"},      {"fp8", "fp8"},     {"bf16", "bf16"},  {"bfloat16", "bf16"},
    {"Bfloat16", "bf16"}, {"_BBS_", "bf16"},  {"_HHS_", "fp16"}, {"f16", "fp16"},
    {"fp16", "fp16"},     {"hgemm", "fp16"},  {"h884", "fp16"},  {"_hsh_", "fp16"},
    {"tf32", "tf32"},     {"sgemm", "fp32"},  {"ffma", "fp32"},  {"f32f32", "fp32"}};

std::string_view precision_of(std::string_view gemm_name) {
  for (const PrecisionToken& row : kPrecisions)
    if (gemm_name.find(row.token) != std::string_view::npos) return row.precision;
  return {};
}

}  // namespace

ConfigSeen config_seen(const Trace& trace, const Labels& labels, const KernelClasses& classes) {
  ConfigSeen out;
  out.settings = trace.settings;
  out.arguments = trace.arguments;
  std::vector<bool> seen(trace.strings.size(), false);
  std::set<std::string> precisions;
  for (uint32_t op = 0; op < trace.ops.size(); ++op) {
    const OpClass cls = labels.ops.cls[op];
    if (cls == OpClass::comm && labels.ops.kind[op] == CommKind::ep) {
      out.collectives_on_ep = true;
      out.nccl_all_to_all_on_ep |= labels.ops.coll[op] == CollectiveOp::all_to_all &&
                                   (labels.ops.flags[op] & kFlagEpLibrary) == 0;
    }
    const bool library = (labels.ops.flags[op] & kFlagEpLibrary) != 0;
    if (cls != OpClass::gemm && !library) continue;
    const StringId name = trace.ops.name[op];
    if (seen[row(name)]) continue;
    seen[row(name)] = true;
    if (library) {
      const std::string_view family = classes.classify(trace.strings[name]).family;
      out.deepep |= family == "deep_ep";
      out.hybridep |= family == "hybrid_ep";
    } else if (const auto precision = precision_of(trace.strings[name]); !precision.empty()) {
      precisions.insert(std::string(precision));
    }
  }
  out.precisions.assign(precisions.begin(), precisions.end());
  return out;
}

}  // namespace ws
