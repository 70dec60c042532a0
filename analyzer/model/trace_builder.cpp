// Seal: sort by time, join launches on (process, correlation), then the hygiene of ALGORITHMS 1.
// The join uses a dense table per process, since correlation ids are nearly consecutive.
// Tested by: trace_builder_test.cpp
#include "model/trace_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "model/time_order.h"

namespace ws {
namespace {

template <class T>
void permute(std::vector<T>& column, const std::vector<uint32_t>& order) {
  if (column.empty()) return;
  std::vector<T> out;
  out.reserve(order.size());
  for (uint32_t i : order) out.push_back(column[i]);
  column = std::move(out);
}

// Outermost call per correlation id of one process.
class LaunchTable {
 public:
  void note_id(uint32_t correlation) {
    lo_ = std::min(lo_, correlation);
    hi_ = std::max(hi_, correlation);
    ++count_;
  }
  void prepare() {
    if (count_ == 0) return;
    const uint64_t span = uint64_t{hi_} - lo_ + 1;
    dense_ = span <= 8 * count_ + 1024;
    if (dense_) {
      rows_.assign(span, kNoRow);
      ambiguous_.assign(span, false);
    }
  }
  // Calls come in time order, so the first of an id is the outermost (longest of equal begins).
  void insert(uint32_t correlation, uint32_t call, const ApiCalls& calls, TimeNs tick_ns) {
    uint32_t& slot =
        dense_ ? rows_[correlation - lo_] : sparse_.try_emplace(correlation, kNoRow).first->second;
    if (slot == kNoRow) {
      slot = call;
    } else if (calls.begin_ns[call] > calls.end_ns[slot] + 2 * (tick_ns - 1)) {
      if (dense_) {
        ambiguous_[correlation - lo_] = true;  // a second, unrelated call
      } else {
        sparse_ambiguous_[correlation] = true;
      }
    }
  }
  uint32_t find(uint32_t correlation, bool& ambiguous) const {
    if (count_ == 0 || correlation < lo_ || correlation > hi_) return kNoRow;
    if (dense_) {
      ambiguous = ambiguous_[correlation - lo_];
      return rows_[correlation - lo_];
    }
    const auto it = sparse_.find(correlation);
    ambiguous = sparse_ambiguous_.contains(correlation);
    return it == sparse_.end() ? kNoRow : it->second;
  }

 private:
  uint32_t lo_ = kNoCorrelation, hi_ = 0;
  uint64_t count_ = 0;
  bool dense_ = false;
  std::vector<uint32_t> rows_;
  std::vector<bool> ambiguous_;
  std::unordered_map<uint32_t, uint32_t> sparse_;
  std::unordered_map<uint32_t, bool> sparse_ambiguous_;
};

}  // namespace

std::string Place::text() const {
  return byte < 0 ? fmt::format("{} {}", table, number)
                  : fmt::format("{} {}, byte {}", table, number, byte);
}

ProcessId TraceBuilder::process(int64_t pid) {
  const auto [it, fresh] =
      processes_.try_emplace(pid, static_cast<ProcessId>(trace.processes.size()));
  if (fresh) trace.processes.push_back({pid});
  return it->second;
}

ThreadId TraceBuilder::thread(ProcessId process, int64_t tid) {
  const auto [it, fresh] =
      threads_.try_emplace({process, tid}, static_cast<ThreadId>(trace.threads.size()));
  if (fresh) trace.threads.push_back({process, tid});
  return it->second;
}

DeviceId TraceBuilder::device(int32_t ordinal) {
  const auto [it, fresh] =
      devices_.try_emplace(ordinal, static_cast<DeviceId>(trace.devices.size()));
  if (fresh) trace.devices.emplace_back().ordinal = ordinal;
  return it->second;
}

StreamId TraceBuilder::stream(ProcessId process, DeviceId device, int64_t context, int64_t number) {
  const auto [it, fresh] = streams_.try_emplace({process, device, context, number},
                                                static_cast<StreamId>(trace.streams.size()));
  if (fresh) trace.streams.push_back({process, device, context, number});
  return it->second;
}

bool TraceBuilder::usable(TimeNs begin_ns, TimeNs end_ns, const Place& place) {
  if (std::min(begin_ns, end_ns) < -kMaxTime || std::max(begin_ns, end_ns) > kMaxTime) {
    const bool first = trace.notes.wants_place(NoteCode::time_out_of_range);
    trace.notes.add(NoteCode::time_out_of_range, first ? place.text() : std::string());
    return false;
  }
  if (end_ns < begin_ns) {
    const bool first = trace.notes.wants_place(NoteCode::negative_duration);
    trace.notes.add(NoteCode::negative_duration, first ? place.text() : std::string());
    return false;
  }
  if (begin_ns == 0 && end_ns == 0) {
    const bool first = trace.notes.wants_place(NoteCode::zero_timestamp);
    trace.notes.add(NoteCode::zero_timestamp, first ? place.text() : std::string());
    return false;
  }
  return true;
}

bool TraceBuilder::add(const OpRow& op, const Place& place) {
  if (!usable(op.begin_ns, op.end_ns, place)) return false;
  GpuOps& o = trace.ops;
  const size_t row = o.size();
  o.graph.add(row, op.graph);
  o.collective.add(row, op.collective);
  op_node_.add(row, op.node);
  o.begin_ns.push_back(op.begin_ns);
  o.end_ns.push_back(op.end_ns);
  o.name.push_back(op.name);
  o.stream.push_back(op.stream);
  o.kind.push_back(op.kind);
  o.copy.push_back(op.copy);
  op_correlation_.push_back(op.correlation);
  return true;
}

bool TraceBuilder::add(const CallRow& call, const Place& place) {
  if (!usable(call.begin_ns, call.end_ns, place)) return false;
  ApiCalls& c = trace.calls;
  c.begin_ns.push_back(call.begin_ns);
  c.end_ns.push_back(call.end_ns);
  c.name.push_back(call.name);
  c.thread.push_back(call.thread);
  call_correlation_.push_back(call.correlation);
  return true;
}

bool TraceBuilder::add(const RangeRow& range, const Place& place) {
  if (!usable(range.begin_ns, range.end_ns, place)) return false;
  HostRanges& r = trace.ranges;
  r.begin_ns.push_back(range.begin_ns);
  r.end_ns.push_back(range.end_ns);
  r.name.push_back(range.name);
  r.thread.push_back(range.thread);
  r.source.push_back(range.source);
  r.collective.push_back(range.collective);
  r.sequence.push_back(range.sequence);
  return true;
}

uint32_t TraceBuilder::add_copy(const Copy& copy) {
  trace.copies.push_back(copy);
  return static_cast<uint32_t>(trace.copies.size() - 1);
}

uint32_t TraceBuilder::add_collective(const CollectiveInfo& info) {
  trace.collectives.push_back(info);
  return static_cast<uint32_t>(trace.collectives.size() - 1);
}

void TraceBuilder::add_sync(const SyncRecord& sync, ProcessId process, uint32_t correlation) {
  trace.syncs.push_back(sync);
  sync_keys_.push_back({process, correlation});
}

void TraceBuilder::add_event_record(const EventRecord& record, ProcessId process,
                                    uint32_t correlation) {
  trace.event_records.push_back(record);
  event_keys_.push_back({process, correlation});
}

void TraceBuilder::reserve(size_t ops, size_t calls, size_t ranges) {
  GpuOps& o = trace.ops;
  o.begin_ns.reserve(ops), o.end_ns.reserve(ops), o.name.reserve(ops), o.stream.reserve(ops);
  o.kind.reserve(ops), o.copy.reserve(ops);
  op_correlation_.reserve(ops);
  ApiCalls& c = trace.calls;
  c.begin_ns.reserve(calls), c.end_ns.reserve(calls), c.name.reserve(calls),
      c.thread.reserve(calls);
  call_correlation_.reserve(calls);
  HostRanges& r = trace.ranges;
  r.begin_ns.reserve(ranges), r.end_ns.reserve(ranges), r.name.reserve(ranges);
  r.thread.reserve(ranges), r.source.reserve(ranges), r.collective.reserve(ranges),
      r.sequence.reserve(ranges);
}

void TraceBuilder::sort_calls() {
  ApiCalls& c = trace.calls;
  const auto order = time_order(c.begin_ns, c.end_ns, true);
  if (order.empty()) return;
  permute(c.begin_ns, order);
  permute(c.end_ns, order);
  permute(c.name, order);
  permute(c.thread, order);
  permute(call_correlation_, order);
}

void TraceBuilder::sort_ranges() {
  HostRanges& r = trace.ranges;
  if (const auto order = time_order(r.begin_ns, r.end_ns, true); !order.empty()) {
    permute(r.begin_ns, order);
    permute(r.end_ns, order);
    permute(r.name, order);
    permute(r.thread, order);
    permute(r.source, order);
    permute(r.collective, order);
    permute(r.sequence, order);
  }
  std::vector<std::vector<TimeNs>> open(trace.threads.size());  // ends of the open ranges
  int64_t crossing = 0;
  for (size_t i = 0; i < r.size(); ++i) {
    if (r.thread[i] == kNoThread || r.source[i] == RangeSource::overhead) continue;
    std::vector<TimeNs>& ends = open[row(r.thread[i])];
    while (!ends.empty() && ends.back() <= r.begin_ns[i]) ends.pop_back();
    if (!ends.empty() && ends.back() < r.end_ns[i]) ++crossing;
    ends.push_back(r.end_ns[i]);
  }
  if (crossing > 0) trace.notes.add(NoteCode::crossing_ranges, {}, crossing);
}

void TraceBuilder::sort_ops() {
  GpuOps& o = trace.ops;
  const auto order = time_order(o.begin_ns, o.end_ns, false);
  if (order.empty()) return;
  permute(o.begin_ns, order);
  permute(o.end_ns, order);
  permute(o.name, order);
  permute(o.stream, order);
  permute(o.kind, order);
  permute(o.graph.values(), order);
  permute(o.copy, order);
  permute(o.collective.values(), order);
  permute(op_correlation_, order);
  permute(op_node_.values(), order);
}

void TraceBuilder::link_launches() {
  std::vector<LaunchTable> tables(trace.processes.size());
  const ApiCalls& c = trace.calls;
  const auto process_of_call = [&](size_t i) {
    return row(trace.threads[row(c.thread[i])].process);
  };
  for (size_t i = 0; i < c.size(); ++i) {
    if (call_correlation_[i] != kNoCorrelation)
      tables[process_of_call(i)].note_id(call_correlation_[i]);
  }
  for (LaunchTable& t : tables) t.prepare();
  for (size_t i = 0; i < c.size(); ++i) {
    if (call_correlation_[i] == kNoCorrelation) continue;
    tables[process_of_call(i)].insert(call_correlation_[i], static_cast<uint32_t>(i), c,
                                      trace.tick_ns);
  }
  GpuOps& o = trace.ops;
  o.launch.assign(o.size(), kNoRow);
  int64_t missing = 0, ambiguous_count = 0, early = 0;
  for (size_t i = 0; i < o.size(); ++i) {
    const uint32_t correlation = op_correlation_[i];
    bool ambiguous = false;
    const uint32_t call = correlation == kNoCorrelation
                              ? kNoRow
                              : tables[row(trace.process_of(i))].find(correlation, ambiguous);
    if (ambiguous) {
      ++ambiguous_count;
    } else if (call == kNoRow) {
      ++missing;
    } else {
      o.launch[i] = call;
      early += o.begin_ns[i] < c.begin_ns[call] ? 1 : 0;
    }
  }
  if (ambiguous_count > 0) trace.notes.add(NoteCode::ambiguous_correlation, {}, ambiguous_count);
  if (missing > 0 && c.size() > 0) trace.notes.add(NoteCode::correlation_missing, {}, missing);
  if (early > 0) trace.notes.add(NoteCode::kernel_before_launch, {}, early);
  bool ignored = false;
  for (size_t i = 0; i < sync_keys_.size(); ++i) {
    const auto [process, correlation] = sync_keys_[i];
    if (correlation != kNoCorrelation)
      trace.syncs[i].call = tables[row(process)].find(correlation, ignored);
  }
  for (size_t i = 0; i < event_keys_.size(); ++i) {
    const auto [process, correlation] = event_keys_[i];
    if (correlation != kNoCorrelation) {
      trace.event_records[i].call = tables[row(process)].find(correlation, ignored);
    }
  }
}

void TraceBuilder::drop_duplicates() {
  GpuOps& o = trace.ops;
  std::vector<uint32_t> keep;
  size_t group = 0;  // first op with the same begin
  for (size_t i = 0; i < o.size(); ++i) {
    if (o.begin_ns[i] != o.begin_ns[group]) group = i;
    bool twice = false;
    // Equal begins are few in honest files; the cap keeps hostile ones linear.
    for (size_t j = i > group + 64 ? i - 64 : group; j < i && !twice; ++j) {
      twice = op_correlation_[i] != kNoCorrelation && op_correlation_[i] == op_correlation_[j] &&
              o.end_ns[i] == o.end_ns[j] && o.stream[i] == o.stream[j] && o.name[i] == o.name[j] &&
              o.kind[i] == o.kind[j] && op_node_[i] == op_node_[j];
    }
    if (!twice) keep.push_back(static_cast<uint32_t>(i));
  }
  if (keep.size() == o.size()) return;
  trace.notes.add(NoteCode::duplicate_record, {}, static_cast<int64_t>(o.size() - keep.size()));
  permute(o.begin_ns, keep);
  permute(o.end_ns, keep);
  permute(o.name, keep);
  permute(o.stream, keep);
  permute(o.kind, keep);
  permute(o.graph.values(), keep);
  permute(o.copy, keep);
  permute(o.collective.values(), keep);
  permute(op_correlation_, keep);
  permute(op_node_.values(), keep);
}

// A wrong duration must not swallow the step: a kernel outside graphs that outlasts the end of its
// successor on the same stream ends where the successor begins.
void TraceBuilder::clip_outlasting() {
  GpuOps& o = trace.ops;
  std::vector<uint32_t> last(trace.streams.size(), kNoRow);
  int64_t clipped = 0;
  size_t first = 0;
  for (size_t i = 0; i < o.size(); ++i) {
    uint32_t& prev = last[row(o.stream[i])];
    if (prev != kNoRow && o.kind[prev] == OpKind::kernel && o.graph[prev] == 0 &&
        o.end_ns[prev] > o.end_ns[i] && o.begin_ns[i] > o.begin_ns[prev]) {
      o.end_ns[prev] = o.begin_ns[i];
      if (clipped++ == 0) first = prev;
    }
    prev = static_cast<uint32_t>(i);
  }
  if (clipped > 0) {
    trace.notes.add(NoteCode::clipped_kernel,
                    fmt::format("device record at {} ns", o.begin_ns[first]), clipped);
  }
}

Trace TraceBuilder::seal(const SealOptions& options) {
  sort_calls();
  sort_ranges();
  sort_ops();
  if (options.drop_duplicates) drop_duplicates();
  link_launches();
  if (options.clip_outlasting) clip_outlasting();
  trace.ops_by_device.resize(trace.devices.size());
  for (uint32_t i = 0; i < trace.ops.size(); ++i)
    trace.ops_by_device[row(trace.device_of(i))].push_back(i);
  trace.has_api_records = trace.calls.size() > 0;
  trace.has_host_ranges = false;
  Interval& cap = trace.capture;
  bool any = false;
  const auto widen = [&](TimeNs begin, TimeNs end) {
    cap = any ? Interval{std::min(cap.begin_ns, begin), std::max(cap.end_ns, end)}
              : Interval{begin, end};
    any = true;
  };
  for (size_t i = 0; i < trace.ops.size(); ++i) widen(trace.ops.begin_ns[i], trace.ops.end_ns[i]);
  for (size_t i = 0; i < trace.calls.size(); ++i)
    widen(trace.calls.begin_ns[i], trace.calls.end_ns[i]);
  for (size_t i = 0; i < trace.ranges.size(); ++i) {
    if (trace.ranges.source[i] == RangeSource::gpu_annotation) continue;
    widen(trace.ranges.begin_ns[i], trace.ranges.end_ns[i]);
    trace.has_host_ranges =
        trace.has_host_ranges || (trace.ranges.source[i] != RangeSource::overhead &&
                                  trace.ranges.source[i] != RangeSource::os_runtime);
  }
  return std::move(trace);
}

}  // namespace ws
