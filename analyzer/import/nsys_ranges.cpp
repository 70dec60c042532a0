// NVTX names stand in `text` or, for registered strings, behind `textId`. Push/pop ranges nest on
// their thread; start/end ranges are no thread's state unless both ends share one. Nothing is
// closed at the end of the capture: a range without an end is counted and left out.
// Tested by: nsys_ranges_test.cpp
#include "import/nsys_ranges.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "import/nsys_nccl.h"
#include "import/nsys_scan.h"

namespace ws::nsys {
namespace {

// NVTX event types of ENUM_NSYS_EVENT_TYPE; domains, categories and resources are not ranges.
constexpr int64_t kMark = 34, kThreadName = 39, kPushPop = 59, kStartEnd = 60;

struct NvtxRow {
  int64_t type = 0, global_tid = 0, domain = 0;
  bool has_end = false, has_thread = false, ends_elsewhere = false;
  bool registered = false;  // the name is a registered string
  Name name;
  std::string_view text, json;  // of the file, valid until the next step
};

NvtxRow nvtx_row(const RowValues& s, const Strings& strings) {
  NvtxRow row;
  row.type = s.int64(2);
  row.has_end = !s.is_null(1) && !(s.int64(1) < 0 && s.int64(0) >= 0);
  row.global_tid = s.int64(3);
  row.has_thread = !s.is_null(3);
  row.ends_elsewhere = !s.is_null(4) && s.int64(4) != row.global_tid;
  row.domain = s.int64(5);
  row.text = s.text(6);
  row.registered = row.text.empty() && !s.is_null(7);
  if (row.registered) {
    row.name = name_at(s, 7, strings);
    if (row.name.position != kNoRow) row.text = strings.bytes(row.name.position);
  }
  row.json = s.text(8);
  if (row.json.empty() && !s.is_null(9)) {
    const size_t position = strings.position(s.int64(9));
    if (position != Strings::kNone) row.json = strings.bytes(position);
  }
  return row;
}

// MPI libraries name their threads "MPI Rank 3".
void take_thread_name(std::string_view text, Rank& rank) {
  constexpr std::string_view kPrefix = "MPI Rank ";
  if (text.substr(0, kPrefix.size()) != kPrefix) return;
  int32_t value = -1;
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data() + kPrefix.size(), end, value).ec == std::errc() && value >= 0)
    rank.mpi_rank = value;
}

void add_nvtx(const NvtxRow& row, TimeNs begin_ns, TimeNs end_ns, const Place& place,
              Ranks& ranks) {
  if (row.type != kPushPop && row.type != kStartEnd && row.type != kMark &&
      row.type != kThreadName) {
    return;
  }
  const ProcessKey owner =
      ranks.owner(row.has_thread ? process_key(row.global_tid) : kUnknownProcess);
  Rank& rank = ranks.of(owner);
  Notes& notes = rank.builder.trace.notes;
  if (row.type == kThreadName) return take_thread_name(row.text, rank);
  if (row.type != kMark && !row.has_end) {
    notes.add(NoteCode::unfinished_range,
              notes.wants_place(NoteCode::unfinished_range) ? place.text() : std::string());
    return;
  }
  RangeRow range;
  range.begin_ns = begin_ns;
  range.end_ns = row.type == kMark ? begin_ns : end_ns;
  if (!rank.accepts(range.begin_ns, range.end_ns, place)) return;
  range.name =
      row.registered ? rank.name(NameUse::range, row.name) : rank.text(NameUse::range, row.text);
  range.sequence = split_range_text(row.text).sequence;
  range.source = row.type == kMark       ? RangeSource::mark
                 : row.type == kStartEnd ? RangeSource::nvtx_start_end
                                         : RangeSource::nvtx;
  if (!row.has_thread) notes.add(NoteCode::missing_thread);
  if (row.has_thread && !(row.type == kStartEnd && row.ends_elsewhere))
    range.thread = rank.builder.thread(rank.process(owner), tid_of(row.global_tid));
  if (row.type != kMark && is_nccl_range(row.text, row.domain)) {
    range.collective = add_nccl_collective(rank.builder, row.text, row.json, rank.communicators);
    if (row.json.empty() && is_nccl_transfer(row.text)) notes.add(NoteCode::missing_payload_json);
  }
  rank.builder.add(range, place);
}

ProcessKey owner_of(const RowValues& s, int column, const Ranks& ranks) {
  return ranks.owner(process_at(s, column));
}

}  // namespace

Result<void> read_nvtx(const File& file, const Strings& strings, Ranks& ranks) {
  Place place{"NVTX_EVENTS row", 0};
  Result<void> ok =
      file.for_each_row("NVTX_EVENTS",
                        {"start", "end", "eventType", "globalTid", "endGlobalTid", "domainId",
                         "text", "textId", "jsonText", "jsonTextId"},
                        [&](const RowValues& s) {
                          ++place.number;
                          add_nvtx(nvtx_row(s, strings), s.int64(0), s.int64(1), place, ranks);
                        });
  for (const auto& [key, rank] : ranks.all())
    add_group_sizes(rank->builder.trace, rank->communicators);
  return ok;
}

bool is_os_wait(std::string_view call) {
  constexpr std::string_view kWaits[] = {"accept",
                                         "accept4",
                                         "clock_nanosleep",
                                         "epoll_pwait",
                                         "epoll_wait",
                                         "fdatasync",
                                         "fread",
                                         "fsync",
                                         "futex",
                                         "getline",
                                         "msgrcv",
                                         "nanosleep",
                                         "pause",
                                         "poll",
                                         "ppoll",
                                         "pread",
                                         "pread64",
                                         "preadv",
                                         "pselect",
                                         "pthread_barrier_wait",
                                         "pthread_cond_clockwait",
                                         "pthread_cond_timedwait",
                                         "pthread_cond_wait",
                                         "pthread_join",
                                         "pthread_mutex_clocklock",
                                         "pthread_mutex_lock",
                                         "pthread_mutex_timedlock",
                                         "pthread_rwlock_rdlock",
                                         "pthread_rwlock_wrlock",
                                         "pthread_timedjoin_np",
                                         "read",
                                         "readv",
                                         "recv",
                                         "recvfrom",
                                         "recvmmsg",
                                         "recvmsg",
                                         "select",
                                         "sem_clockwait",
                                         "sem_timedwait",
                                         "sem_wait",
                                         "sigtimedwait",
                                         "sigwait",
                                         "sigwaitinfo",
                                         "sleep",
                                         "usleep",
                                         "wait",
                                         "wait3",
                                         "wait4",
                                         "waitid",
                                         "waitpid"};
  return std::binary_search(std::begin(kWaits), std::end(kWaits), call);
}

Result<void> read_os_waits(const File& file, const Strings& strings, Ranks& ranks) {
  constexpr TimeNs kShortestWaitNs = 10'000;  // shorter ones explain nothing and are millions
  std::vector<bool> waits(strings.size());
  for (size_t i = 0; i < strings.size(); ++i) waits[i] = is_os_wait(strings.bytes(i));
  Place place{"OSRT_API row", 0};
  return file.for_each_row(
      "OSRT_API", {"start", "end", "globalTid", "nameId"}, [&](const RowValues& s) {
        ++place.number;
        const Name name = name_at(s, 3, strings);
        RangeRow range;
        range.begin_ns = s.int64(0);
        range.end_ns = s.int64(1);
        if (name.position == kNoRow || !waits[name.position] ||
            !plausible(range.begin_ns, range.end_ns) ||
            range.end_ns - range.begin_ns < kShortestWaitNs) {
          return;
        }
        const ProcessKey owner = owner_of(s, 2, ranks);
        Rank& rank = ranks.of(owner);
        range.name = rank.name(NameUse::call, name);
        range.source = RangeSource::os_runtime;
        if (!s.is_null(2))
          range.thread = rank.builder.thread(rank.process(owner), tid_of(s.int64(2)));
        rank.builder.add(range, place);
      });
}

std::string overhead_name(int64_t type, std::string_view name) {
  switch (type) {  // CUPTI_ACTIVITY_OVERHEAD
    case 2:
      return "driver jit";
    case 3:
      return "cupti buffer flush";
    case 4:
      return "instrumentation";
    case 5:
      return "cupti resource";
    case 6:
      return "module loading";
    case 7:
      return "lazy function loading";
    case 8:
      return "command buffer full";
    default:
      break;
  }
  // Exports before 2025.5.2 have names only.
  const std::string known = lower_ascii(name);
  if (known == "runtime triggered module loading") return "module loading";
  if (known == "cupti instrumentation") return "instrumentation";
  if (known == "driver compiler") return "driver jit";
  return known.empty() ? "profiler overhead" : known;
}

Result<void> read_overhead(const File& file, const Strings& strings, Ranks& ranks) {
  for (const std::string table : {"PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD"}) {
    const std::string row = table + " row";
    Place place{row, 0};
    Result<void> ok = file.for_each_row(
        table, {"start", "end", "globalTid", "nameId", "overheadType"}, [&](const RowValues& s) {
          ++place.number;
          const ProcessKey owner = owner_of(s, 2, ranks);
          Rank& rank = ranks.of(owner);
          const Name name = name_at(s, 3, strings);
          RangeRow range;
          range.begin_ns = s.int64(0);
          range.end_ns = s.int64(1);
          if (!rank.accepts(range.begin_ns, range.end_ns, place)) return;
          range.name = rank.text(
              NameUse::call,
              overhead_name(s.int64(4), name.position == kNoRow ? std::string_view()
                                                                : strings.bytes(name.position)));
          range.source = RangeSource::overhead;
          const int64_t tid = tid_of(s.int64(2));
          range.thread = rank.builder.thread(rank.process(owner), tid == 0 ? -1 : tid);
          rank.builder.add(range, place);
        });
    if (!ok) return ok;
  }
  return {};
}

Result<void> read_device_memory(const File& file, Ranks& ranks) {
  constexpr int64_t kDevice = 2, kArray = 3, kDeviceStatic = 5;  // CUPTI_ACTIVITY_MEMORY_KIND
  return file.for_each_row(
      "CUDA_GPU_MEMORY_USAGE_EVENTS",
      {"start", "globalPid", "deviceId", "bytes", "memKind", "memoryOperationType"},
      [&](const RowValues& s) {
        const int64_t kind = s.int64(4), bytes = s.int64(3);
        if (kind != kDevice && kind != kArray && kind != kDeviceStatic) return;
        if (bytes < 0 || !plausible(s.int64(0), s.int64(0))) return;
        Rank& rank = ranks.of(owner_of(s, 1, ranks));
        MemoryEvent event;
        event.time_ns = s.int64(0);
        event.device = rank.builder.device(static_cast<int32_t>(s.int64(2)));
        event.delta_bytes = s.int64(5) == 0 ? bytes : -bytes;
        rank.builder.trace.memory.push_back(event);
      });
}

}  // namespace ws::nsys
