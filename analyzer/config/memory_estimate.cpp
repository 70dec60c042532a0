// Weights, gradients and optimizer state per parameter, activations per token and layer.
// A pipeline rank holds several micro-batches at once; how many, and of which of its stages, the
// schedule says: 1F1B keeps PP - rank, interleaved 1F1B (PP - rank - 1) x 2 + (VPP - 1) x PP + 1
// stages. source: Megatron-LM megatron/core/pipeline_parallel/schedules.py
// Tested by: memory_estimate_test.cpp, tests/checks/plan_recipes.py
#include "config/memory_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/activations.h"

namespace ws {
namespace {

constexpr char kBytesSource[] =
    "Megatron-Bridge docs/training/memory-estimator.md (6 + 12/shard bytes per parameter)";
constexpr char kPrecisionAware[] = "Megatron-LM --use-precision-aware-optimizer (arXiv 2603.07685)";

double d(int64_t v) { return static_cast<double>(v); }

int64_t whole_bytes(double v) {
  return v < 9e18 ? static_cast<int64_t>(std::llround(v)) : 9'000'000'000'000'000'000;
}

double moment_bytes(const RunConfig& config, const char* key) {
  const std::string type = text(config, key).value_or("fp32");
  return type == "fp8" ? 1 : type == "fp32" ? 4 : 2;
}

// Bytes per parameter, and over how many ranks each kind is shared out.
struct StateBytes {
  double weight = 2, gradient = 4, optimizer = 12;
  double dense_shard = 1, expert_shard = 1;              // of the optimizer state
  double dense_model_shard = 1, expert_model_shard = 1;  // of weights and gradients (FSDP)
  std::string optimizer_source = kBytesSource;
};

StateBytes state_bytes(const RunConfig& config, const Layout& layout,
                       std::vector<std::string>& assumed) {
  StateBytes out;
  const std::string precision = precision_of(config).value_or("bf16");
  const bool pytorch = text(config, "framework") == "pytorch";
  if (precision == "fp32" || pytorch) out.weight = 4;
  if (boolean(config, "fp8_param_gather") == true) out.weight = precision == "mxfp8" ? 2 : 1;
  const auto fp32_gradients = boolean(config, "grad_reduce_in_fp32");
  out.gradient = fp32_gradients.value_or(true) || pytorch ? 4 : 2;
  if (!fp32_gradients && !pytorch) assumed.emplace_back("gradients in FP32 (grad_reduce_in_fp32)");
  const double moments =
      moment_bytes(config, "exp_avg_dtype") + moment_bytes(config, "exp_avg_sq_dtype");
  out.optimizer = out.weight == 4 ? moments : 4 + moments;  // FP32 weights are their own master
  if (moments < 8) out.optimizer_source = kPrecisionAware;
  if (boolean(config, "optimizer_cpu_offload") == true)
    out.optimizer *= 1 - number(config, "optimizer_offload_fraction").value_or(1);
  const auto distributed = boolean(config, "use_distributed_optimizer");
  const std::string sharding =
      text(config, "fsdp_sharding")
          .value_or(boolean(config, "megatron_fsdp") == true ? "optim_grads_params" : "no_shard");
  const bool fsdp = sharding == "optim_grads_params" ||
                    boolean(config, "fsdp_reshard_after_forward").has_value() ||
                    integer(config, "fsdp_shard_size").has_value();
  const double dp = d(layout.dp.value_or(1)) * d(layout.cp), edp = d(layout.edp.value_or(1));
  const double shard = fsdp ? d(integer(config, "fsdp_shard_size").value_or(0)) : 0;
  if (fsdp) {
    out.dense_model_shard = shard > 0 ? std::min(shard, dp) : dp;
    out.expert_model_shard = edp;
  }
  if (distributed.value_or(!pytorch) || fsdp) {
    out.dense_shard = fsdp ? out.dense_model_shard : dp;
    out.expert_shard = edp;
  }
  if (!distributed && !pytorch && !fsdp) assumed.emplace_back("the distributed optimizer in use");
  return out;
}

struct Parameters {
  double dense = 0, experts = 0;
};

// `embedding_elsewhere`: the rank already holds the table.
Parameters parameters_of(const std::vector<const Stage*>& stages, const ModelShape& m,
                         const Layout& layout) {
  const LayerParameters p = layer_parameters(m, layout);
  const double table = d(m.vocab) * d(m.hidden) / d(layout.tp);
  Parameters out;
  bool embedding = false, output = false;
  for (const Stage* s : stages) {
    const double moe = d(s->moe) + (m.experts > 0 ? d(s->mtp) : 0);
    const double dense = d(s->dense) + (m.experts > 0 ? 0 : d(s->mtp));
    out.dense += (moe + dense) * (p.attention + p.norms) + dense * p.dense_mlp +
                 moe * (p.router + p.shared) + d(s->mtp) * 2 * d(m.hidden) * d(m.hidden);
    out.experts += moe * p.experts;
    embedding |= s->embedding || s->mtp > 0;  // prediction layers embed their tokens again
    output |= s->loss;
  }
  if (embedding) out.dense += table;
  if (output && !(m.tied && embedding)) out.dense += table;
  return out;
}

void add_state(RankMemory& rank, const StateBytes& b, const Parameters& p) {
  const auto add = [&](MemoryKind kind, const char* of, double parameters, double bytes,
                       double shard, const std::string& source) {
    if (parameters == 0) return;
    rank.parts.push_back(
        {kind, fmt::format("{} of {}", name_of(kind), of),
         shard > 1 ? fmt::format("{:.3f}e9 parameters x {:g} B / {:g} ranks", parameters / 1e9,
                                 bytes, shard)
                   : fmt::format("{:.3f}e9 parameters x {:g} B", parameters / 1e9, bytes),
         source, whole_bytes(parameters * bytes / shard)});
    if (bytes == 0) rank.parts.back().formula += "; on the host";
  };
  const char* kDense = "attention, dense layers, embedding";
  const char* kExperts = "routed experts";
  add(MemoryKind::weights, kDense, p.dense, b.weight, b.dense_model_shard, kBytesSource);
  add(MemoryKind::weights, kExperts, p.experts, b.weight, b.expert_model_shard, kBytesSource);
  add(MemoryKind::gradients, kDense, p.dense, b.gradient, b.dense_model_shard, kBytesSource);
  add(MemoryKind::gradients, kExperts, p.experts, b.gradient, b.expert_model_shard, kBytesSource);
  add(MemoryKind::optimizer, kDense, p.dense, b.optimizer, b.dense_shard, b.optimizer_source);
  add(MemoryKind::optimizer, kExperts, p.experts, b.optimizer, b.expert_shard, b.optimizer_source);
}

}  // namespace

std::string_view name_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::weights:
      return "weights";
    case MemoryKind::gradients:
      return "gradients";
    case MemoryKind::optimizer:
      return "optimizer state";
    case MemoryKind::activations:
      break;
  }
  return "activations";
}

int64_t bytes_of(const RankMemory& rank, MemoryKind kind) {
  int64_t sum = 0;
  for (const MemoryPart& p : rank.parts)
    if (p.kind == kind) sum = saturating_sum(sum, p.bytes);
  return sum;
}

MemoryEstimate estimate_memory(const RunConfig& config, const Layout& layout, const ModelShape& m,
                               const PipelineSplit& split) {
  MemoryEstimate out;
  const StateBytes bytes = state_bytes(config, layout, out.assumed);
  const ActivationRules rules = activation_rules(config, layout, m, out.assumed);
  for (int64_t r = 0; r < layout.pp; ++r) {
    std::vector<const Stage*> stages;
    for (size_t s = static_cast<size_t>(r); s < split.stages.size();
         s += static_cast<size_t>(layout.pp))
      stages.push_back(&split.stages[s]);
    RankMemory rank;
    add_state(rank, bytes, parameters_of(stages, m, layout));
    add_activations(rank, rules, stages_in_flight(layout, stages, r), m);
    for (const MemoryPart& p : rank.parts)
      rank.total_bytes = saturating_sum(rank.total_bytes, p.bytes);
    out.ranks.push_back(std::move(rank));
    if (out.ranks.back().total_bytes > out.ranks[out.worst].total_bytes)
      out.worst = out.ranks.size() - 1;
  }
  out.uncertainty_bytes = out.ranks[out.worst].total_bytes / 10;
  out.excluded = {"allocator fragmentation", "NCCL and CUDA workspaces (some GB)",
                  "uneven routing of tokens"};
  if (text(config, "cuda_graph_impl").value_or("none") != "none")
    out.excluded.emplace_back("CUDA graph buffers (about 7 GB published for partial graphs)");
  if (layout.experts) out.excluded.emplace_back("dispatcher buffers");
  return out;
}

}  // namespace ws
