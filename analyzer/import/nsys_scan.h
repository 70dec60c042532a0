#pragma once
// Scans of the big tables, each on a thread with its own connection: plain rows in blocks.
#include <string_view>
#include <variant>
#include <vector>

#include "import/nsys_channel.h"
#include "import/nsys_file.h"
#include "import/nsys_ranks.h"

namespace ws::nsys {

struct DeviceRow {
  TimeNs begin_ns, end_ns;
  int64_t context, stream, bytes;
  uint64_t node;
  Name name;
  ProcessKey process;
  int32_t device;
  uint32_t correlation, graph;
  OpKind kind;
  bool pageable, pinned;
};
struct CallRecord {
  TimeNs begin_ns, end_ns;
  int64_t global_tid;
  Name name;
  uint32_t correlation;
  bool has_thread;
};
struct SyncRow {
  TimeNs begin_ns, end_ns;
  SyncRecord record;
  ProcessKey process;
  uint32_t correlation;
};
struct EventRow {
  EventRecord record;
  ProcessKey process;
  uint32_t correlation;
};

template <class Record>
struct Rows {
  std::string_view place;  // "TABLE row"
  int64_t first_row = 1;
  std::vector<Record> rows;
};
using Block = std::variant<Rows<DeviceRow>, Rows<CallRecord>, Rows<SyncRow>, Rows<EventRow>>;

// Kernels, copies, fills and whole graphs.
Result<void> scan_device_records(const std::string& path, const Strings& strings,
                                 Channel<Block>& out);
// API calls, synchronization and event records.
Result<void> scan_calls(const std::string& path, const Strings& strings, Channel<Block>& out);

// Values as exports write them.
Name name_at(const RowValues& s, int column, const Strings& strings);
ProcessKey process_at(const RowValues& s, int column);

}  // namespace ws::nsys
