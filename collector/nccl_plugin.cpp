// The profiler plug-in that NCCL finds under NCCL_PROFILER_PLUGIN: for each collective the sequence
// number in its communicator, by which ranks are matched exactly. Each becomes a range of the NVTX
// domain "NCCL" around its launch, which is where NCCL starts and stops its event.
// Tested by: nccl_profiler.py
#include <algorithm>
#include <cstring>
#include <new>

#include "collector/nccl_abi.h"
#include "collector/nvtx_handlers.h"
#include "collector/recorder.h"

namespace ws::collector::nccl {
namespace {

struct Context {  // of a communicator
  uint64_t hash = 0;
  int ranks = -1;
};

struct Event {
  int64_t begin_ns = 0;
  NcclOperation operation;
  const void* thread = nullptr;
};

// The operations of a group start one after the other, are launched as one, and stop in the same
// order. Written as they are their ranges would cross: they wait for the last and end together.
struct Group {
  static constexpr size_t kMost = 64;
  size_t open = 0, ended = 0;
  Event* events[kMost];
  void end(int64_t now_ns) noexcept {
    for (size_t i = 0; i < ended; ++i) {
      record_operation(events[i]->operation, events[i]->begin_ns, now_ns);
      delete events[i];
    }
    ended = 0;
  }
};
Group& group() noexcept {
  static thread_local Group g;
  return g;
}

Context* context_of(uint64_t hash, int ranks) noexcept {
  return new (std::nothrow) Context{hash, ranks};
}

// NCCL then goes on without us: where nothing is recorded its events would cost for nothing.
bool wanted() noexcept {
  try {
    Recorder& r = Recorder::instance();
    set_nvtx_source(&r.nvtx());
    return r.enabled();
  } catch (...) {
    return false;
  }
}

constexpr int kMask = static_cast<int>(kCollective | kPeerToPeer);

Result init_until_3(void** context, int* mask) {
  *context = nullptr;
  *mask = kMask;
  return wanted() ? kSuccess : kNotWanted;
}
Result init_4(void** context, int* mask, const char*, uint64_t hash, int, int ranks, int, void*) {
  *context = context_of(hash, ranks);
  *mask = kMask;
  return wanted() ? kSuccess : kNotWanted;
}
// Its events hang below those of the API.
Result init_5(void** context, uint64_t hash, int* mask, const char*, int, int ranks, int, void*) {
  *context = context_of(hash, ranks);
  *mask = kMask | kGroupApi | kCollectiveApi | kPeerToPeerApi;
  return wanted() ? kSuccess : kNotWanted;
}

int64_t bytes_of(const char* datatype, size_t count) {
  struct Row {
    const char* name;
    int64_t bytes;
  };
  constexpr Row kTypes[] = {{"ncclInt8", 1},       {"ncclUint8", 1},      {"ncclChar", 1},
                            {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1}, {"ncclFloat16", 2},
                            {"ncclHalf", 2},       {"ncclBfloat16", 2},   {"ncclInt32", 4},
                            {"ncclInt", 4},        {"ncclUint32", 4},     {"ncclFloat32", 4},
                            {"ncclFloat", 4},      {"ncclInt64", 8},      {"ncclUint64", 8},
                            {"ncclFloat64", 8},    {"ncclDouble", 8}};
  const auto row = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const Row& r) {
    return datatype != nullptr && std::strcmp(r.name, datatype) == 0;
  });
  constexpr size_t kMost = size_t{1} << 56;
  if (row == std::end(kTypes) || count > kMost) return -1;
  return static_cast<int64_t>(count) * row->bytes;
}

template <class Op>
void take(const Op& op, NcclOperation& out) {
  out.bytes = bytes_of(op.datatype, op.count);
  if (op.function == nullptr) return;
  const size_t length = ::strnlen(op.function, sizeof out.function - 1);
  std::memcpy(out.function, op.function, length);
  out.function[length] = '\0';
}

template <int kVersion>
Result start(void* context, void** handle, void* descriptor) {
  using D = Descriptor<kVersion>;
  *handle = nullptr;
  const D& d = *static_cast<const D*>(descriptor);
  const bool collective = d.type == kCollective;
  const bool recording = is_recording();
  if ((!collective && d.type != kPeerToPeer) || (!recording && !wants_calls())) return kSuccess;
  NcclOperation o;
  if (const auto* c = static_cast<const Context*>(context); c != nullptr) {
    o.communicator = c->hash;
    o.rank_count = c->ranks;
  }
  if constexpr (D::kNamesCommunicator)
    o.communicator = collective ? d.collective.communicator.hash : d.peer.communicator.hash;
  o.is_collective = collective;
  if (collective) {
    take(d.collective, o);
    o.sequence = static_cast<int64_t>(d.collective.sequence);
    o.root_or_peer = d.collective.root;
  } else {
    take(d.peer, o);
    o.root_or_peer = d.peer.peer;
  }
  NvtxSource::announce_call(o);
  auto* event = recording ? new (std::nothrow) Event : nullptr;
  if (event == nullptr) return kSuccess;
  event->operation = o;
  event->begin_ns = monotonic_ns();
  event->thread = &group();
  ++group().open;
  *handle = event;
  return kSuccess;
}

Result stop(void* handle) {
  auto* event = static_cast<Event*>(handle);
  if (event == nullptr) return kSuccess;
  Group& g = group();
  const int64_t now_ns = monotonic_ns();
  if (event->thread != &g) {  // began on another thread, which waits for it in vain
    record_operation(event->operation, event->begin_ns, now_ns);
    delete event;
    return kSuccess;
  }
  if (g.open > 0) --g.open;
  g.events[g.ended++] = event;
  if (g.open == 0 || g.ended == Group::kMost) g.end(now_ns);
  return kSuccess;
}
Result state(void*, int, void*) { return kSuccess; }
Result finalize(void* context) {
  delete static_cast<Context*>(context);
  return kSuccess;
}

constexpr const char* kName = "wallsight";

}  // namespace
}  // namespace ws::collector::nccl

using namespace ws::collector::nccl;
#define WS_EXPORT extern "C" __attribute__((visibility("default")))
WS_EXPORT const Profiler<InitUntil3> ncclProfiler_v2 = {kName, init_until_3, start<2>,
                                                        stop,  state,        finalize};
WS_EXPORT const Profiler<InitUntil3> ncclProfiler_v3 = {kName, init_until_3, start<3>,
                                                        stop,  state,        finalize};
WS_EXPORT const Profiler<Init4> ncclProfiler_v4 = {kName, init_4, start<4>, stop, state, finalize};
WS_EXPORT const Profiler<Init5> ncclProfiler_v5 = {kName, init_5, start<5>, stop, state, finalize};
