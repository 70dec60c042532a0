// Field numbers are those of schemas/recording.proto; the test parses what is written here with the
// classes that protoc makes of that file. Only the encoder of protozero is used: no protobuf
// library comes into the process. Tested by: recording_writer_test.cpp
#include "collector/chunk.h"

#include <protozero/pbf_writer.hpp>

namespace ws::collector {
namespace {

using Writer = protozero::pbf_writer;

constexpr uint32_t kRanges = 24;  // of Chunk; the only table with a list beside its columns

// As sint64 stands on the wire; a sint32 stands there alike.
uint64_t zigzag(int64_t v) {
  return static_cast<uint64_t>(v) << 1 ^ static_cast<uint64_t>(v >> 63);
}

// Wraps: whatever times a record has, the reader's sum gives them back.
uint64_t difference(int64_t a, int64_t b) {
  return zigzag(static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)));
}

template <class Row>
uint64_t length(const Row& r) {
  return difference(r.end_ns, r.begin_ns);
}

// Since the row before; wraps, and the reader wraps back.
template <size_t n>
uint64_t correlation(Table<n>& table, uint32_t correlation) {
  const auto delta = static_cast<int32_t>(correlation - table.last_correlation);
  table.last_correlation = correlation;
  return zigzag(delta);
}

void put(Writer& w, const ProcessRow& p) {
  w.add_string(1, p.recorder_version);
  w.add_bytes(2, p.host);
  w.add_int64(3, p.pid);
  w.add_int64(4, p.start_realtime_ns);
  if (p.rank >= 0) {
    w.add_int32(5, p.rank);
    w.add_bool(6, true);
  }
  w.add_int32(7, p.world_size);
  for (const auto& [name, value] : p.settings) {
    Writer s{w, 8};
    s.add_string(1, name);
    s.add_bytes(2, value);
  }
  for (const std::string& a : p.arguments) w.add_bytes(9, a);
  w.add_uint32(10, p.cupti_version);
  w.add_uint32(11, p.segment);
  w.add_uint64(12, p.rotated_rows);
}

void put(Writer& w, uint32_t id, const ShapeRow& s) {
  w.add_uint32(1, id);
  w.add_uint32(2, s.name);
  w.add_packed_uint32(3, std::begin(s.grid), std::end(s.grid));
  w.add_packed_uint32(4, std::begin(s.block), std::end(s.block));
  w.add_uint32(5, s.static_shared_bytes);
  w.add_uint32(6, s.dynamic_shared_bytes);
  w.add_uint32(7, s.registers);
}

void put(Writer& w, const DeviceRow& d) {
  w.add_uint32(1, d.ordinal);
  w.add_bytes(2, d.name);
  w.add_string(3, d.uuid);
  w.add_uint64(4, d.memory_bytes);
  w.add_uint32(5, d.sm_count);
  w.add_uint32(6, d.compute_major);
  w.add_uint32(7, d.compute_minor);
}

void put(Writer& w, const CollectiveRow& c) {
  if (c.has_communicator) w.add_uint64(1, c.communicator);
  w.add_bool(2, c.has_communicator);
  const int64_t numbers[] = {c.bytes, c.root, c.peer, c.rank_count, c.rank, c.sequence};
  for (uint32_t i = 0; i < 6; ++i) w.add_sint64(3 + i, numbers[i]);
}

}  // namespace

template <size_t n>
uint64_t Chunk::begin(Table<n>& table, int64_t begin_ns) {
  if (!has_base_) base_ns_ = begin_ns;
  has_base_ = true;
  const int64_t before = table.rows() == 0 ? base_ns_ : table.last_ns;
  table.last_ns = begin_ns;
  ++rows_;
  return difference(begin_ns, before);
}

void Chunk::add(const KernelRow& r) {
  auto& t = kernels_;
  t.add({begin(t, r.begin_ns), length(r), r.shape, r.device, r.context, r.stream,
         correlation(t, r.correlation), r.graph, r.graph_node});
}

void Chunk::add(const CopyRow& r) {
  auto& t = copies_;
  t.add({begin(t, r.begin_ns), length(r), r.bytes, r.kind, r.source_kind, r.target_kind, r.device,
         r.context, r.stream, correlation(t, r.correlation), r.graph, r.graph_node});
}

void Chunk::add(const FillRow& r) {
  auto& t = fills_;
  t.add({begin(t, r.begin_ns), length(r), r.bytes, r.device, r.context, r.stream,
         correlation(t, r.correlation), r.graph, r.graph_node});
}

void Chunk::add(const GraphRunRow& r) {
  auto& t = graph_runs_;
  t.add({begin(t, r.begin_ns), length(r), r.graph, r.device, r.context, r.stream,
         correlation(t, r.correlation)});
}

void Chunk::add(const CallRow& r) {
  auto& t = calls_;
  t.add({begin(t, r.begin_ns), length(r), r.name, r.tid, correlation(t, r.correlation)});
}

void Chunk::add(const SyncRow& r) {
  auto& t = syncs_;
  t.add({begin(t, r.begin_ns), length(r), r.kind, r.context, r.stream, r.event, r.event_sync,
         correlation(t, r.correlation)});
}

void Chunk::add(const EventRecordRow& r) {
  auto& t = events_;
  ++rows_;
  t.add({r.stream, r.event, r.event_sync, correlation(t, r.correlation)});
}

void Chunk::add(const OverheadRow& r) {
  auto& t = overheads_;
  t.add({begin(t, r.begin_ns), length(r), r.kind, r.tid});
}

void Chunk::add(const RangeRow& r, const CollectiveRow* collective) {
  auto& t = ranges_;
  if (collective != nullptr) collectives_.push_back(*collective);
  t.add({begin(t, r.begin_ns), length(r), r.name, r.domain, r.tid, static_cast<uint64_t>(r.kind),
         collective == nullptr ? 0 : collectives_.size()});
}

void Chunk::add(const MemoryRow& r) {
  auto& t = memory_;
  t.add({begin(t, r.time_ns), zigzag(r.bytes), r.device});
}

void Chunk::add(const StepRow& r) {
  auto& t = steps_;
  t.add({begin(t, r.begin_ns), length(r), r.recorded ? uint64_t{1} : 0});
}

bool Chunk::empty() const {
  return rows_ == 0 && shapes_.empty() && devices_.empty() && threads_.empty() &&
         windows_.empty() && losses_.empty() && messages_.empty();
}

template <class Self, class Visit>
void Chunk::each_table(Self& self, Visit visit) {
  visit(16, self.kernels_);
  visit(17, self.copies_);
  visit(18, self.fills_);
  visit(19, self.graph_runs_);
  visit(20, self.calls_);
  visit(21, self.syncs_);
  visit(22, self.events_);
  visit(23, self.overheads_);
  visit(kRanges, self.ranges_);
  visit(25, self.memory_);
  visit(26, self.steps_);
}

void Chunk::encode(const Heading& heading, std::string& out) const {
  out.clear();
  encode_heading(heading, out);
  encode_lists(out);
  each_table(*this, [&](uint32_t field, const auto& table) {
    if (table.rows() == 0) return;
    Writer chunk{out};
    Writer w{chunk, field};
    for (uint32_t i = 0; i < table.columns(); ++i) {
      const std::vector<uint64_t>& c = table.column(i);
      if (table.says(i)) w.add_packed_uint64(i + 1, c.begin(), c.end());
    }
    if (field != kRanges) return;
    for (const CollectiveRow& c : collectives_) {
      Writer one{w, table.columns() + 1};
      put(one, c);
    }
  });
  if (heading.footer == nullptr) return;
  Writer chunk{out};
  Writer w{chunk, 31};
  w.add_uint64(1, heading.footer->rows);
  w.add_uint64(2, heading.footer->writer_cpu_ns);
  w.add_uint64(3, heading.footer->open_ranges);
}

void Chunk::encode_heading(const Heading& heading, std::string& out) const {
  Writer chunk{out};
  if (heading.process != nullptr) {
    Writer w{chunk, 1};
    put(w, *heading.process);
  }
  {
    Writer w{chunk, 2};
    w.add_int64(1, heading.clock.monotonic_ns);
    w.add_int64(2, heading.clock.realtime_ns);
    w.add_int64(3, heading.clock.boottime_ns);
    w.add_uint64(4, heading.clock.ticks);
  }
  chunk.add_sint64(3, base_ns_);
  if (!heading.names.empty()) {
    Writer w{chunk, 4};
    w.add_uint32(1, heading.first_name);
    for (std::string_view text : heading.names) w.add_bytes(2, text.data(), text.size());
  }
}

void Chunk::encode_lists(std::string& out) const {
  Writer chunk{out};
  for (const auto& [id, shape] : shapes_) {
    Writer w{chunk, 5};
    put(w, id, shape);
  }
  for (const DeviceRow& d : devices_) {
    Writer w{chunk, 6};
    put(w, d);
  }
  for (const ThreadRow& t : threads_) {
    Writer w{chunk, 7};
    w.add_uint64(1, t.tid);
    w.add_uint32(2, t.name);
  }
  for (const WindowRow& r : windows_) {
    Writer w{chunk, 8};
    w.add_int64(1, r.armed_ns);
    w.add_int64(2, r.disarmed_ns);
    w.add_int64(3, r.steady_from_ns);
    w.add_enum(4, static_cast<int32_t>(r.tier));
  }
  for (const LossRow& r : losses_) {
    Writer w{chunk, 9};
    w.add_enum(1, static_cast<int32_t>(r.source));
    w.add_uint64(2, r.count);
    w.add_int64(3, r.from_ns);
    w.add_int64(4, r.to_ns);
  }
  for (const MessageRow& r : messages_) {
    Writer w{chunk, 10};
    w.add_enum(1, static_cast<int32_t>(r.topic));
    w.add_bytes(2, r.text);
  }
}

void Chunk::add(const LossRow& r) {
  for (LossRow& known : losses_) {
    if (known.source != r.source) continue;
    known.count += r.count;
    known.to_ns = r.to_ns;
    return;
  }
  losses_.push_back(r);
}

void Chunk::clear() {
  clear_rows();
  clear_known();
  threads_.clear();
  windows_.clear();
  losses_.clear();
}

void Chunk::clear_rows() {
  rows_ = 0;
  has_base_ = false;
  each_table(*this, [](uint32_t, auto& table) { table.clear(); });
  collectives_.clear();
}

void Chunk::clear_known() {
  shapes_.clear();
  devices_.clear();
  messages_.clear();
}

}  // namespace ws::collector
