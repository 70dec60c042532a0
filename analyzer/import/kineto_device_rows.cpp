// With one host process in the file all device rows are its own. With several, a row belongs to
// the process that made the call of its correlation id.
//
// Kernels of a graph share the correlation of the graph launch. Newer files name the graph; for
// older ones every launch counts as a graph of its own.
// Tested by: kineto_test.cpp
#include "import/kineto_device_rows.h"

#include <algorithm>
#include <limits>

#include "base/memory.h"
#include "import/kineto_text.h"

namespace ws::kineto {
namespace {

constexpr int64_t kAllStreams = 4294967295;  // how some files write "no stream"

int64_t number_or(const Token& token, int64_t fallback) {
  return whole_number(token).value_or(fallback);
}

int32_t ordinal_of(const Token& token, std::optional<int64_t> pid) {
  const int64_t n = whole_number(token).value_or(pid.value_or(0));
  return n >= 0 && n <= std::numeric_limits<int32_t>::max() ? static_cast<int32_t>(n) : 0;
}

uint64_t launch_key(ProcessId process, uint32_t correlation) {
  return (static_cast<uint64_t>(process) << 32) | correlation;
}

// "[0, 1]" -> "0,1"; empty when it is not the whole list.
std::string members_of(const Event& event, int64_t group_size) {
  const auto ranks = number_list(event[Arg::group_ranks].text());
  if (!ranks || ranks->empty()) return {};
  if (group_size >= 0 && static_cast<int64_t>(ranks->size()) != group_size) return {};
  std::string out;
  for (int64_t r : *ranks) out += (out.empty() ? "" : ",") + std::to_string(r);
  return out;
}

}  // namespace

uint32_t correlation_of(const Event& event) {
  const auto n = whole_number(event[Arg::correlation]);
  return n && *n >= 0 && *n < kNoCorrelation ? static_cast<uint32_t>(*n) : kNoCorrelation;
}

uint32_t add_collective(const Event& event, TraceBuilder& builder) {
  const Token& name = event[Arg::collective_name];
  if (name.kind != Token::Kind::string || name.text() == "wait") return kNoRow;
  const auto text = [&](Arg arg) {
    const Token& t = event[arg];
    const bool usable = t.kind == Token::Kind::string || t.kind == Token::Kind::word;
    return usable ? builder.intern(unescaped(t)) : StringId{};
  };
  CollectiveInfo info;
  info.name = text(Arg::collective_name);
  info.group_name = text(Arg::group_name);
  info.group_desc = text(Arg::group_description);
  info.dtype = text(Arg::dtype);
  info.group_size = number_or(event[Arg::group_size], -1);
  info.members = builder.intern(members_of(event, info.group_size));
  info.in_elements = number_or(event[Arg::in_elements], -1);
  info.out_elements = number_or(event[Arg::out_elements], -1);
  info.sequence = number_or(event[Arg::seq], -1);
  info.root = number_or(event[Arg::root_rank], -1);
  const bool receives = name.text().find("recv") != std::string_view::npos;
  info.peer = number_or(event[receives ? Arg::src_rank : Arg::dst_rank], -1);
  return builder.add_collective(info);
}

uint32_t DeviceRows::row_of(const Where& where) {
  if (last_where_ < wheres_.size() && wheres_[last_where_] == where) return last_where_;
  const auto [it, fresh] = where_rows_.try_emplace(where, static_cast<uint32_t>(wheres_.size()));
  if (fresh) wheres_.push_back(where);
  return last_where_ = it->second;
}

void DeviceRows::add_op(const Event& event, Category category, const Interval& span, StringId name,
                        const Ids& ids, TraceBuilder& builder) {
  OpRow op;
  op.begin_ns = span.begin_ns, op.end_ns = span.end_ns, op.name = name;
  op.kind = category == Category::memset ? OpKind::memset : OpKind::kernel;
  if (category == Category::copy) {
    const auto name_of_copy = event[Field::name].text();
    op.kind = copy_kind(name_of_copy, event[Arg::kind].text());
    op.copy = builder.add_copy({std::max<int64_t>(number_or(event[Arg::bytes], 0), 0),
                                is_pageable(name_of_copy), is_pinned(name_of_copy)});
  }
  op.correlation = correlation_of(event);
  if (event.has(Arg::collective_name)) op.collective = add_collective(event, builder);
  const int64_t node = number_or(event[Arg::graph_node_id], 0);
  const int64_t graph = number_or(event[Arg::graph_id], 0);
  op.node = static_cast<uint64_t>(node);
  if (graph != 0 || node != 0) {  // without an id of the graph its launch has to do
    op.graph = static_cast<uint32_t>(graph != 0 ? graph : int64_t{op.correlation});
  }
  const Where where{ordinal_of(event[Arg::device], ids.pid), number_or(event[Arg::context], 0),
                    whole_number(event[Arg::stream]).value_or(ids.tid.value_or(0))};
  op.stream = StreamId{row_of(where)};
  ops_.push_back(op);
}

void DeviceRows::add_sync(const Event& event) {
  Sync sync;
  const Token& kind = event[Arg::sync_kind];
  sync.row.kind =
      sync_kind(kind.kind == Token::Kind::string ? kind.text() : event[Field::name].text());
  const int64_t stream = number_or(event[Arg::stream], -1);
  sync.row.stream = stream == kAllStreams ? -1 : stream;
  sync.row.event_id = number_or(event[Arg::wait_on_event], -1);
  sync.correlation = correlation_of(event);
  sync.record_stream = number_or(event[Arg::wait_on_stream], -1);
  sync.record_correlation = number_or(event[Arg::wait_on_record], -1);
  sync.row.sync_id = sync.record_correlation;
  syncs_.push_back(sync);
}

// Device type 0 is the host's own memory.
void DeviceRows::add_memory(const Event& event, TimeNs time_ns) {
  const int64_t device = number_or(event[Arg::memory_device], -1);
  const auto bytes = whole_number(event[Arg::memory_bytes]);
  if (!bytes || device < 0 || device > std::numeric_limits<int32_t>::max()) return;
  if (number_or(event[Arg::memory_device_type], 0) == 0) return;
  Memory m;
  m.row.time_ns = time_ns;
  m.row.delta_bytes = *bytes;
  m.row.allocated_bytes = number_or(event[Arg::total_allocated], -1);
  m.row.reserved_bytes = number_or(event[Arg::total_reserved], -1);
  m.device = static_cast<int32_t>(device);
  memory_.push_back(m);
}

void DeviceRows::add_call(uint32_t correlation, ProcessId process, bool graph_launch) {
  if (callers_.empty() || (callers_.back() != process && std::find(callers_.begin(), callers_.end(),
                                                                   process) == callers_.end())) {
    callers_.push_back(process);
  }
  if (correlation == kNoCorrelation) return;
  calls_.push_back({correlation, process});
  if (graph_launch) graph_launches_.push_back({correlation, process});
}

void DeviceRows::prepare_processes(ProcessId host) {
  host_ = host;
  if (callers_.size() > 1) {
    for (const CallKey& c : calls_) process_of_correlation_.try_emplace(c.correlation, c.process);
  }
  drop(calls_);
  for (const CallKey& c : graph_launches_) {
    graph_of_launch_.try_emplace(launch_key(c.process, c.correlation),
                                 std::max<uint32_t>(c.correlation, 1));
  }
}

ProcessId DeviceRows::process_of(uint32_t correlation) const {
  const auto it = process_of_correlation_.find(correlation);
  return it == process_of_correlation_.end() ? host_ : it->second;
}

uint32_t DeviceRows::graph_of(const OpRow& op, ProcessId process) const {
  if (op.graph != 0 || graph_of_launch_.empty()) return op.graph;
  const auto it = graph_of_launch_.find(launch_key(process, op.correlation));
  return it == graph_of_launch_.end() ? 0 : it->second;
}

void DeviceRows::finish_ops(TraceBuilder& builder) {
  std::map<std::pair<uint32_t, ProcessId>, StreamId> streams;
  std::pair<uint32_t, ProcessId> last{kNoRow, ProcessId{}};
  StreamId stream{};
  for (OpRow& op : ops_) {
    const ProcessId process = process_of(op.correlation);
    const std::pair<uint32_t, ProcessId> key{static_cast<uint32_t>(op.stream), process};
    if (key != last) {
      const auto [it, fresh] = streams.try_emplace(key);
      if (fresh) {
        const Where& w = wheres_[key.first];
        it->second = builder.stream(process, builder.device(w.device), w.context, w.stream);
      }
      stream = it->second;
      last = key;
    }
    op.graph = graph_of(op, process);
    op.stream = stream;
    builder.add(op, {"event", 0, -1});  // bad times were turned away before
  }
  drop(ops_);
}

// A wait names the call that recorded its event: that call and its stream make the event record.
void DeviceRows::finish_syncs(TraceBuilder& builder) {
  std::vector<int64_t> recorded;
  for (const Sync& s : syncs_) {
    const ProcessId process = process_of(s.correlation);
    builder.add_sync(s.row, process, s.correlation);
    if (s.record_correlation < 0 || s.record_correlation >= kNoCorrelation) continue;
    recorded.push_back(s.record_correlation);
  }
  std::sort(recorded.begin(), recorded.end());
  recorded.erase(std::unique(recorded.begin(), recorded.end()), recorded.end());
  std::vector<bool> done(recorded.size(), false);
  for (const Sync& s : syncs_) {
    const auto it = std::lower_bound(recorded.begin(), recorded.end(), s.record_correlation);
    if (it == recorded.end() || *it != s.record_correlation) continue;
    const auto i = static_cast<size_t>(it - recorded.begin());
    if (done[i]) continue;
    done[i] = true;
    const auto correlation = static_cast<uint32_t>(s.record_correlation);
    builder.add_event_record({s.record_stream, s.row.event_id, s.record_correlation, kNoRow},
                             process_of(s.correlation), correlation);
  }
  drop(syncs_);
}

// Memory events number devices as the process sees them, AMD kernels as the machine does: with one
// device at work there is only one they can mean.
void DeviceRows::finish_memory(TraceBuilder& builder) {
  const std::vector<Device> known = builder.trace.devices;
  for (Memory& m : memory_) {
    const bool listed = std::any_of(known.begin(), known.end(),
                                    [&](const Device& d) { return d.ordinal == m.device; });
    if (!listed && known.size() != 1) continue;
    m.row.device = builder.device(listed ? m.device : known[0].ordinal);
    builder.trace.memory.push_back(m.row);
  }
  drop(memory_);
}

namespace {

// The calls of ROCm's runtime, where the file does not name the device.
bool launches_by_hip(const StringPool& strings) {
  for (uint32_t i = 0; i < strings.size(); ++i) {
    const std::string_view s = strings[StringId{i}];
    if (s == "hipLaunchKernel" || s == "hipModuleLaunchKernel" || s == "hipExtModuleLaunchKernel")
      return true;
  }
  return false;
}

}  // namespace

void DeviceRows::finish(TraceBuilder& builder, ProcessId host, const Header& header) {
  prepare_processes(host);
  finish_ops(builder);
  finish_syncs(builder);
  finish_memory(builder);
  for (Device& d : builder.trace.devices) {
    for (const Device& said : header.devices) {
      if (said.ordinal == d.ordinal) d = said;
    }
    if (d.name.empty() && launches_by_hip(builder.trace.strings)) d.name = "AMD GPU";
  }
}

}  // namespace ws::kineto
