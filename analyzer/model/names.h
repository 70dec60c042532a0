#pragma once
// The closed sets of names that the JSON contract, the facts and the rules use. One enum each, one
// table of spellings each; nothing else in the program compares such strings.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ws {

// What a device record is, as the recorder says.
enum class OpKind : uint8_t { kernel, h2d, d2h, d2d, p2p, memset, graph };

// What a device record does. graph records (whole graph, nodes unseen) are compute_other.
enum class OpClass : uint8_t { gemm, attention, compute_other, membound, comm, p2p, h2d, d2h };
constexpr bool is_compute(OpClass c) { return c <= OpClass::membound; }
constexpr bool is_comm(OpClass c) { return c == OpClass::comm || c == OpClass::p2p; }
constexpr bool is_copy(OpClass c) { return c >= OpClass::h2d; }

// Parallel dimension of a communicator; `other` says nothing could be told.
enum class CommKind : uint8_t { ep, tp, cp, pp, dp, other };  // order = tie-break, ALGORITHMS 3.1

enum class CollectiveOp : uint8_t {
  unknown,
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  reduce,
  gather,
  scatter,
  send,
  recv,
  send_recv,
  barrier
};

// Leaves of the exclusive partition. Every nanosecond of a step has exactly one.
enum class Leaf : uint8_t {
  gemm,
  attention,
  membound,
  compute_other,
  recompute,
  comm_tp_wait,
  comm_tp_transfer,
  comm_tp_unsplit,
  comm_ep_wait,
  comm_ep_transfer,
  comm_ep_unsplit,
  comm_dp_wait,
  comm_dp_transfer,
  comm_dp_unsplit,
  comm_pp_wait,
  comm_pp_transfer,
  comm_pp_unsplit,
  comm_cp_wait,
  comm_cp_transfer,
  comm_cp_unsplit,
  comm_p2p_wait,
  comm_p2p_transfer,
  comm_p2p_unsplit,
  comm_other_wait,
  comm_other_transfer,
  comm_other_unsplit,
  copy_h2d,
  copy_d2h,
  copy_offload,
  idle_launch,
  idle_graph_launch,
  idle_host,
  idle_sync,
  idle_alloc,
  idle_dataload,
  idle_gc,
  idle_jit,
  idle_profiler,
  idle_kernel_gap,
  idle_dependency,
  idle_unknown
};
inline constexpr size_t kLeafCount = static_cast<size_t>(Leaf::idle_unknown) + 1;
constexpr bool is_idle(Leaf l) { return l >= Leaf::idle_launch; }
constexpr bool is_comm(Leaf l) { return l >= Leaf::comm_tp_wait && l <= Leaf::comm_other_unsplit; }
constexpr Leaf leaf_at(size_t i) { return static_cast<Leaf>(i); }

enum class CommPart : uint8_t { wait, transfer, unsplit };
Leaf comm_leaf(OpClass c, CommKind kind, CommPart part);  // c is comm or p2p

enum class LossGroup : uint8_t { useful, memory, communication, imbalance, bubble, host };
inline constexpr size_t kLossGroupCount = 6;
enum class Wall : uint8_t { memory, communication, compute_host };
enum class VerdictKind : uint8_t { dominant, mixed, none, insufficient };
enum class Confidence : uint8_t { low, medium, high };
enum class Cause : uint8_t {
  launch_bound,
  host_sync,
  input_pipeline,
  gc_pause,
  allocator,
  recompute,
  offload,
  pageable_copy,
  ep_all_to_all,
  tp_collective,
  dp_gradient,
  dp_parameter,
  cp_exchange,
  pp_transfer,
  comm_contention,
  straggler_gpu,
  straggler_host,
  expert_imbalance,
  pipeline_bubble,
  membound_kernels,
  gemm_bound,
  attention_bound,
  compute_bound,
  only_warmup,
  too_few_steps,
  records_lost,
  graph_level_trace,
  peers_missing,
  no_gpu_events,
  unknown
};
inline constexpr size_t kCauseCount = static_cast<size_t>(Cause::unknown) + 1;

enum class StepOrigin : uint8_t {
  user_range,       // --step-range or a name the user gave
  profiler_step,    // ProfilerStep#N
  named_range,      // iteration / train_step / step ... + number
  megatron_ranges,  // per-module or optimizer ranges
  optimizer_burst,  // end of a burst of optimizer kernels
  kernel_period,    // repeating sequence of kernel names
  whole             // none found: one window per device
};

// Who said which rank a file is.
enum class RankSource : uint8_t { distributed_info, file_name, environment, order };

std::string_view name_of(OpKind v);
std::string_view name_of(OpClass v);
std::string_view name_of(CommKind v);
std::string_view name_of(CollectiveOp v);
std::string_view name_of(Leaf v);  // "comm.ep.unsplit", "idle.launch", ...
std::string_view name_of(LossGroup v);
std::string_view name_of(Wall v);
std::string_view name_of(VerdictKind v);
std::string_view name_of(Confidence v);
std::string_view name_of(Cause v);
std::string_view name_of(StepOrigin v);
std::string_view name_of(RankSource v);

std::optional<OpClass> op_class_from(std::string_view s);
std::optional<CommKind> comm_kind_from(std::string_view s);
std::optional<CollectiveOp> collective_from(std::string_view s);
std::optional<Leaf> leaf_from(std::string_view s);

}  // namespace ws
