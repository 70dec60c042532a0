// Activity records only, never callbacks per launch: those cost the job most. Of the API calls only
// those that launch, copy, wait, allocate or load are asked for, by their ids where the version can
// do that. Subscribing comes first: registering buffers without it would steal another tool's.
// Tested by: recorder_test.py
#include "collector/cupti_source.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>

namespace ws::collector {

using namespace cupti;

namespace {

constexpr uint32_t kDeviceBuffers = 24;  // of 3.2 MB in the memory of the GPU; CUPTI would take 250

// CUPTI's callbacks carry no user pointer.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<CuptiSource*> g_source{nullptr};

void no_callback(void*, uint32_t, uint32_t, const void*) {}
uint64_t monotonic_timestamp() { return static_cast<uint64_t>(monotonic_ns()); }

// What explains the host side of a gap; queries and getters are called without end and do not.
bool is_wanted_call(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"cudaLaunch",
                                            "cudaGraphLaunch",
                                            "cudaMemcpy",
                                            "cudaMemset",
                                            "cudaMalloc",
                                            "cudaFree",
                                            "cudaHostAlloc",
                                            "cudaHostRegister",
                                            "cudaStreamSynchronize",
                                            "cudaDeviceSynchronize",
                                            "cudaEventSynchronize",
                                            "cudaEventRecord",
                                            "cudaStreamWaitEvent",
                                            "cudaGraphInstantiate",
                                            "cudaMemPrefetch",
                                            "cuLaunch",
                                            "cuGraphLaunch",
                                            "cuMemcpy",
                                            "cuMemset",
                                            "cuMemAlloc",
                                            "cuMemFree",
                                            "cuMemHostAlloc",
                                            "cuMemHostRegister",
                                            "cuMemCreate",
                                            "cuMemMap",
                                            "cuMemUnmap",
                                            "cuMemRelease",
                                            "cuMemSetAccess",
                                            "cuStreamSynchronize",
                                            "cuCtxSynchronize",
                                            "cuEventSynchronize",
                                            "cuEventRecord",
                                            "cuStreamWaitEvent",
                                            "cuGraphInstantiate",
                                            "cuModuleLoad",
                                            "cuLibraryLoad",
                                            "cuMemPrefetch"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view p) { return name.substr(0, p.size()) == p; });
}

}  // namespace

bool CuptiSource::refuse(Topic topic, std::string text) {
  std::fprintf(stderr, "wallsight: no GPU records: %s\n", text.c_str());
  out_.add(MessageRow{topic, std::move(text)});
  return false;
}

void CuptiSource::enable(Kind kind) {
  if (library_.record_bytes[kind] == 0 || library_.Enable(kind) != kSuccess) return;
  enabled_.push_back(kind);
}

void CuptiSource::enable_calls(Domain domain) {
  const auto enable_one =
      domain == kDriverApi ? library_.EnableDriverApi : library_.EnableRuntimeApi;
  const Kind kind = domain == kDriverApi ? kDriver : kRuntime;
  constexpr uint32_t kMostCalls = 2000, kEndOfTable = 64;
  uint32_t missing = 0;
  bool any = false;
  if (enable_one != nullptr && library_.GetCallbackName != nullptr) {
    for (uint32_t cbid = 1; cbid < kMostCalls && missing < kEndOfTable; ++cbid) {
      const char* name = nullptr;
      const bool named =
          library_.GetCallbackName(domain, cbid, &name) == kSuccess && name != nullptr;
      missing = named ? 0 : missing + 1;
      if (!named || !is_wanted_call(name)) continue;
      if (enable_one(cbid, 1) != kSuccess) break;
      enabled_calls_.emplace_back(domain, cbid);
      any = true;
    }
  }
  if (!any) enable(kind);
}

// GPU times are given on the clock that the callback reads. Without it CUPTI's own clock is moved
// by its distance to ours.
void CuptiSource::set_clock() {
  int64_t offset_ns = 0;
  if (library_.RegisterTimestampCallback == nullptr ||
      library_.RegisterTimestampCallback(monotonic_timestamp) != kSuccess) {
    uint64_t theirs = 0;
    const int64_t before = monotonic_ns();
    if (library_.GetTimestamp != nullptr && library_.GetTimestamp(&theirs) == kSuccess)
      offset_ns = (before + monotonic_ns()) / 2 - static_cast<int64_t>(theirs);
  }
  decoder_.set_clock_offset(offset_ns);
}

bool CuptiSource::start(Tier tier, const std::string& named_library, bool whole_graphs) {
  if (started_) return true;
  if (library_.handle == nullptr) {
    const std::string why = find_library(named_library, library_);
    if (!why.empty()) return refuse(Topic::cupti_missing, why);
  }
  g_source = this;
  const Result subscribed = library_.Subscribe(&subscriber_, no_callback, nullptr);
  if (subscribed == kMultipleSubscribers)
    return refuse(Topic::cupti_busy, "another tool in this process is using CUPTI");
  if (subscribed != kSuccess)
    return refuse(Topic::cupti_refused, "cuptiSubscribe: " + library_.text_of(subscribed));
  decoder_.use(library_);
  set_clock();
  if (library_.SetThreadIdType != nullptr) library_.SetThreadIdType(kThreadIdSystem);
  if (library_.SetAttribute != nullptr) {
    size_t limit = kDeviceBuffers, size = sizeof limit;
    library_.SetAttribute(kAttributeDeviceBufferPoolLimit, &size, &limit);
  }
  started_ = true;
  degraded_ = false;
  Result r = library_.RegisterCallbacks(on_request, on_complete);
  if (r == kSuccess) r = library_.Enable(kConcurrentKernel);
  if (r != kSuccess) {
    stop();
    return refuse(Topic::cupti_refused, "activity records: " + library_.text_of(r));
  }
  enabled_.push_back(kConcurrentKernel);
  for (const Kind kind : {kMemcpy, kMemcpy2, kMemset, kOverhead}) enable(kind);
  if (whole_graphs) enable(kGraphTrace);
  if (library_.EnableAndDump != nullptr && library_.EnableAndDump(kDevice) == kSuccess)
    enabled_.push_back(kDevice);
  if (tier >= Tier::host) {
    enable_calls(kRuntimeApi);
    enable_calls(kDriverApi);
    // Polls that find the work unfinished are no waiting.
    if (library_.EnableAllSyncRecords != nullptr) library_.EnableAllSyncRecords(0);
    enable(kSynchronization);
  }
  if (tier >= Tier::memory) {
    enable(kCudaEvent);
    enable(kMemory2);
  }
  return true;
}

void CuptiSource::stop() {
  if (!started_) return;
  for (const auto& [domain, cbid] : enabled_calls_)
    (domain == kDriverApi ? library_.EnableDriverApi : library_.EnableRuntimeApi)(cbid, 0);
  for (const Kind kind : enabled_) library_.Disable(kind);
  enabled_calls_.clear();
  enabled_.clear();
  library_.FlushAll(kFlushForced);
  take_full_buffers();
  count_dropped();
  library_.Unsubscribe(subscriber_);
  subscriber_ = nullptr;
  started_ = false;
}

void CuptiSource::take_full_buffers() {
  for (BufferPool::Full b = pool_.next_full(); b.data != nullptr; b = pool_.next_full()) {
    decoder_.decode(b.data, b.valid_bytes);
    pool_.give_back(b.data);
  }
}

void CuptiSource::ask_for_records() {
  if (started_) library_.FlushAll(0);
}

void CuptiSource::count_dropped() {
  size_t dropped = 0;
  if (library_.GetNumDroppedRecords != nullptr &&
      library_.GetNumDroppedRecords(nullptr, 0, &dropped) == kSuccess)
    out_.lose(LossSource::cupti_dropped, dropped);
  // A buffer that was refused or thrown away held an unknown number of records, at least one.
  const uint64_t lost = refused_.load() + thrown_away_.load();
  out_.lose(LossSource::buffers_full, lost - refused_said_);
  refused_said_ = lost;
}

bool CuptiSource::overloaded() {
  if (!started_ || pool_.count() == 0) return false;
  if (pool_.free_count() * 10 < pool_.count()) return true;
  if (degraded_ || pool_.free_count() * 4 >= pool_.count()) return false;
  degraded_ = true;
  for (const auto& [domain, cbid] : enabled_calls_)
    (domain == kDriverApi ? library_.EnableDriverApi : library_.EnableRuntimeApi)(cbid, 0);
  enabled_calls_.clear();
  for (const Kind kind : {kRuntime, kDriver, kSynchronization, kCudaEvent}) {
    const auto at = std::find(enabled_.begin(), enabled_.end(), kind);
    if (at == enabled_.end()) continue;
    library_.Disable(kind);
    enabled_.erase(at);
  }
  out_.lose(LossSource::degraded, 1);
  return false;
}

void CuptiSource::become_inert() { g_source = nullptr; }

// Called by CUPTI in threads of the job: nothing here waits.
void CuptiSource::on_request(uint8_t** buffer, size_t* size, size_t* most_records) {
  CuptiSource* self = g_source.load(std::memory_order_acquire);
  *most_records = 0;
  *size = BufferPool::kBufferBytes;
  *buffer = self == nullptr ? nullptr : self->pool_.take();
  if (*buffer != nullptr) return;
  *size = 0;
  if (self == nullptr) return;
  if (self->library_.version >= kVersionThatBearsRefusal) {
    self->refused_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  // A buffer of its own that is thrown away when it comes back.
  void* p = ::mmap(nullptr, BufferPool::kBufferBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return;
  *buffer = static_cast<uint8_t*>(p);
  *size = BufferPool::kBufferBytes;
}

void CuptiSource::on_complete(void*, uint32_t, uint8_t* buffer, size_t, size_t valid_size) {
  CuptiSource* self = g_source.load(std::memory_order_acquire);
  if (self == nullptr || buffer == nullptr) return;
  if (self->pool_.owns(buffer)) return self->pool_.complete(buffer, valid_size);
  self->thrown_away_.fetch_add(1, std::memory_order_relaxed);
  ::munmap(buffer, BufferPool::kBufferBytes);
}

}  // namespace ws::collector
