// Field numbers are those of schemas/recording.proto; the test parses what is written here with the
// classes that protoc makes of that file. Only the encoder of protozero is used: no protobuf
// library comes into the process. Tested by: recording_writer_test.cpp
#include "collector/chunk.h"

#include <protozero/pbf_writer.hpp>

namespace ws::collector {
namespace {

using Writer = protozero::pbf_writer;

// The first column of a table is always written, the others only when they say something.
void put(Writer& w, uint32_t tag, const Column<int64_t>& c, bool always = false) {
  if (always || c.any()) w.add_packed_sint64(tag, c.values().begin(), c.values().end());
}
void put(Writer& w, uint32_t tag, const Column<int32_t>& c) {
  if (c.any()) w.add_packed_sint32(tag, c.values().begin(), c.values().end());
}
void put(Writer& w, uint32_t tag, const Column<uint32_t>& c, bool always = false) {
  if (always || c.any()) w.add_packed_uint32(tag, c.values().begin(), c.values().end());
}
void put(Writer& w, uint32_t tag, const Column<uint64_t>& c) {
  if (c.any()) w.add_packed_uint64(tag, c.values().begin(), c.values().end());
}
void put(Writer& w, const Times& t) {
  put(w, 1, t.begin_delta, true);
  put(w, 2, t.duration);
}

// Wraps: whatever times a record has, the reader's sum gives them back.
int64_t difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
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

void Times::add(int64_t begin_ns, int64_t end_ns, int64_t base_ns) {
  if (begin_delta.size() == 0) last_ns = base_ns;
  begin_delta.add(difference(begin_ns, last_ns));
  duration.add(difference(end_ns, begin_ns));
  last_ns = begin_ns;
}
void Times::clear() {
  begin_delta.clear();
  duration.clear();
}
void Correlations::add(uint32_t correlation) {
  if (delta.size() == 0) last = 0;
  delta.add(static_cast<int32_t>(correlation - last));  // wraps, and the reader wraps back
  last = correlation;
}
void Correlations::clear() { delta.clear(); }

int64_t Chunk::base(int64_t time_ns) {
  ++rows_;
  if (!has_base_) base_ns_ = time_ns;
  has_base_ = true;
  return base_ns_;
}

void Chunk::add(const KernelRow& r) {
  kernels_.times.add(r.begin_ns, r.end_ns, base(r.begin_ns));
  kernels_.shape.add(r.shape);
  kernels_.device.add(r.device);
  kernels_.context.add(r.context);
  kernels_.stream.add(r.stream);
  kernels_.correlation.add(r.correlation);
  kernels_.graph.add(r.graph);
  kernels_.node.add(r.graph_node);
}

void Chunk::add(const CopyRow& r) {
  copies_.times.add(r.begin_ns, r.end_ns, base(r.begin_ns));
  copies_.bytes.add(r.bytes);
  copies_.kind.add(r.kind);
  copies_.source.add(r.source_kind);
  copies_.target.add(r.target_kind);
  copies_.device.add(r.device);
  copies_.context.add(r.context);
  copies_.stream.add(r.stream);
  copies_.correlation.add(r.correlation);
  copies_.graph.add(r.graph);
  copies_.node.add(r.graph_node);
}

void Chunk::add(const FillRow& r) {
  fills_.times.add(r.begin_ns, r.end_ns, base(r.begin_ns));
  fills_.bytes.add(r.bytes);
  fills_.device.add(r.device);
  fills_.context.add(r.context);
  fills_.stream.add(r.stream);
  fills_.correlation.add(r.correlation);
  fills_.graph.add(r.graph);
  fills_.node.add(r.graph_node);
}

void Chunk::add(const GraphRunRow& r) {
  graph_runs_.times.add(r.begin_ns, r.end_ns, base(r.begin_ns));
  graph_runs_.graph.add(r.graph);
  graph_runs_.device.add(r.device);
  graph_runs_.context.add(r.context);
  graph_runs_.stream.add(r.stream);
  graph_runs_.correlation.add(r.correlation);
}

void Chunk::add(const CallRow& r) {
  calls_.times.add(r.begin_ns, r.end_ns, base(r.begin_ns));
  calls_.name.add(r.name);
  calls_.tid.add(r.tid);
  calls_.correlation.add(r.correlation);
}

void Chunk::add(const SyncRow& r) {
  syncs_.times.add(r.begin_ns, r.end_ns, base(r.begin_ns));
  syncs_.kind.add(r.kind);
  syncs_.context.add(r.context);
  syncs_.stream.add(r.stream);
  syncs_.event.add(r.event);
  syncs_.event_sync.add(r.event_sync);
  syncs_.correlation.add(r.correlation);
}

void Chunk::add(const EventRecordRow& r) {
  ++rows_;
  events_.stream.add(r.stream);
  events_.event.add(r.event);
  events_.event_sync.add(r.event_sync);
  events_.correlation.add(r.correlation);
}

void Chunk::add(const OverheadRow& r) {
  overheads_.times.add(r.begin_ns, r.end_ns, base(r.begin_ns));
  overheads_.kind.add(r.kind);
  overheads_.tid.add(r.tid);
}

void Chunk::add(const RangeRow& r, const CollectiveRow* collective) {
  ranges_.times.add(r.begin_ns, r.end_ns, base(r.begin_ns));
  ranges_.name.add(r.name);
  ranges_.domain.add(r.domain);
  ranges_.tid.add(r.tid);
  ranges_.kind.add(static_cast<uint32_t>(r.kind));
  if (collective != nullptr) ranges_.collectives.push_back(*collective);
  ranges_.payload.add(collective == nullptr ? 0
                                            : static_cast<uint32_t>(ranges_.collectives.size()));
}

void Chunk::add(const MemoryRow& r) {
  memory_.times.add(r.time_ns, r.time_ns, base(r.time_ns));
  memory_.bytes.add(r.bytes);
  memory_.device.add(r.device);
}

bool Chunk::empty() const {
  return rows_ == 0 && shapes_.empty() && devices_.empty() && threads_.empty() &&
         windows_.empty() && losses_.empty() && messages_.empty();
}

void Chunk::encode(const Heading& heading, std::string& out) const {
  out.clear();
  encode_heading(heading, out);
  encode_lists(out);
  encode_device_tables(out);
  encode_host_tables(out);
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

void Chunk::encode_device_tables(std::string& out) const {
  Writer chunk{out};
  if (const Kernels& t = kernels_; t.shape.size() != 0) {
    Writer w{chunk, 16};
    put(w, t.times);
    put(w, 3, t.shape);
    put(w, 4, t.device);
    put(w, 5, t.context);
    put(w, 6, t.stream);
    put(w, 7, t.correlation.delta);
    put(w, 8, t.graph);
    put(w, 9, t.node);
  }
  if (const Copies& t = copies_; t.bytes.size() != 0) {
    Writer w{chunk, 17};
    put(w, t.times);
    put(w, 3, t.bytes);
    put(w, 4, t.kind);
    put(w, 5, t.source);
    put(w, 6, t.target);
    put(w, 7, t.device);
    put(w, 8, t.context);
    put(w, 9, t.stream);
    put(w, 10, t.correlation.delta);
    put(w, 11, t.graph);
    put(w, 12, t.node);
  }
  if (const Fills& t = fills_; t.bytes.size() != 0) {
    Writer w{chunk, 18};
    put(w, t.times);
    put(w, 3, t.bytes);
    put(w, 4, t.device);
    put(w, 5, t.context);
    put(w, 6, t.stream);
    put(w, 7, t.correlation.delta);
    put(w, 8, t.graph);
    put(w, 9, t.node);
  }
  if (const GraphRuns& t = graph_runs_; t.graph.size() != 0) {
    Writer w{chunk, 19};
    put(w, t.times);
    put(w, 3, t.graph);
    put(w, 4, t.device);
    put(w, 5, t.context);
    put(w, 6, t.stream);
    put(w, 7, t.correlation.delta);
  }
}

void Chunk::encode_host_tables(std::string& out) const {
  Writer chunk{out};
  if (const Calls& t = calls_; t.name.size() != 0) {
    Writer w{chunk, 20};
    put(w, t.times);
    put(w, 3, t.name);
    put(w, 4, t.tid);
    put(w, 5, t.correlation.delta);
  }
  if (const Syncs& t = syncs_; t.kind.size() != 0) {
    Writer w{chunk, 21};
    put(w, t.times);
    put(w, 3, t.kind);
    put(w, 4, t.context);
    put(w, 5, t.stream);
    put(w, 6, t.event);
    put(w, 7, t.event_sync);
    put(w, 8, t.correlation.delta);
  }
  if (const Events& t = events_; t.stream.size() != 0) {
    Writer w{chunk, 22};
    put(w, 1, t.stream, true);
    put(w, 2, t.event);
    put(w, 3, t.event_sync);
    put(w, 4, t.correlation.delta);
  }
  if (const Overheads& t = overheads_; t.kind.size() != 0) {
    Writer w{chunk, 23};
    put(w, t.times);
    put(w, 3, t.kind);
    put(w, 4, t.tid);
  }
  if (const Ranges& t = ranges_; t.name.size() != 0) {
    Writer w{chunk, 24};
    put(w, t.times);
    put(w, 3, t.name);
    put(w, 4, t.domain);
    put(w, 5, t.tid);
    put(w, 6, t.kind);
    put(w, 7, t.payload);
    for (const CollectiveRow& c : t.collectives) {
      Writer one{w, 8};
      put(one, c);
    }
  }
  if (const Memory& t = memory_; t.device.size() != 0) {
    Writer w{chunk, 25};
    put(w, 1, t.times.begin_delta, true);
    put(w, 2, t.bytes);
    put(w, 3, t.device);
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
  shapes_.clear();
  devices_.clear();
  threads_.clear();
  windows_.clear();
  losses_.clear();
  messages_.clear();
}

void Chunk::clear_rows() {
  const auto clear_all = [](auto&... columns) { (columns.clear(), ...); };
  rows_ = 0;
  has_base_ = false;
  clear_all(kernels_.times, kernels_.shape, kernels_.device, kernels_.context, kernels_.stream,
            kernels_.correlation, kernels_.graph, kernels_.node);
  clear_all(copies_.times, copies_.bytes, copies_.kind, copies_.source, copies_.target,
            copies_.device, copies_.context, copies_.stream, copies_.correlation, copies_.graph,
            copies_.node);
  clear_all(fills_.times, fills_.bytes, fills_.device, fills_.context, fills_.stream,
            fills_.correlation, fills_.graph, fills_.node);
  clear_all(graph_runs_.times, graph_runs_.graph, graph_runs_.device, graph_runs_.context,
            graph_runs_.stream, graph_runs_.correlation);
  clear_all(calls_.times, calls_.name, calls_.tid, calls_.correlation);
  clear_all(syncs_.times, syncs_.kind, syncs_.context, syncs_.stream, syncs_.event,
            syncs_.event_sync, syncs_.correlation);
  clear_all(events_.stream, events_.event, events_.event_sync, events_.correlation);
  clear_all(overheads_.times, overheads_.kind, overheads_.tid);
  clear_all(ranges_.times, ranges_.name, ranges_.domain, ranges_.tid, ranges_.kind, ranges_.payload,
            ranges_.collectives);
  clear_all(memory_.times, memory_.bytes, memory_.device);
}

}  // namespace ws::collector
