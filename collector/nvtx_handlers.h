#pragma once
// What stands in the tables of NVTX clients, and the state of a thread that calls it. Only
// nvtx_source.cpp and nvtx_handlers.cpp include this.
#include "collector/nvtx_source.h"

namespace ws::collector {

// The source that the handlers feed; C functions have no other way to it.
void set_nvtx_source(NvtxSource* source);
// A range that has ended already, of the calling thread; nothing without a source or a window.
void record_range(const char* name, int64_t begin_ns, int64_t end_ns) noexcept;
// The same for what NCCL says of an operation.
void record_operation(const NcclOperation& operation, int64_t begin_ns, int64_t end_ns) noexcept;
bool is_recording() noexcept;
bool wants_calls() noexcept;  // what NCCL is asked for, even where nothing is recorded

// How an NcclOperation travels in a RangeEvent, under schemas that no client can register.
struct NcclPayload {
  uint64_t communicator;
  int64_t bytes, sequence;
  int32_t root_or_peer, rank_count;
};
static_assert(sizeof(NcclPayload) == RangeEvent::kMostPayload);
inline constexpr uint64_t kCollectiveSchema = UINT64_MAX, kPeerSchema = UINT64_MAX - 1;

struct NvtxSource::ThreadState {
  static constexpr uint32_t kDeepest = 64, kNames = 512;
  uint64_t source = 0;     // id of the source whose state this is
  bool has_asked = false;  // for a ring
  uint64_t tid = 0;
  RangeRing* ring = nullptr;
  uint32_t epoch = 0, depth = 0, too_deep = 0;
  Open open[kDeepest];
  struct KnownName {
    uint64_t hash = 0;
    uint32_t id = 0, length = 0;
  } names[kNames];
};

}  // namespace ws::collector
