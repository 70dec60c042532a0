// The handlers run in the job's threads: a clock, a hash of the text, a copy into the thread's
// ring. Nothing is allocated and no lock is taken after the first range of a thread, except for a
// new name and for start/end ranges, which may end on another thread. Tested by: nvtx_test.cpp
#include "collector/nvtx_source.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "collector/nvtx_handlers.h"

namespace ws::collector {

using namespace nvtx;

namespace {

pthread_key_t ring_key() {
  static const pthread_key_t key = [] {
    pthread_key_t k{};
    ::pthread_key_create(&k,
                         [](void* ring) { RangeRings::release(static_cast<RangeRing*>(ring)); });
    return k;
  }();
  return key;
}

uint64_t next_id() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

bool is(const char* name, std::string_view wanted) { return name != nullptr && name == wanted; }

// The name itself, or the name, one sign or none, and a number.
bool is_repeat_of(std::string_view name, std::string_view text) {
  if (text.substr(0, name.size()) != name) return false;
  std::string_view rest = text.substr(name.size());
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (rest.size() > 1 && !is_digit(rest[0])) rest.remove_prefix(1);
  return text.size() == name.size() ||
         (!rest.empty() && std::all_of(rest.begin(), rest.end(), is_digit));
}

// Bytes of an integral entry type, 0 for all others.
uint8_t bytes_of(uint64_t type) {
  switch (type) {
    case kInt8:
    case kUint8:
      return 1;
    case kShort:
    case kUshort:
    case kInt16:
    case kUint16:
      return 2;
    case kInt:
    case kUint:
    case kInt32:
    case kUint32:
      return 4;
    case kLong:
    case kUlong:
    case kLongLong:
    case kUlongLong:
    case kInt64:
    case kUint64:
    case kSize:
      return 8;
    default:
      return 0;
  }
}

bool is_signed(uint64_t type) { return type != kSize && type % 2 == 1; }

}  // namespace

NvtxSource::NvtxSource(Names& names, std::function<void()> wake)
    : id_(next_id()), names_(names), wake_(std::move(wake)), start_end_(kStartEndSlots) {
  for (uint32_t i = kStartEndSlots; i > 0; --i) free_start_end_.push_back(i - 1);
  PayloadLayout own;  // of NcclPayload
  own.communicator = {0, 8, false};
  own.size = {8, 8, true};
  own.sequence = {16, 8, true};
  own.rank_count = {28, 4, true};
  PayloadLayout::Value other{24, 4, true};
  own.root = other;
  schemas_[kCollectiveSchema] = own;
  own.root = {};
  own.peer = other;
  schemas_[kPeerSchema] = own;
}

NvtxSource::ThreadState& NvtxSource::own_thread() noexcept {
  ThreadState& t = thread_state();
  if (t.source != id_) {
    t = {};
    t.source = id_;
  }
  return t;
}

NvtxSource::ThreadState* NvtxSource::state() noexcept {
  ThreadState& t = own_thread();
  if (!t.has_asked) {
    t.has_asked = true;
    const auto tid = static_cast<uint64_t>(::syscall(SYS_gettid));
    t.tid = tid;
    t.ring = rings_.claim(tid);
    if (t.ring != nullptr) ::pthread_setspecific(ring_key(), t.ring);
  }
  const uint32_t epoch = epoch_.load(std::memory_order_acquire);
  if (t.epoch != epoch) {  // ranges that were open in an earlier window will not be popped here
    t.epoch = epoch;
    t.depth = 0;
  }
  return &t;
}

void NvtxSource::emit(ThreadState& t, const RangeEvent& event) noexcept {
  if (t.ring == nullptr) return rings_.count_lost();
  bool half = false;
  t.ring->push(event, half);
  if (half) wake_();
}

void NvtxSource::install(FunctionTable table, unsigned count, unsigned slot, void* handler,
                         bool hot) {
  if (table == nullptr || slot >= count || table[slot] == nullptr) return;
  const auto function = reinterpret_cast<FunctionPointer>(handler);
  if (hot) hot_slots_.push_back({table[slot], function});
  const bool on = !hot || recording_ || watching_ || watching_calls_;
  __atomic_store_n(table[slot], on ? function : nullptr, __ATOMIC_RELEASE);
}

int NvtxSource::add_client(GetExportTable get) {
  if (inert_ || get == nullptr) return 0;
  const auto* callbacks = static_cast<const ExportCallbacks*>(get(kExportCallbacks));
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable == nullptr) return 0;
  FunctionTable core = nullptr, core2 = nullptr;
  unsigned core_count = 0, core2_count = 0;
  callbacks->GetModuleFunctionTable(kCore, &core, &core_count);
  callbacks->GetModuleFunctionTable(kCore2, &core2, &core2_count);
  const std::lock_guard lock(clients_mutex_);
  for (const HandlerSlot& h : core_slots()) install(core, core_count, h.slot, h.handler, h.hot);
  for (const HandlerSlot& h : core2_slots()) install(core2, core2_count, h.slot, h.handler, h.hot);
  client_count_.fetch_add(1);
  return 1;
}

int NvtxSource::add_extension(ExtensionModule* module) {
  if (inert_ || module == nullptr || module->module != kPayloadModule) return 0;
  if (module->segment_count == 0 || module->segments == nullptr) return 0;
  const ExtensionSegment& segment = module->segments[0];
  for (const HandlerSlot& h : payload_slots()) {
    if (h.slot < segment.slot_count) segment.slots[h.slot] = reinterpret_cast<intptr_t>(h.handler);
  }
  return 1;
}

void NvtxSource::set_slots(bool on) {
  const std::lock_guard lock(clients_mutex_);
  for (const Slot& s : hot_slots_)
    __atomic_store_n(s.at, on ? s.handler : nullptr, __ATOMIC_RELEASE);
}

void NvtxSource::start() {
  epoch_.fetch_add(1, std::memory_order_acq_rel);
  recording_ = true;
  set_slots(true);
}

void NvtxSource::stop() {
  recording_ = false;
  if ((!watching_ && !watching_calls_) || inert_) set_slots(false);
}

void NvtxSource::become_inert() {
  inert_ = true;
  recording_ = false;
}

void NvtxSource::watch(const std::string& name, std::function<void(uint64_t, int64_t)> begins) {
  watched_begins_ = std::move(begins);
  watched_ = name;
  watching_ = true;
}

void NvtxSource::watch_calls(std::function<void(const NcclCall&, int64_t)> asked) {
  call_asked_ = std::move(asked);
  nccl_domain_ = names_.id_of("NCCL");
  watching_calls_ = true;
}

void NvtxSource::announce_call(uint32_t name, const RangeEvent& payload) noexcept {
  CollectiveRow row;
  if (!collective_of(payload, row) || row.bytes < 0) return;  // of a communicator, not of data
  nvtx_tells_calls_.store(true, std::memory_order_relaxed);
  // Where the range has no name its schema is the operation.
  const NcclCall call{name != 0 ? name : payload.schema, row.communicator, row.bytes,
                      row.peer >= 0};
  call_asked_(call, monotonic_ns());
}

uint32_t NvtxSource::new_name(std::string_view text) noexcept {
  const uint32_t id = names_.id_of(text);
  if (watching_ && id < kWatchedIds && is_repeat_of(watched_, text))
    watched_ids_[id / 64].fetch_or(uint64_t{1} << (id % 64), std::memory_order_relaxed);
  return id;
}

// Entries that NCCL names as it does since 2.14; an offset that is not given follows from the
// sizes of the entries before it.
uint64_t NvtxSource::register_schema(const SchemaAttributes* a) {
  const std::lock_guard lock(schemas_mutex_);
  const bool chosen = a != nullptr && (a->field_mask & kFieldSchemaId) != 0 &&
                      a->schema < kPeerSchema;  // ours are not for clients
  const uint64_t id = chosen ? a->schema : next_schema_++;
  constexpr size_t kMostSchemas = 4096, kMostEntries = 64;
  if (a == nullptr || a->entries == nullptr || schemas_.size() >= kMostSchemas) return id;
  PayloadLayout layout;
  uint64_t natural = 0;
  for (size_t i = 0; i < std::min(a->entry_count, kMostEntries); ++i) {
    const SchemaEntry& e = a->entries[i];
    const uint8_t bytes = bytes_of(e.type);
    if (bytes == 0 || e.array_or_union != 0) break;  // what follows stands at an unknown place
    natural = (natural + bytes - 1) / bytes * bytes;
    const uint64_t offset = e.offset != 0 ? e.offset : natural;
    natural = offset + bytes;
    if (natural > RangeEvent::kMostPayload) break;
    const PayloadLayout::Value value{static_cast<uint32_t>(offset), bytes, is_signed(e.type)};
    if (is(e.name, "NCCL communicator ID")) layout.communicator = value;
    if (is(e.name, "Message size [bytes]")) layout.size = value;
    if (is(e.name, "Root")) layout.root = value;
    if (is(e.name, "Peer rank") || is(e.name, "Peer")) layout.peer = value;
    if (is(e.name, "No. of ranks")) layout.rank_count = value;
    if (is(e.name, "Rank")) layout.rank = value;
  }
  schemas_[id] = layout;
  return id;
}

bool NvtxSource::collective_of(const RangeEvent& event, CollectiveRow& out) const {
  const std::lock_guard lock(schemas_mutex_);
  const auto found = schemas_.find(event.schema);
  if (event.payload_bytes == 0 || found == schemas_.end()) return false;
  bool any = false;
  const auto read = [&](const PayloadLayout::Value& v, auto& to) {
    if (v.bytes == 0 || v.offset + v.bytes > event.payload_bytes) return false;
    uint64_t raw = 0;
    std::memcpy(&raw, event.payload + v.offset, v.bytes);
    const int unused = 64 - 8 * v.bytes;
    const auto extended = static_cast<int64_t>(raw << unused) >> unused;
    to = v.is_signed ? static_cast<std::decay_t<decltype(to)>>(extended)
                     : static_cast<std::decay_t<decltype(to)>>(raw);
    return any = true;
  };
  out.has_communicator = read(found->second.communicator, out.communicator);
  read(found->second.size, out.bytes);
  read(found->second.root, out.root);
  read(found->second.peer, out.peer);
  read(found->second.rank_count, out.rank_count);
  read(found->second.rank, out.rank);
  read(found->second.sequence, out.sequence);
  return any;
}

void NvtxSource::take_ranges(Recording& out) {
  const uint64_t dropped = rings_.drain([&](uint64_t tid, const RangeEvent& e) {
    if (e.begin_ns < keep_from_ns_) return;
    RangeRow row;
    row.begin_ns = e.begin_ns;
    row.end_ns = e.end_ns;
    row.name = e.name;
    row.domain = e.domain;
    row.tid = e.of_another_thread ? 0 : tid;
    row.kind = e.kind;
    CollectiveRow collective;
    out.add(row, collective_of(e, collective) ? &collective : nullptr);
  });
  out.lose(LossSource::ranges_full, dropped);
}

}  // namespace ws::collector
