// Tested by: evidence_test.cpp
#include <algorithm>
#include <set>

#include "analysis/evidence.h"
#include "analysis/program_signs.h"
#include "base/text.h"

namespace ws {
namespace {

// How GEMM names spell the type they compute in, narrowest first: the first that occurs counts.
// source: data of kernel names seen in nvjet, cutlass, xmma, cuBLAS, Tensile and Triton kernels.
struct PrecisionToken {
  std::string_view token, precision;
};
constexpr PrecisionToken kPrecisions[] = {{"nvfp4", "nvfp4"},
                                          {"mxfp8", "mxfp8"},
                                          {"e2m1", "nvfp4"},
                                          {"e4m3", "fp8"},
                                          {"e5m2", "fp8"},
                                          {"fp8", "fp8"},
                                          {"bf16", "bf16"},
                                          {"bfloat16", "bf16"},
                                          {"Bfloat16", "bf16"},
                                          {"_BBS_", "bf16"},
                                          {"_HHS_", "fp16"},
                                          {"f16", "fp16"},
                                          {"fp16", "fp16"},
                                          {"hgemm", "fp16"},
                                          {"h884", "fp16"},
                                          {"_hsh_", "fp16"},
                                          {"tf32", "tf32"},
                                          {"s1688gemm", "tf32"},
                                          {"sgemm", "fp32"},
                                          {"ffma", "fp32"},
                                          {"f32f32", "fp32"},
                                          {"scudnn", "fp32"},
                                          {"_engine<float,", "fp32"},
                                          {"4x4<float,", "fp32"}};

std::string_view precision_of(std::string_view gemm_name) {
  for (const PrecisionToken& row : kPrecisions)
    if (gemm_name.find(row.token) != std::string_view::npos) return row.precision;
  return {};
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
bool begins(std::string_view text, std::string_view part) {
  return text.substr(0, part.size()) == part;
}

// Bits of a number as type or kernel names spell it; 0: not told.
int bits_of(std::string_view name) {
  const std::string s = lower_ascii(name);
  for (const std::string_view word : {"float8", "fp8", "f8e"})
    if (has(s, word)) return 8;
  for (const std::string_view word : {"bfloat", "float16", "half", "f16", "fp16"})
    if (has(s, word)) return 16;
  for (const std::string_view word : {"float64", "double", "f64"})
    if (has(s, word)) return 64;
  for (const std::string_view word : {"float", "f32", "fp32"})
    if (has(s, word)) return 32;
  return 0;
}

// "1": the large reductions of data parallelism have 16 bits or fewer, "0": one is wider; "": not
// told. A loss or a norm is reduced in FP32 whatever gradients are.
std::string reduces_in_16_bits(const Trace& trace, const Labels& labels) {
  constexpr int64_t kSmallBytes = 64 * 1024;
  bool narrow = false, unknown = false;
  for (const CommOp& c : labels.comm_ops) {
    const CollectiveOp op = labels.ops.coll[c.op];
    if (labels.ops.kind[c.op] != CommKind::dp) continue;
    if (op != CollectiveOp::all_reduce && op != CollectiveOp::reduce_scatter) continue;
    if (c.bytes >= 0 && c.bytes < kSmallBytes) continue;
    int bits =
        c.collective == kNoRow ? 0 : bits_of(trace.strings[trace.collectives[c.collective].dtype]);
    if (bits == 0) bits = bits_of(trace.strings[trace.ops.name[c.op]]);
    if (bits > 16) return "0";
    (bits > 0 ? narrow : unknown) = true;
  }
  return narrow && !unknown ? "1" : "";
}

// What names of PyTorch's ranges tell: torch/optim/optimizer.py, torch/nn/parallel/distributed.py,
// torch/utils/data/dataloader.py.
void settings_of_ranges(const Trace& trace, std::set<std::pair<std::string, std::string>>& out) {
  constexpr std::string_view kStep = "Optimizer.step#", kLoader = "enumerate(DataLoader)#";
  for (uint32_t i = 0; i < trace.strings.size(); ++i) {
    const std::string_view s = trace.strings[StringId{i}];
    if (begins(s, kStep)) {
      const std::string_view name = s.substr(kStep.size());
      out.emplace("optimizer_seen", begins(name, "SGD.") ? "sgd"
                                    : has(name, "Adam")  ? "adam"
                                                         : "other");
    } else if (begins(s, kLoader)) {
      const std::string_view name = s.substr(kLoader.size());
      if (begins(name, "_MultiProcessing")) out.emplace("loader_workers_seen", "1");
      if (begins(name, "_SingleProcess")) out.emplace("loader_workers_seen", "0");
    } else if (begins(s, "DistributedDataParallel.forward")) {
      out.emplace("ddp_seen", "1");
    }
  }
}

// "1": kernels of experts or of their routing; "0": GEMMs, and neither such a kernel nor one that
// sorts or picks the largest, of which routing can be made as well; "": not told.
std::string experts_seen(const Trace& trace, const Labels& labels, const KernelClasses& classes) {
  std::vector<bool> looked(trace.strings.size(), false);
  bool gemms = false, sorts = false;
  for (uint32_t op = 0; op < trace.ops.size(); ++op) {
    if ((labels.ops.flags[op] & (kFlagMoe | kFlagGrouped | kFlagEpLibrary)) != 0) return "1";
    if (labels.ops.cls[op] == OpClass::comm && labels.ops.kind[op] == CommKind::ep) return "1";
    gemms |= labels.ops.cls[op] == OpClass::gemm;
    sorts |= (labels.ops.flags[op] & kFlagUnclassified) != 0;
    const size_t name = row(trace.ops.name[op]);
    if (trace.ops.kind[op] != OpKind::kernel || looked[name]) continue;
    looked[name] = true;
    sorts |= classes.classify(trace.strings[trace.ops.name[op]]).family == "sort_scan";
  }
  return gemms && !sorts ? "0" : "";
}

}  // namespace

ConfigSeen config_seen(const Trace& trace, const Labels& labels, const KernelClasses& classes) {
  ConfigSeen out;
  out.settings = trace.settings;
  out.arguments = trace.arguments;
  std::vector<bool> seen(trace.strings.size(), false), told(trace.strings.size(), false);
  std::set<std::string> precisions;
  TimeNs gemm_ns = 0, told_ns = 0;
  std::vector<bool> of_comm(trace.strings.size(), false);
  const auto looked = [&](StringId name) {
    const bool before = of_comm[row(name)];
    of_comm[row(name)] = true;
    return before;
  };
  bool user_buffers = false;
  for (uint32_t op = 0; op < trace.ops.size(); ++op) {
    const OpClass cls = labels.ops.cls[op];
    if (cls == OpClass::comm && labels.ops.kind[op] == CommKind::tp && !looked(trace.ops.name[op]))
      user_buffers |= classes.classify(trace.strings[trace.ops.name[op]]).family == "userbuffers";
    if (cls == OpClass::comm && labels.ops.kind[op] == CommKind::ep) {
      out.collectives_on_ep = true;
      out.nccl_all_to_all_on_ep |= labels.ops.coll[op] == CollectiveOp::all_to_all &&
                                   (labels.ops.flags[op] & kFlagEpLibrary) == 0;
    }
    const bool library = (labels.ops.flags[op] & kFlagEpLibrary) != 0;
    if (cls != OpClass::gemm && !library) continue;
    const StringId name = trace.ops.name[op];
    const TimeNs ns = library ? 0 : trace.ops.end_ns[op] - trace.ops.begin_ns[op];
    gemm_ns += ns;
    if (seen[row(name)]) {
      told_ns += told[row(name)] ? ns : 0;
      continue;
    }
    seen[row(name)] = true;
    if (library) {
      const std::string_view family = classes.classify(trace.strings[name]).family;
      out.deepep |= family == "deep_ep";
      out.hybridep |= family == "hybrid_ep";
    } else if (const auto precision = precision_of(trace.strings[name]); !precision.empty()) {
      precisions.insert(std::string(precision));
      told[row(name)] = true;
      told_ns += ns;
    }
  }
  // Beside environment variables, under the names of their columns of fact_config.
  std::set<std::pair<std::string, std::string>> more;
  settings_of_ranges(trace, more);
  if (const std::string v = reduces_in_16_bits(trace, labels); !v.empty())
    more.emplace("reduces_in_16_bits", v);
  // Names of Megatron beside it, and it is a library in a program of Megatron.
  if (trace.framework == "pytorch")
    if (const auto sign = sign_of_no_megatron(trace); !sign.empty())
      more.emplace("no_megatron", std::string(sign));
  if (2 * told_ns < gemm_ns) more.emplace("gemm_types_seldom_told", "1");
  if (user_buffers) more.emplace("user_buffers_seen", "1");
  if (const std::string v = experts_seen(trace, labels, classes); !v.empty())
    more.emplace(v == "1" ? "experts_seen" : "no_experts_seen", "1");
  if (labels.recompute_would_show) more.emplace("recompute_would_show", "1");
  if (labels.recompute_ranges_would_show) more.emplace("recompute_ranges_would_show", "1");
  out.settings.insert(out.settings.end(), more.begin(), more.end());
  out.precisions.assign(precisions.begin(), precisions.end());
  return out;
}

}  // namespace ws
