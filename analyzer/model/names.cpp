#include "model/names.h"

#include "base/check.h"

namespace ws {
namespace {

constexpr std::array<std::string_view, 7> kOpKind = {"kernel", "h2d",    "d2h",  "d2d",
                                                     "p2p",    "memset", "graph"};
constexpr std::array<std::string_view, 8> kOpClass = {
    "gemm", "attention", "compute_other", "membound", "comm", "p2p", "h2d", "d2h"};
constexpr std::array<std::string_view, 6> kCommKind = {"ep", "tp", "cp", "pp", "dp", "other"};
constexpr std::array<std::string_view, 13> kCollective = {
    "unknown", "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce",
    "gather",  "scatter",    "send",       "recv",           "send_recv",  "barrier"};
constexpr std::array<std::string_view, kLeafCount> kLeaf = {"gemm",
                                                            "attention",
                                                            "membound",
                                                            "compute_other",
                                                            "recompute",
                                                            "comm.tp.wait",
                                                            "comm.tp.transfer",
                                                            "comm.tp.unsplit",
                                                            "comm.ep.wait",
                                                            "comm.ep.transfer",
                                                            "comm.ep.unsplit",
                                                            "comm.dp.wait",
                                                            "comm.dp.transfer",
                                                            "comm.dp.unsplit",
                                                            "comm.pp.wait",
                                                            "comm.pp.transfer",
                                                            "comm.pp.unsplit",
                                                            "comm.cp.wait",
                                                            "comm.cp.transfer",
                                                            "comm.cp.unsplit",
                                                            "comm.p2p.wait",
                                                            "comm.p2p.transfer",
                                                            "comm.p2p.unsplit",
                                                            "comm.other.wait",
                                                            "comm.other.transfer",
                                                            "comm.other.unsplit",
                                                            "copy.h2d",
                                                            "copy.d2h",
                                                            "copy.offload",
                                                            "idle.launch",
                                                            "idle.graph_launch",
                                                            "idle.host",
                                                            "idle.sync",
                                                            "idle.alloc",
                                                            "idle.dataload",
                                                            "idle.gc",
                                                            "idle.jit",
                                                            "idle.profiler",
                                                            "idle.kernel_gap",
                                                            "idle.dependency",
                                                            "idle.unknown"};
constexpr std::array<std::string_view, kLossGroupCount> kLossGroup = {
    "useful", "memory", "communication", "imbalance", "bubble", "host"};
constexpr std::array<std::string_view, 3> kWall = {"memory", "communication", "compute_host"};
constexpr std::array<std::string_view, 4> kVerdictKind = {"dominant", "mixed", "none",
                                                          "insufficient"};
constexpr std::array<std::string_view, 3> kConfidence = {"low", "medium", "high"};
constexpr std::array<std::string_view, kCauseCount> kCause = {
    "launch_bound",  "host_sync",         "input_pipeline",   "gc_pause",        "allocator",
    "recompute",     "offload",           "pageable_copy",    "ep_all_to_all",   "tp_collective",
    "dp_gradient",   "dp_parameter",      "cp_exchange",      "pp_transfer",     "comm_contention",
    "straggler_gpu", "straggler_host",    "expert_imbalance", "pipeline_bubble", "membound_kernels",
    "gemm_bound",    "attention_bound",   "compute_bound",    "only_warmup",     "too_few_steps",
    "records_lost",  "graph_level_trace", "peers_missing",    "no_gpu_events",   "unknown"};
constexpr std::array<std::string_view, 7> kStepOrigin = {
    "user_range",      "profiler_step", "named_range", "megatron_ranges",
    "optimizer_burst", "kernel_period", "whole"};
constexpr std::array<std::string_view, 4> kRankSource = {"distributed_info", "file_name",
                                                         "environment", "order"};

template <class E, size_t N>
std::string_view spelled(const std::array<std::string_view, N>& names, E v) {
  const auto i = static_cast<size_t>(v);
  WS_CHECK(i < N);
  return names[i];
}

template <class E, size_t N>
std::optional<E> parsed(const std::array<std::string_view, N>& names, std::string_view s) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == s) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace

Leaf comm_leaf(OpClass c, CommKind kind, CommPart part) {
  const Leaf wait = [&] {
    if (c == OpClass::p2p) return Leaf::comm_p2p_wait;
    switch (kind) {
      case CommKind::ep:
        return Leaf::comm_ep_wait;
      case CommKind::tp:
        return Leaf::comm_tp_wait;
      case CommKind::cp:
        return Leaf::comm_cp_wait;
      case CommKind::pp:
        return Leaf::comm_pp_wait;
      case CommKind::dp:
        return Leaf::comm_dp_wait;
      case CommKind::other:
        break;
    }
    return Leaf::comm_other_wait;
  }();
  return leaf_at(static_cast<size_t>(wait) + static_cast<size_t>(part));
}

std::string_view name_of(OpKind v) { return spelled(kOpKind, v); }
std::string_view name_of(OpClass v) { return spelled(kOpClass, v); }
std::string_view name_of(CommKind v) { return spelled(kCommKind, v); }
std::string_view name_of(CollectiveOp v) { return spelled(kCollective, v); }
std::string_view name_of(Leaf v) { return spelled(kLeaf, v); }
std::string_view name_of(LossGroup v) { return spelled(kLossGroup, v); }
std::string_view name_of(Wall v) { return spelled(kWall, v); }
std::string_view name_of(VerdictKind v) { return spelled(kVerdictKind, v); }
std::string_view name_of(Confidence v) { return spelled(kConfidence, v); }
std::string_view name_of(Cause v) { return spelled(kCause, v); }
std::string_view name_of(StepOrigin v) { return spelled(kStepOrigin, v); }
std::string_view name_of(RankSource v) { return spelled(kRankSource, v); }

std::optional<OpClass> op_class_from(std::string_view s) { return parsed<OpClass>(kOpClass, s); }
std::optional<CommKind> comm_kind_from(std::string_view s) {
  return parsed<CommKind>(kCommKind, s);
}
std::optional<CollectiveOp> collective_from(std::string_view s) {
  return parsed<CollectiveOp>(kCollective, s);
}
std::optional<Leaf> leaf_from(std::string_view s) { return parsed<Leaf>(kLeaf, s); }

}  // namespace ws
