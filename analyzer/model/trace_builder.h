#pragma once
// The only door into a Trace: interning, tables of threads and streams, links, and the hygiene of
// ALGORITHMS 1, so that importers can not disagree on meaning. An importer maps fields in a loop.
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "model/trace.h"

namespace ws {

// Correlation ids are unique only inside one process. kNoCorrelation: the record has none.
inline constexpr uint32_t kNoCorrelation = 0xffffffffu;

inline constexpr TimeNs kMaxTime = (TimeNs{1} << 62) - 1;  // 146 years

struct OpRow {
  TimeNs begin_ns = 0, end_ns = 0;
  StringId name{};
  StreamId stream{};
  OpKind kind = OpKind::kernel;
  uint32_t correlation = kNoCorrelation;
  uint32_t graph = 0;  // see GpuOps::graph
  uint64_t node = 0;   // graph node, only to tell duplicates apart
  uint32_t copy = kNoRow, collective = kNoRow;
};

struct CallRow {
  TimeNs begin_ns = 0, end_ns = 0;
  StringId name{};
  ThreadId thread{};
  uint32_t correlation = kNoCorrelation;
};

struct RangeRow {
  TimeNs begin_ns = 0, end_ns = 0;
  StringId name{};
  ThreadId thread = kNoThread;
  RangeSource source = RangeSource::nvtx;
  uint32_t collective = kNoRow;
  int64_t sequence = -1;
};

// Where a record stands in its file; formatted only for the first of a kind.
struct Place {
  std::string_view table;  // "CUPTI_ACTIVITY_KIND_KERNEL row", "event"
  int64_t number = 0;
  int64_t byte = -1;  // offset in the (inflated) file, -1: not known
  std::string text() const;
};

struct SealOptions {
  bool clip_outlasting = true;  // tests of the bare partition switch these two off
  bool drop_duplicates = true;
};

class TraceBuilder {
 public:
  Trace
      trace;  // identity fields and notes are set directly; tables only through the functions below

  StringId intern(std::string_view utf8) { return trace.strings.intern(utf8); }
  ProcessId process(int64_t pid);
  ThreadId thread(ProcessId process, int64_t tid);
  DeviceId device(int32_t ordinal);  // creates it when new; fill details through trace.devices
  StreamId stream(ProcessId process, DeviceId device, int64_t context, int64_t number);

  // Records that end before they begin, or have time 0 and length 0, are counted and left out.
  // True when the record was kept. Zero-length records are kept; they take no time. So are times
  // beyond kMaxTime left out: the difference of any two kept times fits into TimeNs.
  bool add(const OpRow& op, const Place& place);
  bool add(const CallRow& call, const Place& place);
  bool add(const RangeRow& range, const Place& place);
  uint32_t add_copy(const Copy& copy);
  uint32_t add_collective(const CollectiveInfo& info);
  void add_sync(const SyncRecord& sync, ProcessId process, uint32_t correlation);
  void add_event_record(const EventRecord& record, ProcessId process, uint32_t correlation);
  void reserve(size_t ops, size_t calls, size_t ranges);

  // Sorts, links launches, clips, dedupes, sets capture and counts. The builder is spent.
  Trace seal(const SealOptions& options = {});

 private:
  bool usable(TimeNs begin_ns, TimeNs end_ns, const Place& place);
  void sort_calls();
  void sort_ranges();
  void sort_ops();
  void link_launches();
  void drop_duplicates();
  void clip_outlasting();
  std::map<int64_t, ProcessId> processes_;
  std::map<std::pair<ProcessId, int64_t>, ThreadId> threads_;
  std::map<int32_t, DeviceId> devices_;
  std::map<std::tuple<ProcessId, DeviceId, int64_t, int64_t>, StreamId> streams_;
  std::vector<uint32_t> op_correlation_, call_correlation_;
  RareColumn<uint64_t, 0> op_node_;
  struct SyncKey {
    ProcessId process;
    uint32_t correlation;
  };
  std::vector<SyncKey> sync_keys_, event_keys_;
};

}  // namespace ws
