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
#include "config/torchtitan.h"

namespace ws {
namespace {

constexpr char kBytesSource[] =
    "Megatron-Bridge docs/training/memory-estimator.md (6 + 12/shard bytes per parameter)";
constexpr char kTorchSource[] =
    "PyTorch torch/distributed/fsdp/_fully_shard, torch/nn/parallel/distributed.py, torch.amp";
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
  double dense_shard = 1, expert_shard = 1;                    // of the optimizer state
  double dense_gradient_shard = 1, expert_gradient_shard = 1;  // from ZeRO-2 on
  double dense_model_shard = 1, expert_model_shard = 1;        // of the weights: ZeRO-3
  double compute = 0;  // of a parameter in the type that computes, beside the weights; 0: none
  double compute_layers = 0;  // how many layers of it at once; below 0: all of them
  double bucket = 0;          // of a gradient that DDP keeps a second time
  std::string optimizer_source = kBytesSource;
};

// What is split over data parallel ranks, and how far: optim, optim_grads, optim_grads_params.
std::string sharding_of(const RunConfig& config, bool pytorch) {
  if (const auto given = text(config, "fsdp_sharding")) return *given;
  const bool fsdp = boolean(config, "megatron_fsdp") == true ||
                    boolean(config, "torch_fsdp2") == true ||
                    boolean(config, "fsdp_reshard_after_forward").has_value() ||
                    integer(config, "fsdp_shard_size").value_or(1) != 1;
  if (fsdp) return "optim_grads_params";
  return boolean(config, "use_distributed_optimizer").value_or(!pytorch) ? "optim" : "no_shard";
}

// PyTorch computes in a 16-bit copy: FSDP gathers it layer by layer, the next one ahead, autocast
// keeps it for all weights until the backward pass ends. Gradients are reduced layer by layer.
void add_compute_copy(const RunConfig& config, const std::string& precision, bool sharded,
                      StateBytes& out) {
  const bool narrow = precision != "fp32" && precision != "tf32";
  if (!sharded && !narrow) return;
  const bool gathers_fp8 = sharded && boolean(config, "fp8_param_gather") == true;
  out.compute = gathers_fp8 ? 1 : narrow ? 2 : 4;
  const bool kept = boolean(config, "fsdp_reshard_after_forward") == false;
  out.compute_layers = !sharded || kept ? -1 : 3;  // two gathered, one gradient on its way
}

StateBytes state_bytes(const RunConfig& config, const Layout& layout,
                       std::vector<std::string>& assumed) {
  StateBytes out;
  const std::string precision = precision_of(config).value_or("bf16");
  const bool pytorch = text(config, "framework") == "pytorch";
  if (precision == "fp32" || pytorch) out.weight = 4;
  const bool fp8_weights = boolean(config, "fp8_param_gather") == true && !pytorch;
  if (fp8_weights) out.weight = precision == "mxfp8" ? 2 : 1;
  const auto fp32_gradients = boolean(config, "grad_reduce_in_fp32");
  out.gradient = fp32_gradients.value_or(true) || pytorch ? 4 : 2;
  if (!fp32_gradients && !pytorch) assumed.emplace_back("gradients in FP32 (grad_reduce_in_fp32)");
  if (pytorch && !precision_of(config)) assumed.emplace_back("mixed precision, BF16");
  const double moments =
      moment_bytes(config, "exp_avg_dtype") + moment_bytes(config, "exp_avg_sq_dtype");
  out.optimizer = out.weight == 4 ? moments : 4 + moments;  // FP32 weights are their own master
  if (moments < 8) out.optimizer_source = kPrecisionAware;
  if (boolean(config, "optimizer_cpu_offload") == true)
    out.optimizer *= 1 - number(config, "optimizer_offload_fraction").value_or(1);
  const std::string sharding = sharding_of(config, pytorch);
  const double dp = d(layout.dp.value_or(1)) * d(layout.cp), edp = d(layout.edp.value_or(1));
  const double asked = d(integer(config, "fsdp_shard_size").value_or(0));
  const double replicas = d(integer(config, "fsdp_replicas").value_or(1));
  const auto shard_of = [&](double ranks) {
    return asked > 0 ? std::min(asked, ranks) : std::max(1.0, ranks / replicas);
  };
  const double shard = shard_of(dp), expert_shard = shard_of(edp);
  if (sharding != "no_shard") {
    out.dense_shard = shard;
    out.expert_shard = expert_shard;
  }
  if (sharding == "optim_grads" || sharding == "optim_grads_params") {
    out.dense_gradient_shard = shard;
    out.expert_gradient_shard = expert_shard;
  }
  const bool sharded = sharding == "optim_grads_params";
  if (sharded) {
    out.dense_model_shard = shard;
    out.expert_model_shard = expert_shard;
  }
  if (pytorch) add_compute_copy(config, precision, sharded, out);
  // CPUOffloadPolicy keeps all that is sharded on the host, whatever runs beside it.
  if (pytorch && sharded && boolean(config, "optimizer_cpu_offload") == true)
    out.weight = out.gradient = out.optimizer = 0;
  if (pytorch && !sharded && dp > 1 && boolean(config, "ddp_gradient_as_bucket_view") != true) {
    out.bucket = out.gradient;
    if (!boolean(config, "ddp_gradient_as_bucket_view"))
      assumed.emplace_back("DDP with buckets beside the gradients (gradient_as_bucket_view)");
  }
  if (!pytorch && sharding == "optim" && !boolean(config, "use_distributed_optimizer"))
    assumed.emplace_back("the distributed optimizer in use");
  return out;
}

struct Parameters {
  double dense = 0, experts = 0;
  double layer = 0;  // of the largest layer
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
    if (dense > 0) out.layer = std::max(out.layer, p.attention + p.norms + p.dense_mlp);
    if (moe > 0)
      out.layer = std::max(out.layer, p.attention + p.norms + p.router + p.shared + p.experts);
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
  add(MemoryKind::gradients, kDense, p.dense, b.gradient, b.dense_gradient_shard, kBytesSource);
  add(MemoryKind::gradients, kExperts, p.experts, b.gradient, b.expert_gradient_shard,
      kBytesSource);
  add(MemoryKind::optimizer, kDense, p.dense, b.optimizer, b.dense_shard, b.optimizer_source);
  add(MemoryKind::optimizer, kExperts, p.experts, b.optimizer, b.expert_shard, b.optimizer_source);
  const double computing = b.compute_layers < 0 ? p.dense + p.experts : b.compute_layers * p.layer;
  if (computing > 0 && b.compute > 0) {
    rank.parts.push_back(
        {MemoryKind::weights, "copy that computes",
         fmt::format("{:.3f}e9 parameters{} x {:g} B", computing / 1e9,
                     b.compute_layers < 0 ? "" : fmt::format(" of {:g} layers", b.compute_layers),
                     b.compute),
         kTorchSource, whole_bytes(computing * b.compute)});
  }
  if (b.bucket > 0) {
    rank.parts.push_back(
        {MemoryKind::gradients, "buckets of DDP",
         fmt::format("{:.3f}e9 parameters x {:g} B", (p.dense + p.experts) / 1e9, b.bucket),
         kTorchSource, whole_bytes((p.dense + p.experts) * b.bucket)});
  }
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

namespace {

// PyTorch's selection is code, or a rule of torchtitan over single operations.
bool unknown_selection(const RunConfig& config) {
  return text(config, "framework") == "pytorch" &&
         text(config, "recompute_granularity") == "selective" &&
         list(config, "recompute_modules").value_or(std::vector<std::string>{}).empty() &&
         !every_nth_recomputed(config);
}

RunConfig with_full_recompute(RunConfig config) {
  for (ConfigEntry& e : config.entries)
    if (e.key == "recompute_granularity") e.value = std::string("full");
  return config;
}

}  // namespace

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
  if (unknown_selection(config))
    out.least_bytes =
        estimate_memory(with_full_recompute(config), layout, m, split).ranks[out.worst].total_bytes;
  out.excluded = {"allocator fragmentation", "NCCL and CUDA workspaces (some GB)"};
  if (text(config, "cuda_graph_impl").value_or("none") != "none")
    out.excluded.emplace_back("CUDA graph buffers (about 7 GB published for partial graphs)");
  if (layout.experts)
    for (const char* part : {"uneven routing of tokens", "dispatcher buffers"})
      out.excluded.emplace_back(part);
  return out;
}

}  // namespace ws
