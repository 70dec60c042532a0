#pragma once
// Everything the facts need of one rank; the trace itself can be dropped afterwards.
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/device_comms.h"
#include "analysis/partition.h"
#include "analysis/replay_input.h"
#include "analysis/steps.h"

namespace ws {

struct KernelRow {  // per kernel name, over the steady steps (all of them when none is steady)
  std::string name, cls;  // printable UTF-8; cls: OpClass name
  int64_t count = 0;
  TimeNs total_ns = 0, p50_ns = 0, p99_ns = 0;  // durations, not exclusive time
  bool unclassified = false, grouped = false, optimizer = false, recompute = false;
};

struct CollectiveRow {  // per (communicator, kind, op, bytes)
  std::string group;
  CommKind kind{};
  CollectiveOp op{};
  int64_t bytes = -1;  // -1: not known
  int64_t count = 0;
  TimeNs total_ns = 0;                                  // sum of durations
  TimeNs wait_ns = 0, transfer_ns = 0, unsplit_ns = 0;  // exposed time, as charged
  TimeNs hidden_ns = 0;                                 // under compute
  TimeNs min_ns = 0;                                    // shortest instance
  // Of the instances that were matched with those of other ranks, hidden time included.
  int64_t matched = 0;
  TimeNs matched_wait_ns = 0, matched_transfer_ns = 0;
  int32_t late_rank = -1;  // arrives last most often, -1: not matched
  int64_t group_size = 0;  // 0: not known
  bool peer_copy = false;  // copies between devices, no collective
};

struct IdleRow {  // per idle leaf
  Leaf leaf{};
  TimeNs ns = 0;
  int64_t count = 0;
  Interval largest;           // longest single part
  std::string before, after;  // kernel names around it
};

// Plain counts over the steady steps of one device, per step where the name says so.
struct StepCounts {
  double kernels = 0, launches = 0, graph_launches = 0, syncs = 0, copies = 0, alloc_calls = 0;
  double small_d2h = 0;  // device-to-host copies of at most 64 bytes
  double pageable_copies = 0;
  double api_calls = 0;
  TimeNs sync_host_ns = 0;  // host time inside synchronising calls, per step
  TimeNs mean_kernel_ns = 0;
  TimeNs launch_spacing_ns = 0;  // median begin-to-begin of launch calls
  TimeNs host_marker_ns = 0;     // mean length of the host's own step range, 0: none
  TimeNs run_ahead_p10_ns = 0;   // 10th percentile of launch-to-start
  int64_t steps_with_pause = 0;  // steps with one unexplained host gap over 1 ms
};

// Copies of one kind, per steady step. busy: time with at least one of them running, so that copies
// side by side do not look slow. large: those whose rate is the link's and not their latency.
struct CopyTotals {
  int64_t bytes = 0, large_bytes = 0;
  TimeNs busy_ns = 0, large_busy_ns = 0;
  friend bool operator==(const CopyTotals&, const CopyTotals&) = default;
};
// By direction and, to and from the host, by the kind of host memory.
enum class CopyWay : uint8_t {
  h2d_pinned,
  h2d_pageable,
  h2d_untold,
  d2h_pinned,
  d2h_pageable,
  d2h_untold,
  peer
};
inline constexpr size_t kCopyWayCount = static_cast<size_t>(CopyWay::peer) + 1;

struct MemoryRow {                                              // one device
  int64_t peak_allocated_bytes = -1, peak_reserved_bytes = -1;  // -1: not recorded
  int64_t capacity_bytes = 0;                                   // 0: not known
  TimeNs recompute_ns = 0;               // per steady step, sum of durations flagged
  double recompute_estimated_share = 0;  // bound by counting, 0 when flags exist
  TimeNs offload_idle_ns = 0;            // per steady step
  int64_t offload_bytes = 0, h2d_bytes = 0, d2h_bytes = 0, pageable_bytes = 0;  // per steady step
  TimeNs h2d_ns = 0, d2h_ns = 0, pageable_ns = 0;                               // per steady step
  std::array<CopyTotals, kCopyWayCount> copies{};                               // by CopyWay
};

// A row per CommKind, and one for copies between devices.
inline constexpr size_t kCommRowCount = static_cast<size_t>(CommKind::other) + 2;
constexpr size_t comm_row(OpClass cls, CommKind kind) {
  return cls == OpClass::p2p ? kCommRowCount - 1 : static_cast<size_t>(kind);
}

// What the verdict needs beside the partition.
struct Evidence {
  // One per step. not_blocking: exposed communication while the host was busy elsewhere and had not
  // launched the compute that follows: removing it gains nothing. pause: longest single stretch of
  // idle.host.
  std::vector<TimeNs> not_blocking_ns, pause_ns;
  // Sums over the counted steps with both constants halved and doubled.
  Breakdown half_constants, double_constants;
  int64_t step_ops = 0, step_ops_with_launch = 0;  // that begin in counted steps
  int64_t ops_over_steps = 0;                      // records that contain a whole complete step
  TimeNs opaque_ns = 0;                            // per counted step, inside whole-graph records
  TimeNs staging_ns = 0;            // per counted step: idle.sync beside large pageable copies
  std::vector<TimeNs> profiler_ns;  // one per step: host time of the profiler itself
  bool cuda_graphs = false;         // graph launches or graph nodes were seen
};

// Time of a step at the edges of a pipeline stage's own work, while another stage of its replica
// computes: bubble, whatever its leaf (DESIGN 5).
struct StageIdle {
  TimeNs known_ns = 0;  // idle with a host cause
  TimeNs open_ns = 0;   // idle without a known cause
  TimeNs wait_ns = 0;   // waiting in collectives that span stages
};

struct DeviceAnalysis {
  int32_t device = 0;  // CUDA ordinal
  std::string gpu;
  Constants constants;
  std::vector<Step> steps;
  std::vector<Breakdown> breakdowns;    // one per step
  std::vector<TimeNs> offload_idle_ns;  // one per step
  std::vector<KernelRow> kernels;       // by total time, then name
  std::vector<CollectiveRow> collectives;
  std::vector<IdleRow> idle;
  StepCounts counts;
  MemoryRow memory;
  Overlap comm, copies;                             // over the steady steps, per step
  std::array<Overlap, kCommRowCount> comm_by_kind;  // CommKind order, then peer copies; per step
  int64_t ops = 0, ops_with_launch = 0;
  int64_t launches_without_op = 0;
  int64_t expected_launches = 0;
  Evidence evidence;
  std::vector<StageIdle> stage_idle;  // one per step; empty: no pipeline
  DeviceComms comms;                  // dropped when the ranks of the run have been put together
  // Set there; nullopt: not matched with other ranks.
  std::optional<TimeNs> clock_offset_ns, clock_error_ns;  // subtract to reach the run's clock
  std::optional<TimeNs> late_ns;  // per counted step: last minus second-last arrival where last
};

// Signs of the run's configuration in one rank.
struct ConfigSeen {
  bool deepep = false, hybridep = false;  // kernels of these dispatchers
  bool nccl_all_to_all_on_ep = false, collectives_on_ep = false;
  std::vector<std::string> precisions;  // of the GEMMs seen, sorted: "bf16", "fp8", ...
  std::vector<std::pair<std::string, std::string>> settings;  // as Trace::settings
  std::vector<std::string> arguments;                         // as Trace::arguments
};

struct RankAnalysis {
  int32_t rank = 0;
  int32_t host = 0;
  std::string host_name, path, format, tool_version, framework, os;
  RankSource rank_source{};
  int32_t world_size = 0;
  TimeNs clock_base_ns = 0, tick_ns = 1;
  bool graphs_as_a_whole = false, has_api_records = false, has_host_ranges = false;
  StepOrigin step_origin{};
  int64_t host_steps = 0;  // the host's own step ranges, there too without device records
  std::vector<DeviceAnalysis> devices;
  std::vector<Communicator> communicators;
  Interval capture;   // first to last record of any kind
  ConfigSeen config;  // what the records show of the run's configuration
  RecorderCost recorder;
  Notes notes;
  std::optional<ReplayRank> replay;  // a few steps to re-simulate; gone once the run is priced
};

}  // namespace ws
