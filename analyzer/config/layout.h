#pragma once
// Layout: the arithmetic of a run configuration. Megatron lays two grids over the same ranks:
//   attention  TP x CP x DP x PP          experts  ETP x EP x EDP x PP
// so GPUs must be a multiple of both TP x CP x PP and ETP x EP x PP, and the smallest job is
// PP x lcm(TP x CP, ETP x EP). Never TP x CP x EP x PP: the grids are folded onto each other.
// Where FSDP is told over how many ranks to shard, or how often to replicate, these are factors of
// DP: R x S x TP x CP x PP are all the ranks if both are told, and divide them if one is.
// source: Megatron-LM megatron/core/parallel_state.py, arXiv 2504.14960; torchtitan
// torchtitan/distributed/parallel_dims.py
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/platforms.h"
#include "config/run_config.h"

namespace ws {

struct Layout {
  int64_t tp = 1, pp = 1, cp = 1, ep = 1, etp = 1;  // 1 where not given
  std::optional<int64_t> vpp;                       // virtual stages per rank, given or computed
  std::vector<std::string> assumed;                 // "cp", "etp": sizes the file leaves out
  // "tp": sizes that are given and known only where the job starts; what hangs on them is not
  // known.
  std::vector<std::string> outside;
  bool attention_known = true, expert_known = true;  // the products below
  bool experts = false;                              // a mixture-of-experts model, as far as known
  std::optional<int64_t> shards, replicas;           // of FSDP, where given; shards above 1 only
  std::optional<int64_t> gpus, seq_len, micro_batch, global_batch;
  bool gpus_from_degrees = false;  // nothing else says how many: the degrees leave one number
  bool batch_from_ranks = false;   // no global batch is given: what the ranks take at once
  // Of the schedule: no bubble to speak of; every forward pass before the first backward.
  bool zero_bubble = false, forward_first = false;
  int64_t attention_product = 1, expert_product = 1;
  std::optional<int64_t> shard_product;  // of what is given of R x S, x TP x CP x PP
  std::optional<int64_t> min_gpus;
  std::optional<int64_t> dp, edp;       // whole numbers only
  std::optional<int64_t> accumulation;  // micro-batches per step and rank
  std::optional<int64_t> in_one_pass;   // of them, where the pipeline fills more than once a step
  std::optional<int64_t> cp_suggested;  // seq_len / 4096 to a power of two, over TP
  std::optional<int64_t> stages;        // PP x VPP
  std::optional<double> bubble_share;   // (PP - 1) / (VPP x accumulation)
};

Layout layout_of(const RunConfig& config);
// Layers that the stages share evenly, with embedding and loss where each counts as one.
std::optional<int64_t> pipeline_units(const RunConfig& config);
bool from_outside(const Layout& layout, std::string_view size);
bool one_world_only(const Layout& layout);  // R and S are told: no other number of GPUs works
// "TP 2 x CP 1", "replicas 2 x shards 4 x TP 2 x CP 1": what stands on one pipeline stage.
std::string stage_ranks(const Layout& layout);

// a x b and a + b, and the largest number where that is too large.
int64_t saturating_product(int64_t a, int64_t b);
int64_t saturating_sum(int64_t a, int64_t b);
int64_t least_common_multiple(int64_t a, int64_t b);

// fp32 fp16 bf16 fp8 mxfp8 nvfp4 of the GEMMs, from flags or the name of a Bridge recipe.
std::optional<std::string> precision_of(const RunConfig& config);

// Recompute names that circulate but that no release accepts, and what they mean there.
struct RecomputeNames {
  std::vector<std::string> rejected;   // "up_proj"
  std::vector<std::string> corrected;  // the whole list as it is accepted
};
RecomputeNames check_recompute_names(const RunConfig& config);

// Modules whose recompute frees much for little and that this model accepts.
std::vector<std::string> cheap_recompute(const RunConfig& config);

// The configured list as all advice on it together would have it: by accepted names, without
// core_attn, and cheap modules in place of moe, which stays where it is needed. What is short of
// memory has cheap modules in place of core_attn too. Empty where it stays as it is, or none is
// left.
std::vector<std::string> advised_recompute(const RunConfig& config, bool moe_needed,
                                           bool short_of_memory);

// A selective list that is good as it is, with the cheap modules it does not name yet; empty where
// there are none to add.
std::vector<std::string> widened_recompute(const RunConfig& config);

}  // namespace ws
