#pragma once
// One Chunk of schemas/recording.proto as plain values. Tables stay columns of int64 by field
// number, so that decoding is one loop for all of them.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ws::recording {

inline constexpr size_t kMostRows = 65'536;  // of all tables of a chunk

struct Table {
  // By field number; a column that the file leaves out has `rows` zeros.
  std::vector<std::vector<int64_t>> columns;
  size_t rows = 0;
  int64_t at(uint32_t field, size_t row) const { return columns[field][row]; }
};

enum TableField : uint32_t {  // of Chunk
  kKernels = 16,
  kCopies,
  kFills,
  kGraphRuns,
  kCalls,
  kSyncs,
  kEventRecords,
  kOverheads,
  kRanges,
  kMemoryChanges,
  kSteps,
  kTablesEnd
};

struct Process {
  std::string recorder_version, host;
  int64_t pid = 0, start_realtime_ns = 0, rank = -1, world_size = 0;
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<std::string> arguments;
  uint64_t cupti_version = 0, segment = 0, rotated_rows = 0;
};
struct Shape {
  uint64_t id = 0, name = 0;
};
struct DeviceInfo {
  uint64_t ordinal = 0;
  std::string name, uuid;
  uint64_t memory_bytes = 0, sm_count = 0, compute_major = 0, compute_minor = 0;
};
struct Loss {
  uint64_t source = 0, count = 0;
};
struct Window {
  int64_t armed_ns = 0, disarmed_ns = 0;
};
struct Message {
  uint64_t topic = 0;
  std::string text;
};
struct Collective {
  uint64_t communicator = 0;
  bool has_communicator = false;
  int64_t bytes = -1, root = -1, peer = -1, rank_count = -1, rank = -1, sequence = -1;
};

struct Chunk {
  bool has_process = false, has_footer = false;
  Process process;
  int64_t monotonic_ns = 0, realtime_ns = 0, base_ns = 0;
  uint64_t first_name = 0;
  std::vector<std::string> names;
  std::vector<Shape> shapes;
  std::vector<DeviceInfo> devices;
  std::vector<Window> windows;
  std::vector<Loss> losses;
  std::vector<Message> messages;
  std::vector<Collective> collectives;  // of the ranges
  uint64_t writer_cpu_ns = 0, open_ranges = 0;
  Table tables[kTablesEnd - kKernels];
  const Table& table(TableField field) const { return tables[field - kKernels]; }
};

// The text of an error says what is wrong, without a place.
Result<Chunk> decode_chunk(std::string_view body);

}  // namespace ws::recording
