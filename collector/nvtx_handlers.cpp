// Text is hashed at every call: the same address may hold another text the next time. A thread
// keeps the ids of its recent names, so that the shared table is asked once per name and thread.
// Handles are ids in disguise, nothing is allocated for them. Tested by: nvtx_test.cpp
#include "collector/nvtx_handlers.h"

#include <algorithm>
#include <cstring>

namespace ws::collector {

using namespace nvtx;

namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<NvtxSource*> g_source{nullptr};

NvtxSource* source() noexcept { return g_source.load(std::memory_order_acquire); }

uint32_t id_of(const void* handle) noexcept {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle));
}
void* handle_of(uint32_t id) noexcept {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(id));  // NOLINT: an opaque number
}

// UTF-8 of at most as much as fits.
std::string_view narrow(const wchar_t* text, char* out, size_t size) noexcept {
  size_t n = 0;
  for (; text != nullptr && *text != 0 && n + 4 < size; ++text) {
    auto c = static_cast<uint32_t>(*text);  // NOLINT(bugprone-signed-char-misuse): not a char
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
    const auto put = [&](uint32_t byte) { out[n++] = static_cast<char>(byte); };
    if (c < 0x80) {
      put(c);
    } else if (c < 0x800) {
      put(0xc0 | c >> 6), put(0x80 | (c & 63));
    } else if (c < 0x10000) {
      put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
    } else {
      put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 63)), put(0x80 | (c >> 6 & 63)),
          put(0x80 | (c & 63));
    }
  }
  return {out, n};
}

}  // namespace

void set_nvtx_source(NvtxSource* s) { g_source.store(s, std::memory_order_release); }

struct NvtxSource::Handlers {
  static constexpr size_t kWide = 1024;

  // No initialised thread_local of a type with a destructor: its first use would allocate twice.
  static ThreadState& thread() noexcept {
    static thread_local ThreadState state;
    return state;
  }

  static uint32_t name(NvtxSource& s, std::string_view text) noexcept {
    if (text.empty()) return 0;
    const uint64_t hash = Names::hash_of(text);
    ThreadState::KnownName& known = s.own_thread().names[hash % ThreadState::kNames];
    if (known.hash == hash && known.length == text.size()) return known.id;
    const uint32_t id = s.new_name(text);
    known = {hash, id, static_cast<uint32_t>(text.size())};
    return id;
  }
  static uint32_t name(NvtxSource& s, const char* text) noexcept {
    return text == nullptr ? 0 : name(s, std::string_view(text, ::strnlen(text, Names::kLongest)));
  }
  static uint32_t name(NvtxSource& s, const wchar_t* text) noexcept {
    char buffer[kWide];
    return name(s, narrow(text, buffer, sizeof buffer));
  }
  static bool readable(const EventAttributes* a) noexcept {
    return a != nullptr && a->size >= kAttributesBytes;
  }
  static uint32_t name(NvtxSource& s, const EventAttributes* a) noexcept {
    if (!readable(a)) return 0;
    if (a->message_type == kAscii) return name(s, a->message.ascii);
    if (a->message_type == nvtx::kWide) return name(s, a->message.wide);
    return a->message_type == kRegistered ? id_of(a->message.registered) : 0;
  }
  template <class Into>
  static void copy_payload(const PayloadData* p, Into& into) noexcept {
    if (p == nullptr || p->bytes == nullptr || p->size == SIZE_MAX) return;
    into.schema = p->schema;
    into.payload_bytes = static_cast<uint8_t>(std::min<size_t>(p->size, RangeEvent::kMostPayload));
    std::memcpy(into.payload, p->bytes, into.payload_bytes);
  }
  static const PayloadData* payload(const EventAttributes* a) noexcept {
    if (!readable(a) || a->payload_type != kPayloadExtended || a->payload_count < 1) return nullptr;
    return reinterpret_cast<const PayloadData*>(a->payload);  // NOLINT: NVTX passes it so
  }

  static void announce(NvtxSource& s, uint32_t id) noexcept {
    if (!s.watching_.load(std::memory_order_acquire) || !s.is_watched(id)) return;
    s.watched_begins_(s.watched_count_.fetch_add(1), monotonic_ns());
  }

  static void announce_call(NvtxSource& s, Domain domain, uint32_t id,
                            const PayloadData* payload_data) noexcept {
    if (payload_data == nullptr || !s.watching_calls_.load(std::memory_order_acquire)) return;
    if (id_of(domain) != s.nccl_domain_) return;
    RangeEvent e;
    copy_payload(payload_data, e);
    s.announce_call(id, e);
  }

  static int push(Domain domain, uint32_t id, const PayloadData* payload_data) noexcept {
    NvtxSource* s = source();
    if (s == nullptr || s->inert_) return -1;
    announce(*s, id);
    announce_call(*s, domain, id, payload_data);
    if (!s->recording_.load(std::memory_order_relaxed)) return 0;
    ThreadState& t = *s->state();
    if (t.depth == ThreadState::kDeepest) {
      ++t.too_deep;
      s->rings_.count_lost();
      return static_cast<int>(t.depth + t.too_deep) - 1;
    }
    Open& o = t.open[t.depth++];
    o.name = id;
    o.domain = id_of(domain);
    o.payload_bytes = 0;
    if (payload_data != nullptr) copy_payload(payload_data, o);
    if (t.ring != nullptr) t.ring->open_ranges.store(t.depth, std::memory_order_relaxed);
    o.begin_ns = monotonic_ns();
    return static_cast<int>(t.depth) - 1;
  }
  // The innermost open range of that domain ends.
  static int pop(Domain domain, const PayloadData* payload_data) noexcept {
    const int64_t now_ns = monotonic_ns();
    NvtxSource* s = source();
    if (s == nullptr || s->inert_ || !s->recording_.load(std::memory_order_relaxed)) return -1;
    ThreadState& t = *s->state();
    if (t.too_deep > 0) return static_cast<int>(t.depth + --t.too_deep);
    uint32_t at = t.depth;
    while (at > 0 && t.open[at - 1].domain != id_of(domain)) --at;
    if (at == 0) return -1;  // began before the window
    Open& o = t.open[at - 1];
    if (payload_data != nullptr) copy_payload(payload_data, o);
    finish(*s, t, o, now_ns, RangeKind::push_pop, false);
    std::move(t.open + at, t.open + t.depth, t.open + at - 1);
    --t.depth;
    if (t.ring != nullptr) t.ring->open_ranges.store(t.depth, std::memory_order_relaxed);
    return static_cast<int>(t.depth);
  }
  static void finish(NvtxSource& s, ThreadState& t, const Open& o, int64_t end_ns, RangeKind kind,
                     bool of_another_thread) noexcept {
    RangeEvent e;
    e.begin_ns = o.begin_ns;
    e.end_ns = end_ns;
    e.name = o.name;
    e.domain = o.domain;
    e.kind = kind;
    e.of_another_thread = of_another_thread;
    e.payload_bytes = o.payload_bytes;
    e.schema = o.schema;
    if (o.payload_bytes > 0) std::memcpy(e.payload, o.payload, o.payload_bytes);
    s.emit(t, e);
  }
  static void mark(Domain domain, uint32_t id, const PayloadData* payload_data) noexcept {
    NvtxSource* s = source();
    if (s == nullptr || s->inert_ || !s->recording_) return;
    Open o{};
    o.begin_ns = monotonic_ns();
    o.name = id;
    o.domain = id_of(domain);
    if (payload_data != nullptr) copy_payload(payload_data, o);
    finish(*s, *s->state(), o, o.begin_ns, RangeKind::mark, false);
  }
  // The id is slot and generation, so that an id that ended twice is seen.
  static RangeId range_start(Domain domain, uint32_t id, const PayloadData* payload_data) noexcept {
    NvtxSource* s = source();
    if (s == nullptr || s->inert_) return 0;
    announce(*s, id);
    if (!s->recording_) return 0;
    const ThreadState& t = *s->state();
    const std::lock_guard lock(s->start_end_mutex_);
    if (s->free_start_end_.empty()) {
      s->rings_.count_lost();
      return 0;
    }
    const uint32_t slot = s->free_start_end_.back();
    s->free_start_end_.pop_back();
    StartEnd& e = s->start_end_[slot];
    e.used = true;
    ++e.generation;
    e.tid = t.tid;
    e.range = {};
    e.range.name = id;
    e.range.domain = id_of(domain);
    if (payload_data != nullptr) copy_payload(payload_data, e.range);
    e.range.begin_ns = monotonic_ns();
    return e.generation * kStartEndSlots + slot;
  }
  static void range_end(RangeId id) noexcept {
    NvtxSource* s = source();
    if (s == nullptr || s->inert_ || id == 0) return;
    const int64_t now_ns = monotonic_ns();
    ThreadState& t = *s->state();
    Open range{};
    uint64_t tid = 0;
    {
      const std::lock_guard lock(s->start_end_mutex_);
      const uint32_t slot = static_cast<uint32_t>(id % kStartEndSlots);
      StartEnd& e = s->start_end_[slot];
      if (!e.used || e.generation != id / kStartEndSlots) return;
      e.used = false;
      s->free_start_end_.push_back(slot);
      range = e.range;
      tid = e.tid;
    }
    if (s->recording_) finish(*s, t, range, now_ns, RangeKind::start_end, tid != t.tid);
  }

  template <class Text>
  static uint32_t id(const Text* text) noexcept {
    NvtxSource* s = source();
    return s == nullptr || s->inert_ ? 0 : name(*s, text);
  }

  // NVTX functions, by the names of their slots.
  static void MarkEx(const EventAttributes* a) { mark(nullptr, id(a), payload(a)); }
  static void MarkA(const char* m) { mark(nullptr, id(m), nullptr); }
  static void MarkW(const wchar_t* m) { mark(nullptr, id(m), nullptr); }
  static RangeId RangeStartEx(const EventAttributes* a) {
    return range_start(nullptr, id(a), payload(a));
  }
  static RangeId RangeStartA(const char* m) { return range_start(nullptr, id(m), nullptr); }
  static RangeId RangeStartW(const wchar_t* m) { return range_start(nullptr, id(m), nullptr); }
  static void RangeEnd(RangeId r) { range_end(r); }
  static int RangePushEx(const EventAttributes* a) { return push(nullptr, id(a), payload(a)); }
  static int RangePushA(const char* m) { return push(nullptr, id(m), nullptr); }
  static int RangePushW(const wchar_t* m) { return push(nullptr, id(m), nullptr); }
  static int RangePop() { return pop(nullptr, nullptr); }
  static void DomainMarkEx(Domain d, const EventAttributes* a) { mark(d, id(a), payload(a)); }
  static RangeId DomainRangeStartEx(Domain d, const EventAttributes* a) {
    return range_start(d, id(a), payload(a));
  }
  static void DomainRangeEnd(Domain, RangeId r) { range_end(r); }
  static int DomainRangePushEx(Domain d, const EventAttributes* a) {
    return push(d, id(a), payload(a));
  }
  static int DomainRangePop(Domain d) { return pop(d, nullptr); }
  static StringHandle DomainRegisterStringA(Domain, const char* m) { return handle_of(id(m)); }
  static StringHandle DomainRegisterStringW(Domain, const wchar_t* m) { return handle_of(id(m)); }
  static Domain DomainCreateA(const char* m) { return handle_of(id(m)); }
  static Domain DomainCreateW(const wchar_t* m) { return handle_of(id(m)); }

  static uint64_t SchemaRegister(Domain, const SchemaAttributes* a) {
    NvtxSource* s = source();
    return s == nullptr || s->inert_ ? 0 : s->register_schema(a);
  }
  static const PayloadData* first(const PayloadData* p, size_t n) { return n == 0 ? nullptr : p; }
  static void MarkPayload(Domain d, const PayloadData* p, size_t n) { mark(d, 0, first(p, n)); }
  static int RangePushPayload(Domain d, const PayloadData* p, size_t n) {
    return push(d, 0, first(p, n));
  }
  static int RangePopPayload(Domain d, const PayloadData* p, size_t n) {
    return pop(d, first(p, n));
  }
  static RangeId RangeStartPayload(Domain d, const PayloadData* p, size_t n) {
    return range_start(d, 0, first(p, n));
  }
  static void RangeEndPayload(Domain, RangeId r, const PayloadData*, size_t) { range_end(r); }
  static uint8_t DomainIsEnabled(Domain) {
    const NvtxSource* s = source();
    return s != nullptr && s->recording_ ? 1 : 0;
  }
};

bool is_recording() noexcept {
  const NvtxSource* s = source();
  return s != nullptr && s->is_recording();
}

void record_range(const char* name, int64_t begin_ns, int64_t end_ns) noexcept {
  NvtxSource::record_ended(name, nullptr, begin_ns, end_ns);
}

void record_operation(const NcclOperation& operation, int64_t begin_ns, int64_t end_ns) noexcept {
  char name[sizeof operation.function + 4] = "nccl";
  std::strcat(name, operation.function);
  NvtxSource::record_ended(name, &operation, begin_ns, end_ns);
}

bool wants_calls() noexcept {
  const NvtxSource* s = source();
  return s != nullptr && s->is_watching_calls();
}

void NvtxSource::announce_call(const NcclOperation& o) noexcept {
  NvtxSource* s = source();
  if (s == nullptr || !s->is_watching_calls() || o.bytes < 0) return;
  if (s->nvtx_tells_calls_.load(std::memory_order_relaxed)) return;  // the same operation
  s->call_asked_({Names::hash_of(o.function), o.communicator, o.bytes, !o.is_collective},
                 monotonic_ns());
}

void NvtxSource::record_ended(const char* name, const NcclOperation* operation, int64_t begin_ns,
                              int64_t end_ns) noexcept {
  NvtxSource* s = source();
  if (s == nullptr || !s->is_recording() || name == nullptr || end_ns < begin_ns) return;
  Open o{};
  o.begin_ns = begin_ns;
  o.name = Handlers::name(*s, name);
  if (operation != nullptr) {
    o.domain = Handlers::name(*s, "NCCL");
    o.schema = operation->is_collective ? kCollectiveSchema : kPeerSchema;
    o.payload_bytes = sizeof(NcclPayload);
    const NcclPayload payload{operation->communicator, operation->bytes, operation->sequence,
                              operation->root_or_peer, operation->rank_count};
    std::memcpy(o.payload, &payload, sizeof payload);
  }
  Handlers::finish(*s, *s->state(), o, end_ns, RangeKind::push_pop, false);
}

NvtxSource::ThreadState& NvtxSource::thread_state() { return Handlers::thread(); }

namespace {
template <class Function>
void* any(Function* f) {
  return reinterpret_cast<void*>(f);
}
}  // namespace

auto NvtxSource::core_slots() -> std::span<const HandlerSlot> {
  using H = Handlers;
  static const HandlerSlot kSlots[] = {{kMarkEx, any(H::MarkEx)},
                                       {kMarkA, any(H::MarkA)},
                                       {kMarkW, any(H::MarkW)},
                                       {kRangeStartEx, any(H::RangeStartEx)},
                                       {kRangeStartA, any(H::RangeStartA)},
                                       {kRangeStartW, any(H::RangeStartW)},
                                       {kRangeEnd, any(H::RangeEnd)},
                                       {kRangePushEx, any(H::RangePushEx)},
                                       {kRangePushA, any(H::RangePushA)},
                                       {kRangePushW, any(H::RangePushW)},
                                       {kRangePop, any(H::RangePop)}};
  return kSlots;
}

auto NvtxSource::core2_slots() -> std::span<const HandlerSlot> {
  using H = Handlers;
  static const HandlerSlot kSlots[] = {
      {kDomainMarkEx, any(H::DomainMarkEx)},
      {kDomainRangeStartEx, any(H::DomainRangeStartEx)},
      {kDomainRangeEnd, any(H::DomainRangeEnd)},
      {kDomainRangePushEx, any(H::DomainRangePushEx)},
      {kDomainRangePop, any(H::DomainRangePop)},
      {kDomainRegisterStringA, any(H::DomainRegisterStringA), false},
      {kDomainRegisterStringW, any(H::DomainRegisterStringW), false},
      {kDomainCreateA, any(H::DomainCreateA), false},
      {kDomainCreateW, any(H::DomainCreateW), false}};
  return kSlots;
}

auto NvtxSource::payload_slots() -> std::span<const HandlerSlot> {
  using H = Handlers;
  static const HandlerSlot kSlots[] = {
      {kSchemaRegister, any(H::SchemaRegister), false}, {kMarkPayload, any(H::MarkPayload)},
      {kRangePushPayload, any(H::RangePushPayload)},    {kRangePopPayload, any(H::RangePopPayload)},
      {kRangeStartPayload, any(H::RangeStartPayload)},  {kRangeEndPayload, any(H::RangeEndPayload)},
      {kDomainIsEnabled, any(H::DomainIsEnabled)}};
  return kSlots;
}

}  // namespace ws::collector
