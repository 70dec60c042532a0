#pragma once
// What is recorded, one plain struct per table of schemas/recording.proto. Times are ns of
// CLOCK_MONOTONIC, names are ids of Names.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ws::collector {

struct KernelRow {
  int64_t begin_ns = 0, end_ns = 0;
  uint32_t shape = 0, device = 0, context = 0, stream = 0, correlation = 0, graph = 0;
  uint64_t graph_node = 0;
};
struct ShapeRow {
  uint32_t name = 0;
  uint32_t grid[3] = {}, block[3] = {};
  uint32_t static_shared_bytes = 0, dynamic_shared_bytes = 0, registers = 0;
  friend bool operator==(const ShapeRow&, const ShapeRow&) = default;
};
struct CopyRow {
  int64_t begin_ns = 0, end_ns = 0;
  uint64_t bytes = 0;
  uint32_t kind = 0, source_kind = 0, target_kind = 0;
  uint32_t device = 0, context = 0, stream = 0, correlation = 0, graph = 0;
  uint64_t graph_node = 0;
};
struct FillRow {
  int64_t begin_ns = 0, end_ns = 0;
  uint64_t bytes = 0;
  uint32_t device = 0, context = 0, stream = 0, correlation = 0, graph = 0;
  uint64_t graph_node = 0;
};
struct GraphRunRow {
  int64_t begin_ns = 0, end_ns = 0;
  uint32_t graph = 0, device = 0, context = 0, stream = 0, correlation = 0;
};
struct CallRow {
  int64_t begin_ns = 0, end_ns = 0;
  uint32_t name = 0;
  uint64_t tid = 0;
  uint32_t correlation = 0;
};
struct SyncRow {
  int64_t begin_ns = 0, end_ns = 0;
  uint32_t kind = 0, context = 0, stream = 0, event = 0;
  uint64_t event_sync = 0;
  uint32_t correlation = 0;
};
struct EventRecordRow {
  uint32_t stream = 0, event = 0;
  uint64_t event_sync = 0;
  uint32_t correlation = 0;
};
struct OverheadRow {
  int64_t begin_ns = 0, end_ns = 0;
  uint32_t kind = 0;
  uint64_t tid = 0;
};
enum class RangeKind : uint8_t { push_pop = 0, start_end = 1, mark = 2 };
struct CollectiveRow {  // -1: not said
  uint64_t communicator = 0;
  bool has_communicator = false;
  int64_t bytes = -1, root = -1, peer = -1, rank_count = -1, rank = -1, sequence = -1;
};
struct RangeRow {
  int64_t begin_ns = 0, end_ns = 0;
  uint32_t name = 0, domain = 0;
  uint64_t tid = 0;
  RangeKind kind = RangeKind::push_pop;
};
struct MemoryRow {
  int64_t time_ns = 0, bytes = 0;
  uint32_t device = 0;
};

struct StepRow {  // from one begin of the watched range to the next
  int64_t begin_ns = 0, end_ns = 0;
  bool recorded = false;
};

struct DeviceRow {
  uint32_t ordinal = 0;
  std::string name, uuid;
  uint64_t memory_bytes = 0;
  uint32_t sm_count = 0, compute_major = 0, compute_minor = 0;
};
struct ThreadRow {
  uint64_t tid = 0;
  uint32_t name = 0;
};
enum class Tier : uint8_t { nvtx = 0, device = 1, host = 2, memory = 3 };
struct WindowRow {
  int64_t armed_ns = 0, disarmed_ns = 0, steady_from_ns = 0;
  Tier tier = Tier::nvtx;
};
enum class LossSource : uint8_t {
  unknown = 0,
  cupti_dropped = 1,
  buffers_full = 2,
  zero_timestamps = 3,
  ranges_full = 4,
  names_full = 5,
  file_full = 6,
  degraded = 7
};
struct LossRow {
  LossSource source = LossSource::unknown;
  uint64_t count = 0;
  int64_t from_ns = 0, to_ns = 0;
};
enum class Topic : uint8_t {
  notice = 0,
  cupti_missing = 1,
  cupti_busy = 2,
  cupti_refused = 3,
  no_steps = 4
};
struct MessageRow {
  Topic topic = Topic::notice;
  std::string text;
};
struct ProcessRow {
  std::string recorder_version, host;
  int64_t pid = 0, start_realtime_ns = 0;
  int32_t rank = -1, world_size = 0;  // rank -1: not known
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<std::string> arguments;
  uint32_t cupti_version = 0;
  uint32_t segment = 0;       // number of the file among those of the process
  uint64_t rotated_rows = 0;  // of segments that were removed to stay below the cap
};
struct ClockRow {
  int64_t monotonic_ns = 0, realtime_ns = 0, boottime_ns = 0;
  uint64_t ticks = 0;
};
struct FooterRow {
  uint64_t rows = 0, writer_cpu_ns = 0, open_ranges = 0;
};

}  // namespace ws::collector
