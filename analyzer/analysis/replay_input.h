#pragma once
// What the dependency graph (ALGORITHMS 6) keeps of one rank: ops and outermost calls of a few
// steps as plain rows, so that the trace can be dropped. Times stay on the rank's own clock.
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/host_states.h"
#include "analysis/labels.h"
#include "analysis/partition.h"
#include "model/trace.h"

namespace ws {

// cudaEventRecord, cudaStreamWaitEvent; known_wait: what it waits for was recorded.
enum class EventCall : uint8_t { none, record, wait, known_wait };
// Host ranges whose share of a host lag is known.
enum class CoverKind : uint8_t { dataload, gc, jit, profiler };
inline constexpr size_t kCoverKinds = 4;

struct ReplayCall {
  TimeNs begin_ns = 0, end_ns = 0;
  uint32_t thread = 0;  // equal numbers are one thread
  uint32_t process = 0;
  uint32_t name = 0;                   // row of ReplayRank::names
  HostState state = HostState::other;  // by name
  EventCall event = EventCall::none;
  bool whole_device = false;            // waits for every stream
  bool frees = false;                   // cudaFree and kin
  int64_t stream = -1;                  // stream number a synchronisation names, -1: not said
  uint32_t first_op = 0, op_count = 0;  // rows of ReplayRank::launched
  uint32_t pred = kNoRow;  // call that ended last before this one starts, in host order
  TimeNs lag_ns = 0;       // begin - end of pred
  std::array<TimeNs, kCoverKinds> covered_ns{};  // part of the lag inside such ranges
};

struct ReplayOp {
  TimeNs begin_ns = 0, end_ns = 0;
  uint32_t stream = 0;     // row of ReplayRank::streams
  uint32_t call = kNoRow;  // outermost launching call
  TimeNs order_ns = -1;    // begin of the launch record, -1: none
  uint32_t name = 0;       // row of ReplayRank::names
  uint32_t graph = 0;      // 0: not inside a CUDA graph
  OpClass cls{};
  OpKind what{};
  CommKind kind = CommKind::other;
  CollectiveOp coll = CollectiveOp::unknown;
  uint8_t flags = 0;
  int64_t bytes = -1;
  uint32_t comm_record = kNoRow;  // row of RankComms::records of this rank
};

struct ReplayStream {
  uint32_t process = 0;
  uint32_t device = 0;
  int64_t number = 0;
};

// A host range that has a state (data loading, garbage collection, ...), for the next wall.
struct ReplayRange {
  TimeNs begin_ns = 0, end_ns = 0;
  uint32_t thread = 0;
  uint32_t name = 0;  // row of ReplayRank::names
  RangeSource source{};
};

// One device's cut points: begin of the first priced step, ..., end of the last.
struct ReplayCuts {
  uint32_t device = 0;  // as in ReplayStream
  int32_t ordinal = 0;
  Constants constants;
  std::vector<TimeNs> at_ns;
};

struct ReplayRank {
  int32_t rank = 0;
  Constants constants;
  std::vector<std::string> names;
  std::vector<ReplayStream> streams;
  std::vector<ReplayCall> calls;   // by begin; outermost only
  std::vector<ReplayOp> ops;       // by begin
  std::vector<uint32_t> launched;  // rows of ops, grouped by call
  // Recorded event waits as (producer op, consumer op).
  std::vector<std::pair<uint32_t, uint32_t>> waits;
  // Calls that block on a recorded event, as (call, op that the event stands for), by call.
  std::vector<std::pair<uint32_t, uint32_t>> host_waits;
  std::vector<Interval> host_steps;      // own clock, in order: the steps to price
  std::vector<int64_t> step_index;       // one per host step: ranks are aligned by it
  std::vector<ReplayCuts> cuts;          // of the devices that have all these steps
  std::vector<ReplayRange> ranges;       // by begin
  std::vector<uint32_t> thread_process;  // process per thread number
};

// Rows of everything launched in `window`, and of what runs into it. comm_record_of_op: row of the
// rank's comm records per op of the trace, kNoRow for what is none.
ReplayRank make_replay_rank(const Trace& trace, const Labels& labels, const Constants& constants,
                            Interval window, const std::vector<uint32_t>& comm_record_of_op);

}  // namespace ws
