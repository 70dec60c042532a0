// One sweep over launches, records and waits in host order. An event stands for the last op
// launched on its stream before it, and for what that stream had to wait for since; a wait holds
// back the next op launched on the waiting stream. Tested by: recorded_waits_test.cpp
#include "analysis/recorded_waits.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace ws {
namespace {

constexpr size_t kMostProducers = 64;  // of one event: keeps hostile files linear

// Streams by (process, number); kNoRow where several devices or contexts share the number.
class StreamRows {
 public:
  explicit StreamRows(const std::vector<ReplayStream>& streams) {
    for (uint32_t i = 0; i < streams.size(); ++i) {
      const auto [it, fresh] = rows_.try_emplace({streams[i].process, streams[i].number}, i);
      if (!fresh) it->second = kNoRow;
    }
  }
  uint32_t find(uint32_t process, int64_t number) const {
    const auto it = rows_.find({process, number});
    return it == rows_.end() ? kNoRow : it->second;
  }

 private:
  std::map<std::pair<uint32_t, int64_t>, uint32_t> rows_;
};

// Records by the id that joins a wait to them; where the source has none, by event: its last
// record before the wait counts.
class RecordIndex {
 public:
  explicit RecordIndex(const Trace& trace) : trace_(trace) {
    for (uint32_t i = 0; i < trace.event_records.size(); ++i) {
      const EventRecord& r = trace.event_records[i];
      if (r.call == kNoRow) continue;
      if (r.sync_id >= 0) by_sync_.push_back({process_of(r.call), r.sync_id, 0, i});
      if (r.event_id >= 0)
        by_event_.push_back({process_of(r.call), r.event_id, trace.calls.begin_ns[r.call], i});
    }
    std::sort(by_sync_.begin(), by_sync_.end());
    std::sort(by_event_.begin(), by_event_.end());
  }
  uint32_t record_of(const SyncRecord& sync) const {
    const uint32_t process = process_of(sync.call);
    if (sync.sync_id >= 0) {
      const auto it = std::lower_bound(by_sync_.begin(), by_sync_.end(),
                                       Key{process, sync.sync_id, INT64_MIN, 0});
      const bool found =
          it != by_sync_.end() && std::get<0>(*it) == process && std::get<1>(*it) == sync.sync_id;
      return found ? std::get<3>(*it) : kNoRow;
    }
    if (sync.event_id < 0 || !by_sync_.empty()) return kNoRow;
    const auto it =
        std::lower_bound(by_event_.begin(), by_event_.end(),
                         Key{process, sync.event_id, trace_.calls.begin_ns[sync.call], 0});
    if (it == by_event_.begin()) return kNoRow;
    const Key& last = *(it - 1);
    const bool same = std::get<0>(last) == process && std::get<1>(last) == sync.event_id;
    return same ? std::get<3>(last) : kNoRow;
  }
  uint32_t process_of(uint32_t call) const {
    return static_cast<uint32_t>(trace_.threads[row(trace_.calls.thread[call])].process);
  }

 private:
  using Key = std::tuple<uint32_t, int64_t, TimeNs, uint32_t>;  // process, id, begin, row
  const Trace& trace_;
  std::vector<Key> by_sync_, by_event_;
};

enum class What : uint8_t { record, wait, launch };  // of equal times: in this order
struct Moment {
  TimeNs at_ns = 0;
  What what{};
  uint32_t row = 0;     // of the event's slot; of the op for a launch
  uint32_t stream = 0;  // row of ReplayRank::streams
  bool operator<(const Moment& o) const {
    return std::tie(at_ns, what, row) < std::tie(o.at_ns, o.what, o.row);
  }
};

struct StreamState {
  uint32_t last = kNoRow;         // op launched last
  std::vector<uint32_t> pending;  // ops that the next launch waits for
};

struct Known {  // an event that something waits for
  std::vector<uint32_t> producers;
};

void add_producer(uint32_t op, std::vector<uint32_t>& to) {
  if (op == kNoRow || to.size() >= kMostProducers) return;
  if (std::find(to.begin(), to.end(), op) == to.end()) to.push_back(op);
}

}  // namespace

void add_recorded_waits(const Trace& trace, const std::vector<uint32_t>& call_of, ReplayRank& out) {
  if (trace.event_records.empty()) return;
  const StreamRows streams(out.streams);
  const RecordIndex records(trace);
  std::vector<Moment> moments;
  std::vector<Known> events;
  std::map<uint32_t, uint32_t> event_of_record;
  std::vector<std::pair<uint32_t, uint32_t>> host_waits;  // call, event
  for (const SyncRecord& s : trace.syncs) {
    const bool waits = s.kind == SyncKind::stream_wait || s.kind == SyncKind::event;
    if (!waits || s.call == kNoRow || call_of[s.call] == kNoRow) continue;
    const uint32_t record = records.record_of(s);
    if (record == kNoRow) continue;
    const EventRecord& r = trace.event_records[record];
    const uint32_t from = streams.find(records.process_of(r.call), r.stream);
    const bool on_host = s.kind == SyncKind::event;
    const uint32_t to = on_host ? 0 : streams.find(records.process_of(s.call), s.stream);
    if (from == kNoRow || to == kNoRow) continue;
    const auto [it, fresh] =
        event_of_record.try_emplace(record, static_cast<uint32_t>(events.size()));
    if (fresh) {
      events.emplace_back();
      moments.push_back({trace.calls.begin_ns[r.call], What::record, it->second, from});
    }
    ReplayCall& call = out.calls[call_of[s.call]];
    if (on_host) {
      host_waits.emplace_back(call_of[s.call], it->second);
    } else {
      call.event = EventCall::known_wait;
      moments.push_back({trace.calls.begin_ns[s.call], What::wait, it->second, to});
    }
  }
  if (moments.empty()) return;
  for (uint32_t i = 0; i < out.ops.size(); ++i)
    if (out.ops[i].order_ns >= 0)
      moments.push_back({out.ops[i].order_ns, What::launch, i, out.ops[i].stream});
  std::sort(moments.begin(), moments.end());
  std::vector<StreamState> state(out.streams.size());
  for (const Moment& m : moments) {
    StreamState& stream = state[m.stream];
    switch (m.what) {
      case What::record:
        add_producer(stream.last, events[m.row].producers);
        for (uint32_t op : stream.pending) add_producer(op, events[m.row].producers);
        break;
      case What::wait:
        for (uint32_t op : events[m.row].producers)
          if (out.ops[op].stream != m.stream) add_producer(op, stream.pending);
        break;
      case What::launch:
        for (uint32_t op : stream.pending) out.waits.emplace_back(op, m.row);
        stream.pending.clear();
        stream.last = m.row;
        break;
    }
  }
  for (const auto& [call, event] : host_waits)
    if (!events[event].producers.empty())
      out.host_waits.emplace_back(call, events[event].producers.front());
  std::sort(out.host_waits.begin(), out.host_waits.end());
}

}  // namespace ws
