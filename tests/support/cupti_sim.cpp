// A stand-in for libcupti: the same functions and record layouts, no driver. What would come from
// the GPU is told by the workload (cupti_sim.h); it goes through the client's buffer callbacks as
// in the real library: a buffer per thread, delivered when full or when flushed.
//
//   WALLSIGHT_SIM_VERSION   as cuptiGetVersion: 18, 19, 22, 26, 28, 130000, 140000 (made up)
//   WALLSIGHT_SIM_BUSY      another subscriber is there
//   WALLSIGHT_SIM_NO_CLOCK  no timestamp callback; CUPTI's clock is 1 s ahead of ours
//   WALLSIGHT_SIM_HOLD      only a forced flush gives buffers that are not full
//   WALLSIGHT_SIM_REFUSE    cuptiActivityEnable fails
#include "support/cupti_sim.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <thread>

#include "collector/cupti_abi.h"
#include "support/cupti_sim_tables.h"

#define SIM_EXPORT extern "C" __attribute__((visibility("default")))

using namespace ws::collector::cupti;
using namespace ws::test::cupti_sim;

namespace {

constexpr Result kInvalid = 1, kInvalidKind = 21, kNotCompatible = 14, kMaxLimit = 12;

bool asked(const char* name) { return std::getenv(name) != nullptr; }

struct Buffer {
  uint8_t* data = nullptr;
  size_t capacity = 0, used = 0;
};

// Leaked on purpose: threads of the client may call until the very end.
struct Sim {
  std::mutex mutex;
  std::atomic<int> subscribers{0};
  BufferRequested request = nullptr;
  BufferCompleted complete = nullptr;
  std::array<std::atomic<bool>, kKindsEnd> kinds{};
  std::array<std::atomic<bool>, kRuntimeCount> runtime_ids{};
  std::array<std::atomic<bool>, kDriverCount> driver_ids{};
  std::atomic<Timestamp> clock{nullptr};
  std::map<std::thread::id, Buffer> buffers;
  std::atomic<uint64_t> dropped{0}, written{0}, refusals{0};
};
Sim& sim() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static Sim* const s = new Sim;
  return *s;
}

constexpr uint64_t kAhead = 1'000'000'000;

// Records carry the clock that the client gave, else that of the library.
uint64_t on_clock(uint64_t ns) { return sim().clock == nullptr && ns != 0 ? ns + kAhead : ns; }

uint64_t own_clock() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec) +
         kAhead;
}

void deliver(Buffer& b) {
  const Buffer full = b;
  b = {};
  if (full.data != nullptr) sim().complete(nullptr, 0, full.data, full.capacity, full.used);
}

// A zeroed record of that kind in the calling thread's buffer; null: it is lost.
class Record {
 public:
  explicit Record(uint32_t kind) : lock_(sim().mutex) {
    Sim& s = sim();
    if (!s.kinds[kind]) return;
    make(kind);
  }
  Record(uint32_t kind, bool enabled) : lock_(sim().mutex) {
    if (enabled) make(kind);
  }
  explicit operator bool() const { return at_ != nullptr; }
  template <class F, class T>
  Record& put(F, T value) {
    using Type = decltype(F::of(nullptr));
    const auto v = static_cast<Type>(value);
    std::memcpy(at_ + F::kEnd - sizeof v, &v, sizeof v);
    return *this;
  }
  Record& text(KernelRecord::Name, const char* value) {
    std::memcpy(at_ + KernelRecord::Name::kEnd - sizeof value, &value, sizeof value);
    return *this;
  }
  uint8_t* bytes() { return at_; }

 private:
  void make(uint32_t kind) {
    Sim& s = sim();
    const size_t size = size_of(kind);
    Buffer& b = s.buffers[std::this_thread::get_id()];
    if (b.data != nullptr && b.used + size > b.capacity) deliver(b);
    if (b.data == nullptr) {
      size_t most = 0;
      s.request(&b.data, &b.capacity, &most);
      if (b.data == nullptr || b.capacity < size) {
        b = {};
        ++s.refusals;
        ++s.dropped;
        return;
      }
      std::memset(b.data, 0, b.capacity);
    }
    at_ = b.data + b.used;
    b.used += size;
    std::memcpy(at_, &kind, sizeof kind);
    ++s.written;
  }
  std::lock_guard<std::mutex> lock_;
  uint8_t* at_ = nullptr;
};

void deliver_all(bool forced) {
  if (!forced && asked("WALLSIGHT_SIM_HOLD")) return;
  const std::lock_guard lock(sim().mutex);
  for (auto& [thread, buffer] : sim().buffers) deliver(buffer);
}

}  // namespace

SIM_EXPORT Result cuptiGetVersion(uint32_t* v) {
  *v = version();
  return kSuccess;
}
SIM_EXPORT Result cuptiGetTimestamp(uint64_t* t) {
  const Timestamp clock = sim().clock;
  *t = clock != nullptr ? clock() : own_clock();
  return kSuccess;
}
SIM_EXPORT Result cuptiGetResultString(Result r, const char** text) {
  *text = r == kSuccess ? "CUPTI_SUCCESS" : "CUPTI_ERROR_SIMULATED";
  return kSuccess;
}
SIM_EXPORT Result cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char** name) {
  if (domain == kRuntimeApi && cbid > 0 && cbid < kRuntimeCount) {
    *name = kRuntimeNames[cbid];
  } else if (domain == kDriverApi && cbid > 0 && cbid < kDriverCount) {
    *name = kDriverNames[cbid];
  } else {
    return kInvalid;
  }
  return kSuccess;
}
SIM_EXPORT Result cuptiSubscribe(void** handle, Callback, void*) {
  int none = 0;
  if (asked("WALLSIGHT_SIM_BUSY") || !sim().subscribers.compare_exchange_strong(none, 1))
    return kMultipleSubscribers;
  *handle = &sim();
  return kSuccess;
}
SIM_EXPORT Result cuptiUnsubscribe(void* handle) {
  if (handle != &sim()) return kInvalid;
  sim().subscribers = 0;
  return kSuccess;
}
SIM_EXPORT Result cuptiActivityRegisterTimestampCallback(Timestamp clock) {
  if (asked("WALLSIGHT_SIM_NO_CLOCK")) return kNotCompatible;
  sim().clock = clock;
  return kSuccess;
}
SIM_EXPORT Result cuptiActivityRegisterCallbacks(BufferRequested request,
                                                 BufferCompleted complete) {
  const std::lock_guard lock(sim().mutex);
  sim().request = request;
  sim().complete = complete;
  return kSuccess;
}
SIM_EXPORT Result cuptiActivityEnable(uint32_t kind) {
  if (asked("WALLSIGHT_SIM_REFUSE")) return kNotCompatible;
  if (kind >= kKindsEnd || size_of(kind) == 0) return kInvalidKind;
  sim().kinds[kind] = true;
  return kSuccess;
}
SIM_EXPORT Result cuptiActivityDisable(uint32_t kind) {
  if (kind >= kKindsEnd) return kInvalidKind;
  sim().kinds[kind] = false;
  return kSuccess;
}
SIM_EXPORT Result cuptiActivityEnableAndDump(uint32_t kind) {
  const Result r = cuptiActivityEnable(kind);
  if (r != kSuccess || kind != kDevice) return r;
  using R = DeviceRecord;
  for (uint32_t ordinal = 0; ordinal < 2; ++ordinal) {
    Record d(kDevice);
    if (!d) continue;
    d.put(R::MemoryBytes{}, uint64_t{80} << 30).put(R::SmCount{}, 132).put(R::ComputeMajor{}, 9);
    d.put(R::Id{}, ordinal);
    const char* name = "NVIDIA H100 80GB HBM3";
    constexpr size_t kPointer = sizeof(void*);
    std::memcpy(d.bytes() + R::Name::kEnd - kPointer, &name, kPointer);
    std::memset(d.bytes() + R::kUuid, static_cast<int>(0xa0 + ordinal), 16);
  }
  return kSuccess;
}
SIM_EXPORT Result cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable) {
  if (cbid == 0 || cbid >= kRuntimeCount || version() < 23) return kNotCompatible;
  sim().runtime_ids[cbid] = enable != 0;
  return kSuccess;
}
SIM_EXPORT Result cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable) {
  if (cbid == 0 || cbid >= kDriverCount || version() < 23) return kNotCompatible;
  sim().driver_ids[cbid] = enable != 0;
  return kSuccess;
}
SIM_EXPORT Result cuptiActivityEnableAllSyncRecords(uint8_t) { return kSuccess; }
SIM_EXPORT Result cuptiActivityFlushAll(uint32_t flags) {
  deliver_all((flags & kFlushForced) != 0);
  return kSuccess;
}
SIM_EXPORT Result cuptiActivitySetAttribute(uint32_t, size_t* size, void*) {
  return *size == sizeof(size_t) ? kSuccess : kInvalid;
}
SIM_EXPORT Result cuptiActivityGetNumDroppedRecords(void*, uint32_t, size_t* dropped) {
  *dropped = sim().dropped.exchange(0);
  return kSuccess;
}
SIM_EXPORT Result cuptiSetThreadIdType(int) { return kSuccess; }
SIM_EXPORT Result cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, uint8_t** record) {
  uint8_t* next = buffer;
  if (*record != nullptr) {
    uint32_t kind = 0;
    std::memcpy(&kind, *record, sizeof kind);
    const size_t size = size_of(kind);
    if (size == 0) return kInvalidKind;
    next = *record + size;
  }
  if (valid == 0 || next >= buffer + valid) return kMaxLimit;
  uint32_t kind = 0;
  std::memcpy(&kind, next, sizeof kind);
  if (kind >= kKindsEnd || size_of(kind) == 0) return kInvalidKind;
  *record = next;
  return kSuccess;
}

SIM_EXPORT void cuptisim_kernel(const SimKernel* k) {
  using R = KernelRecord;
  // Where graphs are traced as a whole their nodes are not.
  if (k->node != 0 && sim().kinds[kGraphTrace]) return;
  Record r(kConcurrentKernel);
  if (!r) return;
  r.put(R::Start{}, on_clock(k->start)).put(R::End{}, on_clock(k->end)).put(R::Device{}, k->device);
  r.put(R::Context{}, k->context).put(R::Stream{}, k->stream);
  r.put(R::Correlation{}, k->correlation).put(R::GraphNode{}, k->node);
  r.put(R::StaticShared{}, 128).put(R::Registers{}, 64).text({}, k->name);
  if (size_of(kConcurrentKernel) >= R::Graph::kEnd) r.put(R::Graph{}, k->graph);
  const uint32_t one[3] = {1, 1, 1};
  std::memcpy(r.bytes() + R::kGrid, one, sizeof one);
  std::memcpy(r.bytes() + R::kBlock, one, sizeof one);
}

SIM_EXPORT void cuptisim_copy(const SimCopy* c) {
  using R = MemcpyRecord;
  using P = PeerCopyRecord;
  const bool peer = c->kind == 10;
  // Copies between devices come only when both kinds are enabled.
  if (peer && !sim().kinds[kMemcpy]) return;
  Record r(peer ? kMemcpy2 : kMemcpy);
  if (!r) return;
  r.put(R::CopyKind{}, c->kind).put(R::SourceKind{}, c->source).put(R::TargetKind{}, c->target);
  r.put(R::Bytes{}, c->bytes).put(R::Start{}, on_clock(c->start)).put(R::End{}, on_clock(c->end));
  r.put(R::Device{}, c->device).put(R::Context{}, c->context).put(R::Stream{}, c->stream);
  if (peer) {
    r.put(P::Correlation{}, c->correlation).put(P::GraphNode{}, c->node);
    if (size_of(kMemcpy2) >= P::Graph::kEnd) r.put(P::Graph{}, c->graph);
  } else {
    r.put(R::Correlation{}, c->correlation).put(R::GraphNode{}, c->node);
    if (size_of(kMemcpy) >= R::Graph::kEnd) r.put(R::Graph{}, c->graph);
  }
}

SIM_EXPORT void cuptisim_fill(const SimFill* f) {
  using R = MemsetRecord;
  Record r(kMemset);
  if (!r) return;
  r.put(R::Bytes{}, f->bytes).put(R::Start{}, on_clock(f->start)).put(R::End{}, on_clock(f->end));
  r.put(R::Device{}, f->device).put(R::Context{}, f->context).put(R::Stream{}, f->stream);
  r.put(R::Correlation{}, f->correlation);
}

SIM_EXPORT int cuptisim_call(const SimCall* c) {
  using R = ApiRecord;
  Sim& s = sim();
  const uint32_t runtime = find_call(kRuntimeNames, kRuntimeCount, c->name);
  const uint32_t driver = runtime != 0 ? 0 : find_call(kDriverNames, kDriverCount, c->name);
  if (runtime == 0 && driver == 0) return 0;
  const bool on = runtime != 0 ? s.kinds[kRuntime] || s.runtime_ids[runtime]
                               : s.kinds[kDriver] || s.driver_ids[driver];
  Record r(runtime != 0 ? kRuntime : kDriver, on);
  if (!r) return 1;
  r.put(R::Cbid{}, runtime != 0 ? runtime : driver).put(R::Start{}, on_clock(c->start));
  r.put(R::End{}, on_clock(c->end))
      .put(R::Thread{}, c->thread)
      .put(R::Correlation{}, c->correlation);
  return 1;
}

SIM_EXPORT void cuptisim_sync(const SimSync* c) {
  using R = SyncRecord;
  Record r(kSynchronization);
  if (!r) return;
  r.put(R::Type{}, c->type).put(R::Start{}, on_clock(c->start)).put(R::End{}, on_clock(c->end));
  r.put(R::Stream{}, c->stream).put(R::Event{}, c->event).put(R::Correlation{}, c->correlation);
  if (size_of(kSynchronization) >= R::EventSync::kEnd) r.put(R::EventSync{}, c->event);
}

SIM_EXPORT void cuptisim_overhead(const SimOverhead* o) {
  using R = OverheadRecord;
  Record r(kOverhead);
  if (!r) return;
  r.put(R::OverheadKind{}, o->kind)
      .put(R::Start{}, on_clock(o->start))
      .put(R::End{}, on_clock(o->end));
  r.put(R::ObjectKind{}, o->thread == 0 ? 1 : R::kObjectThread).put(R::Thread{}, o->thread);
}

SIM_EXPORT void cuptisim_graph(const SimGraph* g) {
  using R = GraphRecord;
  Record r(kGraphTrace);
  if (!r) return;
  r.put(R::Start{}, on_clock(g->start)).put(R::End{}, on_clock(g->end)).put(R::Graph{}, g->graph);
  r.put(R::Device{}, g->device).put(R::Context{}, g->context).put(R::Stream{}, g->stream);
  r.put(R::Correlation{}, g->correlation);
}

SIM_EXPORT void cuptisim_memory(const SimMemory* m) {
  using R = MemoryRecord;
  Record r(kMemory2);
  if (!r) return;
  r.put(R::Operation{}, m->allocation != 0 ? R::kAllocation : R::kRelease);
  r.put(R::MemoryKind{}, R::kDeviceMemory)
      .put(R::Bytes{}, m->bytes)
      .put(R::Time{}, on_clock(m->time));
  r.put(R::Device{}, m->device);
}

SIM_EXPORT uint64_t cuptisim_written() { return sim().written; }
SIM_EXPORT int cuptisim_subscribed() { return sim().subscribers; }
SIM_EXPORT uint64_t cuptisim_refusals() { return sim().refusals; }
