#pragma once
// Activations kept for the backward pass: bytes per token of every module of a layer, what
// recompute and offload take out of it, and how many layers are in flight. Private to config/.
#include <string>
#include <vector>

#include "config/memory_estimate.h"

namespace ws {

struct ActivationPart {
  std::string name, formula, remark;      // remark: "; recomputed (moe_act)"
  double dense_bytes = 0, moe_bytes = 0;  // per token, in a layer of that kind, on one GPU
};

struct ActivationRules {
  std::vector<ActivationPart> parts;
  double tokens = 0;             // of one micro-batch on one GPU
  double logits_bytes = 0;       // per token, on the rank of the loss
  bool full = false;             // full recompute: only the layer's input stays
  double block_layers = -1;      // of each stage that recompute fully; -1: all
  int64_t every_nth = 1;         // where layers recompute fully, which
  double layers_per_unit = 1;    // uniform: layers that share one kept input
  double layer_input_bytes = 0;  // per token
};

ActivationRules activation_rules(const RunConfig& config, const Layout& layout, const ModelShape& m,
                                 std::vector<std::string>& assumed);

// Layers held at once on a pipeline rank, each counted as often as micro-batches hold it.
struct InFlight {
  double dense = 0, moe = 0, stages = 0;
  int64_t micro_batches = 0;  // 0: several stages are mixed
  bool loss = false;
};
InFlight stages_in_flight(const Layout& layout, const std::vector<const Stage*>& stages,
                          int64_t rank);

void add_activations(RankMemory& rank, const ActivationRules& rules, const InFlight& in_flight,
                     const ModelShape& m);

}  // namespace ws
