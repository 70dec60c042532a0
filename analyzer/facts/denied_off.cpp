// Tested by: denied_off_test.cpp
#include "facts/denial_sides.h"

namespace ws {
namespace {

// Most of it under compute, and enough of it to matter: what runs alone is not hidden by chance.
bool well_hidden(const ConfigShown& shown, const KindTraffic& t, double ns, double hidden_ns) {
  constexpr double kMatters = 0.02, kMost = 0.5;
  return !t.unclear && ns > kMatters * shown.step_ns && hidden_ns > kMost * ns;
}

Denial runs(const char* key, const char* recorded) {
  return {key, "no", recorded, {{key, int64_t{1}}}, {}, true};
}

// Gathers alone are those that stages make of split tensors, and both are made of experts that TP
// cuts. User buffers need it.
Found runs_sequence_parallel(const Sides& s) {
  const KindTraffic& tp = s.shown.tp;
  const bool scatters = !tp.unclear && !s.has_experts() &&
                        tp.reduce_scatters >= kReductionsOfOneLayer &&
                        tp.gathers >= kReductionsOfOneLayer;
  if (!s.off("sequence_parallel") || !(scatters || s.shown.user_buffers)) return std::nullopt;
  return runs("sequence_parallel",
              s.shown.user_buffers ? "user buffers of TP" : "reduce-scatters and gathers of TP");
}

Found runs_tp_overlap(const Sides& s) {
  if (!s.off("tp_comm_overlap") || !s.shown.user_buffers) return std::nullopt;
  return runs("tp_comm_overlap", "user buffers of TP");
}

Found runs_distributed_optimizer(const Sides& s) {
  const KindTraffic& dp = s.shown.dp;
  const bool shards =
      !dp.unclear && dp.reduce_scatters >= 1 && dp.gathers >= 1 && dp.all_reduces == 0;
  if (!s.off("use_distributed_optimizer") || !shards || s.on("megatron_fsdp")) return std::nullopt;
  return runs("use_distributed_optimizer", "reduce-scatters and gathers of DP");
}

Found runs_grad_reduce(const Sides& s) {
  const KindTraffic& dp = s.shown.dp;
  if (!s.off("overlap_grad_reduce") || dp.all_reduces + dp.reduce_scatters < 2 ||
      s.on("megatron_fsdp") || !well_hidden(s.shown, dp, dp.reduce_ns, dp.reduce_hidden_ns))
    return std::nullopt;
  return runs("overlap_grad_reduce", "reductions under compute");
}

Found runs_param_gather(const Sides& s) {
  const KindTraffic& dp = s.shown.dp;
  if (!s.off("overlap_param_gather") || dp.gathers < 2 || s.on("megatron_fsdp") ||
      !well_hidden(s.shown, dp, dp.gather_ns, dp.gather_hidden_ns))
    return std::nullopt;
  return runs("overlap_param_gather", "gathers of DP under compute");
}

// The forward pass of one micro-batch beside the backward of another is no recompute.
Found runs_recompute(const Sides& s) {
  if (s.text("recompute_granularity") != "none" || !s.shown.recompute ||
      s.on("overlap_moe_expert_parallel_comm"))
    return std::nullopt;
  return Denial{"recompute_granularity",   "none", "forward kernels in the backward pass", {},
                {"recompute_granularity"}, true};
}

Found runs_graphs(const Sides& s) {
  if (s.text("cuda_graph_impl") != "none" || Sides::word(s.seen, "cuda_graphs") != "1")
    return std::nullopt;
  return Denial{"cuda_graph_impl",
                "none",
                "graph launches",
                {},
                {"cuda_graph_impl", "cuda_graph_modules"},
                true};
}

constexpr Found (*kTable[])(const Sides&) = {
    runs_recompute,   runs_sequence_parallel, runs_tp_overlap, runs_distributed_optimizer,
    runs_grad_reduce, runs_param_gather,      runs_graphs};

}  // namespace

std::vector<Denial> denied_off(const Sides& sides) {
  std::vector<Denial> out;
  for (const auto row : kTable)
    if (Found found = row(sides)) out.push_back(std::move(*found));
  return out;
}

}  // namespace ws
