// Records are read at fixed offsets and stepped over with the library's own GetNextRecord, so
// larger records of a later version cost nothing. Fields that came later are read only when the
// probed size shows that they are there. Tested by: recorder_test.py, cupti_abi_test.cpp
#include "collector/activity_decoder.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>

namespace ws::collector {

using namespace cupti;

void ActivityDecoder::use(const Library& library) {
  library_ = library;
  for (auto& names : call_names_) names.clear();
}

void ActivityDecoder::decode(uint8_t* buffer, size_t valid_bytes) {
  uint8_t* record = nullptr;
  without_time_ = 0;
  while (library_.GetNextRecord(buffer, valid_bytes, &record) == kSuccess && record != nullptr) {
    decode_one(record);
    ++decoded_;
  }
  out_.lose(LossSource::zero_timestamps, without_time_);
}

void ActivityDecoder::decode_one(const uint8_t* r) {
  switch (Kind32::of(r)) {
    case kConcurrentKernel:
      return kernel(r);
    case kMemcpy:
      return copy(r, false);
    case kMemcpy2:
      return copy(r, true);
    case kMemset:
      return fill(r);
    case kRuntime:
      return call(r, kRuntimeApi);
    case kDriver:
      return call(r, kDriverApi);
    case kSynchronization:
      return sync(r);
    case kCudaEvent:
      return event(r);
    case kOverhead:
      return overhead(r);
    case kGraphTrace:
      return graph(r);
    case kMemory2:
      return memory(r);
    case kDevice:
      return device(r);
    default:
      return;
  }
}

// CUPTI gives device records without times when its own buffers on the device ran out.
bool ActivityDecoder::usable(uint64_t start, uint64_t end) {
  if (start == 0 && end == 0) {
    ++without_time_;
    return false;
  }
  return time(start) >= keep_from_ns_;
}

uint32_t ActivityDecoder::kernel_name(const char* mangled) {
  if (mangled == nullptr) return 0;
  const std::string_view text(mangled, ::strnlen(mangled, Names::kLongest));
  if (kernel_name_count_ * 2 >= kernel_names_.size()) {
    std::vector<Demangled> bigger(std::max<size_t>(1024, kernel_names_.size() * 2));
    for (const Demangled& d : kernel_names_) {
      size_t at = d.hash & (bigger.size() - 1);
      while (d.hash != 0 && bigger[at].hash != 0) at = (at + 1) & (bigger.size() - 1);
      if (d.hash != 0) bigger[at] = d;
    }
    kernel_names_ = std::move(bigger);
  }
  const uint64_t hash = Names::hash_of(text);
  size_t at = hash & (kernel_names_.size() - 1);
  for (; kernel_names_[at].hash != 0; at = (at + 1) & (kernel_names_.size() - 1)) {
    if (kernel_names_[at].hash == hash) return kernel_names_[at].id;
  }
  // Only mangled names: a kernel of C may be called "i", which would become "int".
  const bool whole = text.size() < Names::kLongest && text.substr(0, 2) == "_Z";
  int status = -1;
  char* plain = whole ? abi::__cxa_demangle(mangled, nullptr, nullptr, &status) : nullptr;
  const uint32_t id = names_.id_of(status == 0 && plain != nullptr ? plain : text);
  std::free(plain);
  kernel_names_[at] = {hash, id};
  ++kernel_name_count_;
  return id;
}

uint32_t ActivityDecoder::call_name(Domain domain, uint32_t cbid) {
  constexpr uint32_t kMostCalls = 8192;
  if (cbid >= kMostCalls) return 0;
  std::vector<uint32_t>& known = call_names_[domain];
  if (known.size() <= cbid) known.resize(cbid + 1);
  if (known[cbid] == 0) {
    const char* text = nullptr;
    const bool named = library_.GetCallbackName != nullptr &&
                       library_.GetCallbackName(domain, cbid, &text) == kSuccess && text != nullptr;
    known[cbid] = names_.id_of(named ? std::string(text)
                                     : (domain == kDriverApi ? "driver call " : "runtime call ") +
                                           std::to_string(cbid)) +
                  1;
  }
  return known[cbid] - 1;
}

void ActivityDecoder::kernel(const uint8_t* r) {
  using R = KernelRecord;
  if (!usable(R::Start::of(r), R::End::of(r))) return;
  ShapeRow shape;
  shape.name = kernel_name(R::Name::of(r));
  std::memcpy(shape.grid, r + R::kGrid, sizeof shape.grid);
  std::memcpy(shape.block, r + R::kBlock, sizeof shape.block);
  shape.static_shared_bytes = R::StaticShared::of(r);
  shape.dynamic_shared_bytes = R::DynamicShared::of(r);
  shape.registers = R::Registers::of(r);
  KernelRow k;
  k.begin_ns = time(R::Start::of(r));
  k.end_ns = time(R::End::of(r));
  k.shape = out_.shape(shape);
  k.device = R::Device::of(r);
  k.context = R::Context::of(r);
  k.stream = R::Stream::of(r);
  k.correlation = R::Correlation::of(r);
  k.graph_node = R::GraphNode::of(r);
  if (k.graph_node != 0 && has(kConcurrentKernel, R::Graph::kEnd)) k.graph = R::Graph::of(r);
  out_.add(k);
}

void ActivityDecoder::copy(const uint8_t* r, bool between_devices) {
  using R = MemcpyRecord;
  if (!usable(R::Start::of(r), R::End::of(r))) return;
  CopyRow c;
  c.begin_ns = time(R::Start::of(r));
  c.end_ns = time(R::End::of(r));
  c.bytes = R::Bytes::of(r);
  c.kind = R::CopyKind::of(r);
  c.source_kind = R::SourceKind::of(r);
  c.target_kind = R::TargetKind::of(r);
  c.device = R::Device::of(r);
  c.context = R::Context::of(r);
  c.stream = R::Stream::of(r);
  using P = PeerCopyRecord;
  if (between_devices) {
    c.correlation = P::Correlation::of(r);
    if (has(kMemcpy2, P::GraphNode::kEnd)) c.graph_node = P::GraphNode::of(r);
    if (has(kMemcpy2, P::Graph::kEnd)) c.graph = P::Graph::of(r);
  } else {
    c.correlation = R::Correlation::of(r);
    c.graph_node = R::GraphNode::of(r);
    if (has(kMemcpy, R::Graph::kEnd)) c.graph = R::Graph::of(r);
  }
  if (c.graph_node == 0) c.graph = 0;
  out_.add(c);
}

void ActivityDecoder::fill(const uint8_t* r) {
  using R = MemsetRecord;
  if (!usable(R::Start::of(r), R::End::of(r))) return;
  FillRow f;
  f.begin_ns = time(R::Start::of(r));
  f.end_ns = time(R::End::of(r));
  f.bytes = R::Bytes::of(r);
  f.device = R::Device::of(r);
  f.context = R::Context::of(r);
  f.stream = R::Stream::of(r);
  f.correlation = R::Correlation::of(r);
  f.graph_node = R::GraphNode::of(r);
  if (f.graph_node != 0 && has(kMemset, R::Graph::kEnd)) f.graph = R::Graph::of(r);
  out_.add(f);
}

void ActivityDecoder::call(const uint8_t* r, Domain domain) {
  using R = ApiRecord;
  if (!usable(R::Start::of(r), R::End::of(r))) return;
  out_.add(CallRow{time(R::Start::of(r)), time(R::End::of(r)), call_name(domain, R::Cbid::of(r)),
                   R::Thread::of(r), R::Correlation::of(r)});
}

void ActivityDecoder::sync(const uint8_t* r) {
  using R = SyncRecord;
  if (!usable(R::Start::of(r), R::End::of(r))) return;
  SyncRow s;
  s.begin_ns = time(R::Start::of(r));
  s.end_ns = time(R::End::of(r));
  s.kind = R::Type::of(r);
  s.context = R::Context::of(r);
  s.stream = R::Stream::of(r);
  s.event = R::Event::of(r);
  s.correlation = R::Correlation::of(r);
  if (has(kSynchronization, R::EventSync::kEnd)) s.event_sync = R::EventSync::of(r);
  out_.add(s);
}

void ActivityDecoder::event(const uint8_t* r) {
  using R = EventRecord;
  EventRecordRow e;
  e.stream = R::Stream::of(r);
  e.event = R::Event::of(r);
  e.correlation = R::Correlation::of(r);
  if (has(kCudaEvent, R::EventSync::kEnd)) e.event_sync = R::EventSync::of(r);
  out_.add(e);
}

void ActivityDecoder::overhead(const uint8_t* r) {
  using R = OverheadRecord;
  if (!usable(R::Start::of(r), R::End::of(r))) return;
  const bool of_thread = R::ObjectKind::of(r) == R::kObjectThread;
  out_.add(OverheadRow{time(R::Start::of(r)), time(R::End::of(r)), R::OverheadKind::of(r),
                       of_thread ? R::Thread::of(r) : 0});
}

void ActivityDecoder::graph(const uint8_t* r) {
  using R = GraphRecord;
  if (!usable(R::Start::of(r), R::End::of(r))) return;
  out_.add(GraphRunRow{time(R::Start::of(r)), time(R::End::of(r)), R::Graph::of(r),
                       R::Device::of(r), R::Context::of(r), R::Stream::of(r),
                       R::Correlation::of(r)});
}

void ActivityDecoder::memory(const uint8_t* r) {
  using R = MemoryRecord;
  const uint32_t operation = R::Operation::of(r);
  if (R::MemoryKind::of(r) != R::kDeviceMemory || time(R::Time::of(r)) < keep_from_ns_) return;
  if (operation != R::kAllocation && operation != R::kRelease) return;
  const auto bytes = static_cast<int64_t>(R::Bytes::of(r));
  out_.add(MemoryRow{time(R::Time::of(r)), operation == R::kAllocation ? bytes : -bytes,
                     R::Device::of(r)});
}

void ActivityDecoder::device(const uint8_t* r) {
  using R = DeviceRecord;
  if (!has(kDevice, R::Name::kEnd)) return;
  DeviceRow d;
  d.ordinal = R::Id::of(r);
  if (std::find(devices_seen_.begin(), devices_seen_.end(), d.ordinal) != devices_seen_.end())
    return;
  devices_seen_.push_back(d.ordinal);
  if (const char* name = R::Name::of(r); name != nullptr) d.name = name;
  constexpr char kHex[] = "0123456789abcdef";
  for (size_t i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) d.uuid += '-';
    d.uuid += kHex[r[R::kUuid + i] >> 4];
    d.uuid += kHex[r[R::kUuid + i] & 15];
  }
  d.memory_bytes = R::MemoryBytes::of(r);
  d.sm_count = R::SmCount::of(r);
  d.compute_major = R::ComputeMajor::of(r);
  d.compute_minor = R::ComputeMinor::of(r);
  out_.add(d);
}

}  // namespace ws::collector
