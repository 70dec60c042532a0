#pragma once
// The sizes of the model, and which layers stand on which pipeline stage.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/layout.h"
#include "config/run_config.h"

namespace ws {

struct ModelShape {
  int64_t layers = 0, hidden = 0, ffn = 0, heads = 0, kv_heads = 0, head_dim = 0, vocab = 0;
  bool gated = false, tied = false;
  int64_t experts = 0, top_k = 0, expert_ffn = 0, shared_ffn = 0;  // experts 0: a dense model
  std::vector<bool> is_moe;                                        // per layer
  int64_t mtp_layers = 0;
  bool mla = false;  // multi-latent attention, with the ranks below; q_rank 0: no low-rank queries
  int64_t q_rank = 0, kv_rank = 0, qk_dim = 0, rope_dim = 0, v_dim = 0;
};

struct ModelSizes {
  std::optional<ModelShape> shape;
  std::vector<std::string> missing;  // keys without which there is no shape
};
ModelSizes model_sizes(const RunConfig& config);

struct Stage {
  int64_t dense = 0, moe = 0, mtp = 0;  // layers
  bool embedding = false, loss = false;
};

// PP x VPP stages in order: stage s stands on pipeline rank s % PP.
struct PipelineSplit {
  std::vector<Stage> stages;
  std::string problem;           // why the layers do not fit the stages; "" when they do
  std::optional<int64_t> given;  // stages that an explicit layout has
};
PipelineSplit pipeline_split(const RunConfig& config, const Layout& layout,
                             const ModelShape* shape);

// Parameters of one layer of each kind on one GPU: heads and inner widths over TP, experts over
// ETP x EP.
struct LayerParameters {
  double attention = 0, dense_mlp = 0, router = 0, shared = 0, experts = 0, norms = 0;
};
LayerParameters layer_parameters(const ModelShape& m, const Layout& layout);

// Floating point operations of one token, forward and backward (3 x forward), attention halved for
// the causal mask; recompute does not count: that of Megatron-LM and the published TFLOPS.
double flops_per_token(const ModelShape& m, int64_t seq_len);

}  // namespace ws
