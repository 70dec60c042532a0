// Times of a table are sums of deltas; they are added as unsigned numbers, since a damaged or
// hostile file may hold any, and checked before they are used. Tested by: recording_test.cpp
#include "import/recording_rows.h"

#include <fmt/format.h>

#include "base/text.h"
#include "import/nsys_nccl.h"
#include "import/nsys_ranks.h"

namespace ws::recording {
namespace {

constexpr TimeNs kMostOverhead = TimeNs{1} << 52;
constexpr int64_t kMostDevices = 1024, kNoNumber = 0xffffffff;

// A running sum that wraps instead of overflowing.
class Sum {
 public:
  explicit Sum(int64_t from = 0) : value_(static_cast<uint64_t>(from)) {}
  int64_t add(int64_t delta) {
    value_ += static_cast<uint64_t>(delta);
    return static_cast<int64_t>(value_);
  }

 private:
  uint64_t value_;
};

class TimeColumn {
 public:
  TimeColumn(const Table& table, int64_t base_ns) : table_(table), sum_(base_ns) {}
  template <class Times>
  Times next() {
    const int64_t begin = sum_.add(table_.at(1, row_));
    return {begin, Sum(begin).add(table_.at(2, row_++))};
  }

 private:
  const Table& table_;
  Sum sum_;
  size_t row_ = 0;
};

class CorrelationColumn {
 public:
  CorrelationColumn(const Table& table, uint32_t field) : table_(table), field_(field) {}
  uint32_t next() {
    sum_ += static_cast<uint32_t>(table_.at(field_, row_++));
    return sum_ == 0 ? kNoCorrelation : sum_;  // CUPTI counts from 1
  }

 private:
  const Table& table_;
  uint32_t field_, sum_ = 0;
  size_t row_ = 0;
};

OpKind copy_kind(int64_t kind) {
  switch (kind) {  // CUpti_ActivityMemcpyKind
    case 1:
    case 3:
      return OpKind::h2d;
    case 2:
    case 4:
      return OpKind::d2h;
    case 10:
      return OpKind::p2p;
    default:
      return OpKind::d2d;
  }
}

SyncKind sync_kind(int64_t kind) {
  return kind >= 1 && kind <= 4 ? static_cast<SyncKind>(kind) : SyncKind::unknown;
}
static_assert(static_cast<int>(SyncKind::event) == 1 && static_cast<int>(SyncKind::context) == 4,
              "as CUpti_ActivitySynchronizationType");

std::string_view overhead_name(int64_t kind) {
  switch (kind) {  // CUpti_ActivityOverheadKind
    case 1:
      return "driver jit";
    case 1 << 16:
      return "cupti buffer flush";
    case 2 << 16:
      return "instrumentation";
    case 3 << 16:
      return "cupti resource";
    case 4 << 16:
      return "module loading";
    case 5 << 16:
      return "lazy function loading";
    case 6 << 16:
      return "command buffer full";
    case 7 << 16:
      return "activity buffer request";
    default:
      return "profiler overhead";
  }
}

int64_t number_or_none(int64_t v) { return v == kNoNumber ? -1 : v; }

}  // namespace

void Rows::add(const Chunk& c, int64_t frame) {
  uint64_t id = c.first_name;
  for (const std::string& text : c.names) names_.try_emplace(id++).first->second.text = text;
  for (const Shape& s : c.shapes) shapes_[s.id] = s.name;
  for (const DeviceInfo& d : c.devices) {
    if (d.ordinal < static_cast<uint64_t>(kMostDevices))
      devices_[static_cast<int64_t>(d.ordinal)] = d;
  }
  Place place{"frame", frame};
  add_kernels(c, place);
  add_copies(c, place);
  add_fills(c, place);
  add_graph_runs(c, place);
  add_calls(c, place);
  add_syncs(c, place);
  add_event_records(c);
  add_overheads(c, place);
  add_ranges(c, place);
  add_memory(c, place);
}

StringId Rows::name(Use use, int64_t id) {
  if (id == 0) return StringId{};
  const auto found = names_.find(static_cast<uint64_t>(id));
  if (found == names_.end()) {
    builder.trace.notes.add(NoteCode::unknown_string);
    return builder.intern(fmt::format("unknown #{}", static_cast<uint64_t>(id)));
  }
  Name& n = found->second;
  const auto u = static_cast<size_t>(use);
  if (n.known[u]) return n.interned[u];
  std::string_view kept = n.text;
  if (use == Use::call) kept = nsys::without_abi_suffix(kept);
  if (use == Use::range) kept = nsys::split_range_text(kept).name;
  int64_t repaired = 0;
  n.interned[u] = builder.intern(to_utf8(kept, &repaired));
  if (repaired > 0) builder.trace.notes.add(NoteCode::repaired_string);
  n.known[u] = true;
  return n.interned[u];
}

StringId Rows::kernel_name(int64_t shape) {
  const auto found = shapes_.find(static_cast<uint64_t>(shape));
  if (found != shapes_.end()) return name(Use::device_record, static_cast<int64_t>(found->second));
  if (shape == 0) return StringId{};
  builder.trace.notes.add(NoteCode::unknown_string);
  return builder.intern(fmt::format("unknown shape #{}", static_cast<uint64_t>(shape)));
}

bool Rows::accepts(const Times& t, int64_t device, const Place& place) {
  if (nsys::plausible(t.begin_ns, t.end_ns) && device >= 0 && device < kMostDevices) return true;
  Notes& notes = builder.trace.notes;
  notes.add(NoteCode::bad_event,
            notes.wants_place(NoteCode::bad_event) ? place.text() : std::string());
  return false;
}

StreamId Rows::stream(int64_t device, int64_t context, int64_t number) {
  auto& last = last_stream_;
  if (last.device != device || last.context != context || last.number != number) {
    last = {
        device, context, number,
        builder.stream(process_, builder.device(static_cast<int32_t>(device)), context, number)};
  }
  return last.id;
}

// All nodes of one launch carry one id, that of the first seen: child graphs have ids of their own.
uint32_t Rows::graph_of(int64_t graph, int64_t node, uint32_t correlation) {
  if (graph == 0 && node == 0) return 0;
  const uint32_t own = graph == 0 ? 1 : static_cast<uint32_t>(graph);
  if (correlation == kNoCorrelation) return own;
  return graphs_.try_emplace(correlation, own).first->second;
}

void Rows::add_kernels(const Chunk& c, Place& place) {
  const Table& t = c.table(kKernels);
  TimeColumn times(t, c.base_ns);
  CorrelationColumn correlations(t, 7);
  for (size_t i = 0; i < t.rows; ++i) {
    const Times at = times.next<Times>();
    const uint32_t correlation = correlations.next();
    if (!accepts(at, t.at(4, i), place)) continue;
    OpRow op;
    op.begin_ns = at.begin_ns;
    op.end_ns = at.end_ns;
    op.name = kernel_name(t.at(3, i));
    op.stream = stream(t.at(4, i), t.at(5, i), t.at(6, i));
    op.correlation = correlation;
    op.graph = graph_of(t.at(8, i), t.at(9, i), correlation);
    op.node = static_cast<uint64_t>(t.at(9, i));
    builder.add(op, place);
  }
}

void Rows::add_copies(const Chunk& c, Place& place) {
  constexpr int64_t kPageable = 1;  // CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE
  const Table& t = c.table(kCopies);
  TimeColumn times(t, c.base_ns);
  CorrelationColumn correlations(t, 10);
  for (size_t i = 0; i < t.rows; ++i) {
    const Times at = times.next<Times>();
    const uint32_t correlation = correlations.next();
    if (!accepts(at, t.at(7, i), place)) continue;
    OpRow op;
    op.begin_ns = at.begin_ns;
    op.end_ns = at.end_ns;
    op.kind = copy_kind(t.at(4, i));
    op.stream = stream(t.at(7, i), t.at(8, i), t.at(9, i));
    op.correlation = correlation;
    op.graph = graph_of(t.at(11, i), t.at(12, i), correlation);
    op.node = static_cast<uint64_t>(t.at(12, i));
    const bool pageable = t.at(5, i) == kPageable || t.at(6, i) == kPageable;
    op.copy = builder.add_copy({std::max<int64_t>(0, t.at(3, i)), pageable});
    builder.add(op, place);
  }
}

void Rows::add_fills(const Chunk& c, Place& place) {
  const Table& t = c.table(kFills);
  TimeColumn times(t, c.base_ns);
  CorrelationColumn correlations(t, 7);
  for (size_t i = 0; i < t.rows; ++i) {
    const Times at = times.next<Times>();
    const uint32_t correlation = correlations.next();
    if (!accepts(at, t.at(4, i), place)) continue;
    OpRow op;
    op.begin_ns = at.begin_ns;
    op.end_ns = at.end_ns;
    op.kind = OpKind::memset;
    op.stream = stream(t.at(4, i), t.at(5, i), t.at(6, i));
    op.correlation = correlation;
    op.graph = graph_of(t.at(8, i), t.at(9, i), correlation);
    op.node = static_cast<uint64_t>(t.at(9, i));
    builder.add(op, place);
  }
}

void Rows::add_graph_runs(const Chunk& c, Place& place) {
  const Table& t = c.table(kGraphRuns);
  TimeColumn times(t, c.base_ns);
  CorrelationColumn correlations(t, 7);
  for (size_t i = 0; i < t.rows; ++i) {
    const Times at = times.next<Times>();
    const uint32_t correlation = correlations.next();
    if (!accepts(at, t.at(4, i), place)) continue;
    OpRow op;
    op.begin_ns = at.begin_ns;
    op.end_ns = at.end_ns;
    op.kind = OpKind::graph;
    op.graph = std::max<uint32_t>(1, static_cast<uint32_t>(t.at(3, i)));
    op.name = builder.intern(fmt::format("CUDA graph {}", op.graph));
    op.stream = stream(t.at(4, i), t.at(5, i), t.at(6, i));
    op.correlation = correlation;
    if (builder.add(op, place)) builder.trace.graphs_as_a_whole = true;
  }
}

void Rows::add_calls(const Chunk& c, Place& place) {
  const Table& t = c.table(kCalls);
  TimeColumn times(t, c.base_ns);
  CorrelationColumn correlations(t, 5);
  for (size_t i = 0; i < t.rows; ++i) {
    const Times at = times.next<Times>();
    const uint32_t correlation = correlations.next();
    if (!accepts(at, 0, place)) continue;
    CallRow call;
    call.begin_ns = at.begin_ns;
    call.end_ns = at.end_ns;
    call.name = name(Use::call, t.at(3, i));
    call.thread = builder.thread(process_, t.at(4, i));
    call.correlation = correlation;
    builder.add(call, place);
  }
}

void Rows::add_syncs(const Chunk& c, Place& place) {
  const Table& t = c.table(kSyncs);
  TimeColumn times(t, c.base_ns);
  CorrelationColumn correlations(t, 8);
  for (size_t i = 0; i < t.rows; ++i) {
    const Times at = times.next<Times>();
    const uint32_t correlation = correlations.next();
    if (!accepts(at, 0, place) || at.end_ns < at.begin_ns) continue;
    SyncRecord sync;
    sync.kind = sync_kind(t.at(3, i));
    sync.stream = number_or_none(t.at(5, i));
    sync.event_id = number_or_none(t.at(6, i));
    sync.sync_id = t.at(7, i) == 0 ? -1 : t.at(7, i);
    builder.add_sync(sync, process_, correlation);
  }
}

void Rows::add_event_records(const Chunk& c) {
  const Table& t = c.table(kEventRecords);
  CorrelationColumn correlations(t, 4);
  for (size_t i = 0; i < t.rows; ++i) {
    EventRecord record;
    record.stream = number_or_none(t.at(1, i));
    record.event_id = number_or_none(t.at(2, i));
    record.sync_id = t.at(3, i) == 0 ? -1 : t.at(3, i);
    builder.add_event_record(record, process_, correlations.next());
  }
}

void Rows::add_overheads(const Chunk& c, Place& place) {
  const Table& t = c.table(kOverheads);
  TimeColumn times(t, c.base_ns);
  for (size_t i = 0; i < t.rows; ++i) {
    const Times at = times.next<Times>();
    if (!accepts(at, 0, place)) continue;
    RangeRow range;
    range.begin_ns = at.begin_ns;
    range.end_ns = at.end_ns;
    range.name = builder.intern(overhead_name(t.at(3, i)));
    range.source = RangeSource::overhead;
    range.thread = builder.thread(process_, t.at(4, i) == 0 ? -1 : t.at(4, i));
    if (builder.add(range, place) && at.end_ns > at.begin_ns)
      overhead_ns_ = std::min(kMostOverhead, overhead_ns_ + (at.end_ns - at.begin_ns));
  }
}

uint32_t Rows::add_collective(const Chunk& c, size_t row, std::string_view call) {
  CollectiveInfo info;
  info.name = builder.intern(call);
  if (row > 0 && row <= c.collectives.size()) {
    const Collective& said = c.collectives[row - 1];
    const std::string id = said.has_communicator ? std::to_string(said.communicator) : "";
    info.group_name = builder.intern(id);
    info.bytes = std::max<int64_t>(-1, said.bytes);
    info.root = said.root;
    info.peer = said.peer;
    info.sequence = said.sequence;
    info.group_size = said.rank_count;
    if (said.rank_count > 0 && !id.empty()) group_sizes_[id] = said.rank_count;
  }
  return builder.add_collective(info);
}

void Rows::add_ranges(const Chunk& c, Place& place) {
  constexpr int64_t kStartEnd = 1, kMark = 2;
  const Table& t = c.table(kRanges);
  TimeColumn times(t, c.base_ns);
  for (size_t i = 0; i < t.rows; ++i) {
    const Times at = times.next<Times>();
    if (!accepts(at, 0, place)) continue;
    RangeRow range;
    range.begin_ns = at.begin_ns;
    range.end_ns = at.end_ns;
    range.name = name(Use::range, t.at(3, i));
    const int64_t kind = t.at(6, i);
    range.source = kind == kMark       ? RangeSource::mark
                   : kind == kStartEnd ? RangeSource::nvtx_start_end
                                       : RangeSource::nvtx;
    if (t.at(5, i) != 0) range.thread = builder.thread(process_, t.at(5, i));
    if (const auto found = names_.find(static_cast<uint64_t>(t.at(3, i))); found != names_.end())
      range.sequence = nsys::split_range_text(found->second.text).sequence;
    const std::string_view text = builder.trace.strings[range.name];
    if (kind != kMark && nsys::is_nccl_range(text, t.at(4, i)))
      range.collective = add_collective(c, static_cast<size_t>(t.at(7, i)), text);
    builder.add(range, place);
  }
}

void Rows::add_memory(const Chunk& c, Place& place) {
  const Table& t = c.table(kMemoryChanges);
  Sum time(c.base_ns);
  for (size_t i = 0; i < t.rows; ++i) {
    const TimeNs at = time.add(t.at(1, i));
    if (!accepts({at, at}, t.at(3, i), place)) continue;
    MemoryEvent event;
    event.time_ns = at;
    event.delta_bytes = t.at(2, i);
    event.device = builder.device(static_cast<int32_t>(t.at(3, i)));
    builder.trace.memory.push_back(event);
  }
}

void Rows::finish() {
  Trace& trace = builder.trace;
  for (CollectiveInfo& info : trace.collectives) {
    const auto size = group_sizes_.find(trace.strings[info.group_name]);
    if (size != group_sizes_.end()) info.group_size = size->second;
  }
  for (Device& d : trace.devices) {
    const auto said = devices_.find(d.ordinal);
    if (said == devices_.end()) continue;
    const DeviceInfo& info = said->second;
    constexpr uint64_t kMost = 1'000'000;
    d.name = one_line(to_utf8(info.name));
    d.uuid = one_line(to_utf8(info.uuid));
    d.memory_bytes = static_cast<int64_t>(std::min<uint64_t>(info.memory_bytes, INT64_MAX));
    d.sm_count = static_cast<int32_t>(std::min(info.sm_count, kMost));
    d.compute_major = static_cast<int32_t>(std::min(info.compute_major, kMost));
    d.compute_minor = static_cast<int32_t>(std::min(info.compute_minor, kMost));
  }
}

}  // namespace ws::recording
