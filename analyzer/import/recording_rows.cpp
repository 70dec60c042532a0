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
  add_device_records(c, place);
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

bool Rows::accepts(TimeNs begin_ns, TimeNs end_ns, int64_t device, const Place& place) {
  const bool in_time = nsys::plausible(begin_ns, end_ns);
  if (in_time && device >= 0 && device < kMostDevices) return true;
  Notes& notes = builder.trace.notes;
  const NoteCode why = in_time ? NoteCode::bad_event : NoteCode::time_out_of_range;
  notes.add(why, notes.wants_place(why) ? place.text() : std::string());
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

// take(row) for every row of a table that can be used, in order. correlation, device: their
// columns, 0 where the table has none.
template <class Take>
void Rows::each_row(const Chunk& c, TableField field, uint32_t correlation, uint32_t device,
                    const Place& place, Take take) {
  const Table& table = c.table(field);
  Sum begin(c.base_ns);
  uint32_t sum = 0;
  for (size_t i = 0; i < table.rows; ++i) {
    Row row{table, i};
    row.begin_ns = begin.add(table.at(1, i));
    row.end_ns = Sum(row.begin_ns).add(table.at(2, i));
    if (correlation != 0) sum += static_cast<uint32_t>(table.at(correlation, i));
    row.correlation = sum == 0 ? kNoCorrelation : sum;  // CUPTI counts from 1
    if (accepts(row.begin_ns, row.end_ns, device == 0 ? 0 : row[device], place)) take(row);
  }
}

// A device record; behind its device stand context, stream, correlation and, where `in_graph`,
// graph and node.
OpRow Rows::device_record(const Row& row, uint32_t device, bool in_graph) {
  OpRow op;
  op.begin_ns = row.begin_ns;
  op.end_ns = row.end_ns;
  op.stream = stream(row[device], row[device + 1], row[device + 2]);
  op.correlation = row.correlation;
  if (!in_graph) return op;
  op.graph = graph_of(row[device + 4], row[device + 5], row.correlation);
  op.node = static_cast<uint64_t>(row[device + 5]);
  return op;
}

void Rows::add_device_records(const Chunk& c, Place& place) {
  constexpr uint32_t kDevice = 4, kDeviceOfCopy = 7, kToCorrelation = 3;
  constexpr int64_t kPageable = 1, kPinned = 2;  // CUPTI_ACTIVITY_MEMORY_KIND_*
  each_row(c, kKernels, kDevice + kToCorrelation, kDevice, place, [&](const Row& row) {
    OpRow op = device_record(row, kDevice, true);
    op.name = kernel_name(row[3]);
    builder.add(op, place);
  });
  each_row(c, kCopies, kDeviceOfCopy + kToCorrelation, kDeviceOfCopy, place, [&](const Row& row) {
    OpRow op = device_record(row, kDeviceOfCopy, true);
    op.kind = copy_kind(row[4]);
    const bool pageable = row[5] == kPageable || row[6] == kPageable;
    const bool pinned = !pageable && (row[5] == kPinned || row[6] == kPinned);
    op.copy = builder.add_copy({std::max<int64_t>(0, row[3]), pageable, pinned});
    builder.add(op, place);
  });
  each_row(c, kFills, kDevice + kToCorrelation, kDevice, place, [&](const Row& row) {
    OpRow op = device_record(row, kDevice, true);
    op.kind = OpKind::memset;
    builder.add(op, place);
  });
  each_row(c, kGraphRuns, kDevice + kToCorrelation, kDevice, place, [&](const Row& row) {
    OpRow op = device_record(row, kDevice, false);
    op.kind = OpKind::graph;
    op.graph = std::max<uint32_t>(1, static_cast<uint32_t>(row[3]));
    op.name = builder.intern(fmt::format("CUDA graph {}", op.graph));
    if (builder.add(op, place)) builder.trace.graphs_as_a_whole = true;
  });
}

void Rows::add_calls(const Chunk& c, Place& place) {
  each_row(c, kCalls, 5, 0, place, [&](const Row& row) {
    CallRow call;
    call.begin_ns = row.begin_ns;
    call.end_ns = row.end_ns;
    call.name = name(Use::call, row[3]);
    call.thread = builder.thread(process_, row[4]);
    call.correlation = row.correlation;
    builder.add(call, place);
  });
}

void Rows::add_syncs(const Chunk& c, Place& place) {
  each_row(c, kSyncs, 8, 0, place, [&](const Row& row) {
    if (row.end_ns < row.begin_ns) return;
    SyncRecord sync;
    sync.kind = sync_kind(row[3]);
    sync.stream = number_or_none(row[5]);
    sync.event_id = number_or_none(row[6]);
    sync.sync_id = row[7] == 0 ? -1 : row[7];
    builder.add_sync(sync, process_, row.correlation);
  });
}

void Rows::add_event_records(const Chunk& c) {
  const Table& t = c.table(kEventRecords);
  uint32_t correlation = 0;
  for (size_t i = 0; i < t.rows; ++i) {
    EventRecord record;
    record.stream = number_or_none(t.at(1, i));
    record.event_id = number_or_none(t.at(2, i));
    record.sync_id = t.at(3, i) == 0 ? -1 : t.at(3, i);
    correlation += static_cast<uint32_t>(t.at(4, i));
    builder.add_event_record(record, process_, correlation == 0 ? kNoCorrelation : correlation);
  }
}

void Rows::add_overheads(const Chunk& c, Place& place) {
  each_row(c, kOverheads, 0, 0, place, [&](const Row& row) {
    RangeRow range;
    range.begin_ns = row.begin_ns;
    range.end_ns = row.end_ns;
    range.name = builder.intern(overhead_name(row[3]));
    range.source = RangeSource::overhead;
    range.thread = builder.thread(process_, row[4] == 0 ? -1 : row[4]);
    if (builder.add(range, place) && row.end_ns > row.begin_ns)
      overhead_ns_ = std::min(kMostOverhead, overhead_ns_ + (row.end_ns - row.begin_ns));
  });
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
  each_row(c, kRanges, 0, 0, place, [&](const Row& row) {
    RangeRow range;
    range.begin_ns = row.begin_ns;
    range.end_ns = row.end_ns;
    range.name = name(Use::range, row[3]);
    const int64_t kind = row[6];
    range.source = kind == kMark       ? RangeSource::mark
                   : kind == kStartEnd ? RangeSource::nvtx_start_end
                                       : RangeSource::nvtx;
    if (row[5] != 0) range.thread = builder.thread(process_, row[5]);
    if (const auto found = names_.find(static_cast<uint64_t>(row[3])); found != names_.end())
      range.sequence = nsys::split_range_text(found->second.text).sequence;
    const std::string_view text = builder.trace.strings[range.name];
    if (kind != kMark && nsys::is_nccl_range(text, row[4]))
      range.collective = add_collective(c, static_cast<size_t>(row[7]), text);
    builder.add(range, place);
  });
}

void Rows::add_memory(const Chunk& c, Place& place) {
  const Table& t = c.table(kMemoryChanges);
  Sum time(c.base_ns);
  for (size_t i = 0; i < t.rows; ++i) {
    const TimeNs at = time.add(t.at(1, i));
    if (!accepts(at, at, t.at(3, i), place)) continue;
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
