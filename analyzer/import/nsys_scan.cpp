// One connection per thread; the columns that are needed, in row order, without joins or sorting.
// Tested by: nsys_rows_test.cpp
#include "import/nsys_scan.h"

#include <map>
#include <utility>

namespace ws::nsys {
namespace {

constexpr size_t kBlockRows = size_t{8} << 10;

// Collects rows and passes them on in blocks.
template <class Record>
class Sender {
 public:
  Sender(Channel<Block>& out, std::string_view place) : out_(out) { block_.place = place; }
  Record& next() {
    if (block_.rows.size() == kBlockRows) flush();
    return block_.rows.emplace_back();
  }
  void flush() {
    if (block_.rows.empty()) return;
    Rows<Record> full{block_.place, block_.first_row, std::move(block_.rows)};
    block_.first_row += static_cast<int64_t>(full.rows.size());
    block_.rows = {};
    block_.rows.reserve(kBlockRows);
    out_.push(std::move(full));
  }

 private:
  Channel<Block>& out_;
  Rows<Record> block_;
};

constexpr std::string_view table_of(std::string_view place) {
  return place.substr(0, place.find(' '));
}

// CUPTI counts from 1: 0 and NULL mean that there is no call.
uint32_t correlation_at(const RowValues& s, int column) {
  const int64_t id = s.int64(column);
  return id > 0 && id < int64_t{kNoCorrelation} ? static_cast<uint32_t>(id) : kNoCorrelation;
}

uint32_t nonzero(int64_t graph_id) {
  const auto id = static_cast<uint32_t>(graph_id);
  return id != 0 ? id : 1;
}

// All nodes of one launch must carry one id. Only kernels have a column for it, and not in all
// versions; nodes of child graphs may differ there. So the first node of a launch decides.
class GraphLaunches {
 public:
  uint32_t id_of(const DeviceRow& row, int64_t graph_id) {
    if (row.node == 0) return 0;
    if (row.correlation == kNoCorrelation) return nonzero(graph_id);
    const auto key = std::pair(row.process, row.correlation);
    if (last_ == 0 || key != last_key_) {
      last_ = ids_.try_emplace(key, nonzero(graph_id)).first->second;
      last_key_ = key;
    }
    return last_;
  }

 private:
  using Key = std::pair<ProcessKey, uint32_t>;
  std::map<Key, uint32_t> ids_;
  Key last_key_{};
  uint32_t last_ = 0;
};

// The columns that the four tables share stand first, in this order.
void fill_common(DeviceRow& row, const RowValues& s) {
  row.begin_ns = s.int64(0);
  row.end_ns = s.int64(1);
  row.device = static_cast<int32_t>(s.int64(2));
  row.context = s.int64(3);
  row.stream = s.int64(4);
  row.correlation = correlation_at(s, 5);
  row.process = process_at(s, 6);
}

OpKind copy_kind(int64_t kind) {
  switch (kind) {  // CUPTI_ACTIVITY_MEMCPY_KIND, 11 to 13: unified memory
    case 1:
    case 3:
    case 11:
      return OpKind::h2d;
    case 2:
    case 4:
    case 12:
      return OpKind::d2h;
    case 10:
      return OpKind::p2p;
    default:
      return OpKind::d2d;
  }
}

Result<void> scan_kernels(const File& file, const Strings& strings, GraphLaunches& launches,
                          Channel<Block>& out) {
  constexpr std::string_view kPlace = "CUPTI_ACTIVITY_KIND_KERNEL row", kTable = table_of(kPlace);
  Sender<DeviceRow> sender(out, kPlace);
  Result<void> ok =
      file.for_each_row(kTable,
                        {"start", "end", "deviceId", "contextId", "streamId", "correlationId",
                         "globalPid", "demangledName", "shortName", "graphNodeId", "graphId"},
                        [&](const RowValues& s) {
                          DeviceRow& row = sender.next();
                          fill_common(row, s);
                          row.kind = OpKind::kernel;
                          row.name = name_at(s, 7, strings);
                          if (row.name.position == kNoRow) {  // old and reduced exports
                            const Name short_name = name_at(s, 8, strings);
                            if (short_name.position != kNoRow || row.name.id == 0)
                              row.name = short_name;
                          }
                          row.node = static_cast<uint64_t>(s.int64(9));
                          row.graph = launches.id_of(row, s.int64(10));
                        });
  sender.flush();
  return ok;
}

Result<void> scan_copies(const File& file, GraphLaunches& launches, Channel<Block>& out) {
  constexpr std::string_view kPlace = "CUPTI_ACTIVITY_KIND_MEMCPY row", kTable = table_of(kPlace);
  constexpr int64_t kPageable = 0, kPinned = 1;  // ENUM_CUDA_MEM_KIND
  Sender<DeviceRow> sender(out, kPlace);
  Result<void> ok = file.for_each_row(
      kTable,
      {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "bytes",
       "copyKind", "srcKind", "dstKind", "graphNodeId"},
      [&](const RowValues& s) {
        DeviceRow& row = sender.next();
        fill_common(row, s);
        row.bytes = s.int64(7);
        row.kind = copy_kind(s.int64(8));
        const auto either = [&](int64_t kind) {
          return (!s.is_null(9) && s.int64(9) == kind) || (!s.is_null(10) && s.int64(10) == kind);
        };
        row.pageable = either(kPageable);
        row.pinned = !row.pageable && either(kPinned);
        row.node = static_cast<uint64_t>(s.int64(11));
        row.graph = launches.id_of(row, 0);
      });
  sender.flush();
  return ok;
}

Result<void> scan_fills(const File& file, GraphLaunches& launches, Channel<Block>& out) {
  constexpr std::string_view kPlace = "CUPTI_ACTIVITY_KIND_MEMSET row", kTable = table_of(kPlace);
  Sender<DeviceRow> sender(out, kPlace);
  Result<void> ok = file.for_each_row(kTable,
                                      {"start", "end", "deviceId", "contextId", "streamId",
                                       "correlationId", "globalPid", "graphNodeId"},
                                      [&](const RowValues& s) {
                                        DeviceRow& row = sender.next();
                                        fill_common(row, s);
                                        row.kind = OpKind::memset;
                                        row.node = static_cast<uint64_t>(s.int64(7));
                                        row.graph = launches.id_of(row, 0);
                                      });
  sender.flush();
  return ok;
}

Result<void> scan_graphs(const File& file, Channel<Block>& out) {
  constexpr std::string_view kPlace = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE row",
                             kTable = table_of(kPlace);
  Sender<DeviceRow> sender(out, kPlace);
  Result<void> ok = file.for_each_row(kTable,
                                      {"start", "end", "deviceId", "contextId", "streamId",
                                       "correlationId", "globalPid", "graphId"},
                                      [&](const RowValues& s) {
                                        DeviceRow& row = sender.next();
                                        fill_common(row, s);
                                        row.kind = OpKind::graph;
                                        row.graph = nonzero(s.int64(7));
                                      });
  sender.flush();
  return ok;
}

SyncKind sync_kind(int64_t type) {  // CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE
  switch (type) {
    case 1:
      return SyncKind::event;
    case 2:
      return SyncKind::stream_wait;
    case 3:
      return SyncKind::stream;
    case 4:
      return SyncKind::context;
    default:
      return SyncKind::unknown;
  }
}

// Numbers that may be missing: NULL and the all-ones of 32 bits mean "none".
int64_t number_or_none(const RowValues& s, int column) {
  const int64_t v = s.int64(column);
  return s.is_null(column) || v == 0xffffffff ? -1 : v;
}

Result<void> scan_api_calls(const File& file, const Strings& strings, Channel<Block>& out) {
  constexpr std::string_view kPlace = "CUPTI_ACTIVITY_KIND_RUNTIME row", kTable = table_of(kPlace);
  Sender<CallRecord> sender(out, kPlace);
  Result<void> ok = file.for_each_row(
      kTable, {"start", "end", "globalTid", "correlationId", "nameId"}, [&](const RowValues& s) {
        CallRecord& row = sender.next();
        row.begin_ns = s.int64(0);
        row.end_ns = s.int64(1);
        row.global_tid = s.int64(2);
        row.has_thread = row.global_tid != 0;
        row.correlation = correlation_at(s, 3);
        row.name = name_at(s, 4, strings);
      });
  sender.flush();
  return ok;
}

Result<void> scan_synchronization(const File& file, Channel<Block>& out) {
  constexpr std::string_view kPlace = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION row",
                             kTable = table_of(kPlace);
  Sender<SyncRow> sender(out, kPlace);
  Result<void> ok = file.for_each_row(kTable,
                                      {"start", "end", "streamId", "correlationId", "globalPid",
                                       "syncType", "eventId", "eventSyncId"},
                                      [&](const RowValues& s) {
                                        SyncRow& row = sender.next();
                                        row.begin_ns = s.int64(0);
                                        row.end_ns = s.int64(1);
                                        row.record.stream = number_or_none(s, 2);
                                        row.correlation = correlation_at(s, 3);
                                        row.process = process_at(s, 4);
                                        row.record.kind = sync_kind(s.int64(5));
                                        row.record.event_id = number_or_none(s, 6);
                                        row.record.sync_id = number_or_none(s, 7);
                                      });
  sender.flush();
  return ok;
}

Result<void> scan_event_records(const File& file, Channel<Block>& out) {
  constexpr std::string_view kPlace = "CUPTI_ACTIVITY_KIND_CUDA_EVENT row",
                             kTable = table_of(kPlace);
  Sender<EventRow> sender(out, kPlace);
  Result<void> ok = file.for_each_row(
      kTable, {"streamId", "correlationId", "globalPid", "eventId", "eventSyncId"},
      [&](const RowValues& s) {
        EventRow& row = sender.next();
        row.record.stream = number_or_none(s, 0);
        row.correlation = correlation_at(s, 1);
        row.process = process_at(s, 2);
        row.record.event_id = number_or_none(s, 3);
        row.record.sync_id = number_or_none(s, 4);
      });
  sender.flush();
  return ok;
}

}  // namespace

Name name_at(const RowValues& s, int column, const Strings& strings) {
  const int64_t id = s.int64(column);
  const size_t position = strings.position(id);
  return {id, position == Strings::kNone ? kNoRow : static_cast<uint32_t>(position)};
}

ProcessKey process_at(const RowValues& s, int column) {
  const int64_t global = s.int64(column);
  return global == 0 ? kUnknownProcess : process_key(global);
}

Result<void> scan_device_records(const std::string& path, const Strings& strings,
                                 Channel<Block>& out) {
  const Result<File> file = File::open(path);
  if (!file) return file.error();
  GraphLaunches launches;
  if (Result<void> ok = scan_kernels(*file, strings, launches, out); !ok) return ok;
  if (Result<void> ok = scan_copies(*file, launches, out); !ok) return ok;
  if (Result<void> ok = scan_fills(*file, launches, out); !ok) return ok;
  return scan_graphs(*file, out);
}

Result<void> scan_calls(const std::string& path, const Strings& strings, Channel<Block>& out) {
  const Result<File> file = File::open(path);
  if (!file) return file.error();
  if (Result<void> ok = scan_api_calls(*file, strings, out); !ok) return ok;
  if (Result<void> ok = scan_synchronization(*file, out); !ok) return ok;
  return scan_event_records(*file, out);
}

}  // namespace ws::nsys
