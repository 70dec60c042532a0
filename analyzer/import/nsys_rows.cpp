// Nearly all of an export is two tables: kernels and API calls. One thread with its own connection
// scans each in row order, without joins or sorting, into blocks of plain rows; this thread takes
// the blocks in turn (so the result does not depend on who is faster) and fills the builders.
// Tested by: nsys_rows_test.cpp
#include "import/nsys_rows.h"

#include <array>
#include <thread>

#include "import/nsys_channel.h"

namespace ws::nsys {
namespace {

constexpr size_t kBlockRows = 16 * 1024;

struct DeviceRow {
  TimeNs begin_ns, end_ns;
  int64_t context, stream, bytes;
  uint64_t node;
  Name name;
  ProcessKey process;
  int32_t device;
  uint32_t correlation, graph;
  OpKind kind;
  bool pageable;
};

struct CallRecord {
  TimeNs begin_ns, end_ns;
  int64_t global_tid;
  Name name;
  uint32_t correlation;
  bool has_thread;
};

template <class Row>
struct Block {
  std::string_view place;  // "TABLE row"
  int64_t first_row = 1;
  std::vector<Row> rows;
};

// Collects rows and passes them on in blocks.
template <class Row>
class Sender {
 public:
  Sender(Channel<Block<Row>>& out, std::string_view place) : out_(out) { block_.place = place; }
  Row& next() {
    if (block_.rows.size() == kBlockRows) flush();
    return block_.rows.emplace_back();
  }
  void flush() {
    if (block_.rows.empty()) return;
    Block<Row> full{block_.place, block_.first_row, std::move(block_.rows)};
    block_.first_row += static_cast<int64_t>(full.rows.size());
    block_.rows = {};
    block_.rows.reserve(kBlockRows);
    out_.push(std::move(full));
  }

 private:
  Channel<Block<Row>>& out_;
  Block<Row> block_;
};

constexpr std::string_view table_of(std::string_view place) {
  return place.substr(0, place.find(' '));
}

Name name_at(const Statement& s, int column, const Strings& strings) {
  const int64_t id = s.int64(column);
  const size_t position = strings.position(id);
  return {id, position == Strings::kNone ? kNoRow : static_cast<uint32_t>(position)};
}

// CUPTI counts from 1: 0 and NULL mean that there is no call.
uint32_t correlation_at(const Statement& s, int column) {
  const int64_t id = s.int64(column);
  return id > 0 && id < int64_t{kNoCorrelation} ? static_cast<uint32_t>(id) : kNoCorrelation;
}

ProcessKey process_at(const Statement& s, int column) {
  const int64_t global = s.int64(column);
  return global == 0 ? kUnknownProcess : process_key(global);
}

// All nodes of one launch must carry one id: the graph's where the export has it, never the node's.
uint32_t graph_of(uint64_t node, int64_t graph_id) {
  if (node == 0 && graph_id == 0) return 0;
  const auto id = static_cast<uint32_t>(graph_id);
  return id != 0 ? id : 1;
}

// The columns that the four tables share stand first, in this order.
void fill_common(DeviceRow& row, const Statement& s) {
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

Result<void> scan_kernels(const File& file, const Strings& strings,
                          Channel<Block<DeviceRow>>& out) {
  constexpr std::string_view kPlace = "CUPTI_ACTIVITY_KIND_KERNEL row", kTable = table_of(kPlace);
  const bool full_names = file.has_column(kTable, "demangledName");
  Sender<DeviceRow> sender(out, kPlace);
  const Result<void> ok = for_each_row(
      file, kTable,
      {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
       full_names ? "demangledName" : "shortName", "graphNodeId", "graphId"},
      [&](const Statement& s) {
        DeviceRow& row = sender.next();
        fill_common(row, s);
        row.kind = OpKind::kernel;
        row.name = name_at(s, 7, strings);
        row.node = static_cast<uint64_t>(s.int64(8));
        row.graph = row.node == 0 ? 0 : graph_of(row.node, s.int64(9));
      });
  sender.flush();
  return ok;
}

Result<void> scan_copies(const File& file, Channel<Block<DeviceRow>>& out) {
  constexpr std::string_view kPlace = "CUPTI_ACTIVITY_KIND_MEMCPY row", kTable = table_of(kPlace);
  constexpr int64_t kPageable = 0;
  Sender<DeviceRow> sender(out, kPlace);
  const Result<void> ok =
      for_each_row(file, kTable,
                   {"start", "end", "deviceId", "contextId", "streamId", "correlationId",
                    "globalPid", "bytes", "copyKind", "srcKind", "dstKind", "graphNodeId"},
                   [&](const Statement& s) {
                     DeviceRow& row = sender.next();
                     fill_common(row, s);
                     row.bytes = s.int64(7);
                     row.kind = copy_kind(s.int64(8));
                     row.pageable = (!s.is_null(9) && s.int64(9) == kPageable) ||
                                    (!s.is_null(10) && s.int64(10) == kPageable);
                     row.node = static_cast<uint64_t>(s.int64(11));
                     row.graph = graph_of(row.node, 0);
                   });
  sender.flush();
  return ok;
}

Result<void> scan_fills(const File& file, Channel<Block<DeviceRow>>& out) {
  constexpr std::string_view kPlace = "CUPTI_ACTIVITY_KIND_MEMSET row", kTable = table_of(kPlace);
  Sender<DeviceRow> sender(out, kPlace);
  const Result<void> ok = for_each_row(file, kTable,
                                       {"start", "end", "deviceId", "contextId", "streamId",
                                        "correlationId", "globalPid", "graphNodeId"},
                                       [&](const Statement& s) {
                                         DeviceRow& row = sender.next();
                                         fill_common(row, s);
                                         row.kind = OpKind::memset;
                                         row.node = static_cast<uint64_t>(s.int64(7));
                                         row.graph = graph_of(row.node, 0);
                                       });
  sender.flush();
  return ok;
}

Result<void> scan_graphs(const File& file, Channel<Block<DeviceRow>>& out) {
  constexpr std::string_view kPlace = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE row",
                             kTable = table_of(kPlace);
  Sender<DeviceRow> sender(out, kPlace);
  const Result<void> ok = for_each_row(file, kTable,
                                       {"start", "end", "deviceId", "contextId", "streamId",
                                        "correlationId", "globalPid", "graphId"},
                                       [&](const Statement& s) {
                                         DeviceRow& row = sender.next();
                                         fill_common(row, s);
                                         row.kind = OpKind::graph;
                                         row.graph = graph_of(1, s.int64(7));
                                       });
  sender.flush();
  return ok;
}

Result<void> scan_device_records(const std::string& path, const Strings& strings,
                                 Channel<Block<DeviceRow>>& out) {
  const Result<File> file = File::open(path);  // a connection belongs to one thread
  if (!file) return file.error();
  if (Result<void> ok = scan_kernels(*file, strings, out); !ok) return ok;
  if (Result<void> ok = scan_copies(*file, out); !ok) return ok;
  if (Result<void> ok = scan_fills(*file, out); !ok) return ok;
  return scan_graphs(*file, out);
}

Result<void> scan_calls(const std::string& path, const Strings& strings,
                        Channel<Block<CallRecord>>& out) {
  constexpr std::string_view kPlace = "CUPTI_ACTIVITY_KIND_RUNTIME row", kTable = table_of(kPlace);
  const Result<File> file = File::open(path);
  if (!file) return file.error();
  Sender<CallRecord> sender(out, kPlace);
  const Result<void> ok =
      for_each_row(*file, kTable, {"start", "end", "globalTid", "correlationId", "nameId"},
                   [&](const Statement& s) {
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

// Remembers the last answers of a slow lookup; the few streams and threads of a run all fit.
template <class Key, class Value>
class Recent {
 public:
  template <class Find>
  Value& get(const Key& key, size_t hash, Find find) {
    Slot& slot = slots_[(hash ^ (hash >> 7)) % slots_.size()];
    if (!slot.used || !(slot.key == key)) slot = {true, key, find()};
    return slot.value;
  }

 private:
  struct Slot {
    bool used = false;
    Key key{};
    Value value{};
  };
  std::array<Slot, 127> slots_;
};

struct StreamKey {
  ProcessKey process{};
  int64_t context = 0, stream = 0;
  int32_t device = 0;
  friend bool operator==(const StreamKey&, const StreamKey&) = default;
};
struct StreamPlace {
  Rank* rank = nullptr;
  StreamId stream{};
};
struct ThreadPlace {
  Rank* rank = nullptr;
  ThreadId thread{};
};

class Filler {
 public:
  explicit Filler(Ranks& ranks, size_t device_rows, size_t calls)
      : ranks_(ranks), device_rows_(device_rows), calls_(calls) {}

  void add(const Block<DeviceRow>& block) {
    Place place{block.place, block.first_row};
    for (const DeviceRow& row : block.rows) {
      add(row, place);
      ++place.number;
    }
  }
  void add(const Block<CallRecord>& block) {
    Place place{block.place, block.first_row};
    for (const CallRecord& row : block.rows) {
      add(row, place);
      ++place.number;
    }
  }

 private:
  // The first process is given room for everything: nearly all exports have one.
  Rank& rank_of(ProcessKey process) {
    const bool first = ranks_.all().empty();
    Rank& rank = ranks_.of(process);
    if (first) rank.builder.reserve(device_rows_, calls_, 0);
    return rank;
  }

  void add(const DeviceRow& row, const Place& place) {
    const StreamKey key{row.process, row.context, row.stream, row.device};
    const size_t hash = static_cast<size_t>(row.stream) * 31 + static_cast<size_t>(row.context) +
                        static_cast<size_t>(row.process) * 17 + static_cast<size_t>(row.device);
    const StreamPlace at = streams_.get(key, hash, [&] {
      const ProcessKey owner = ranks_.owner(row.process);
      Rank& rank = rank_of(owner);
      return StreamPlace{&rank,
                         rank.builder.stream(rank.process(owner), rank.builder.device(row.device),
                                             row.context, row.stream)};
    });
    Rank& rank = *at.rank;
    if (!rank.accepts(row.begin_ns, row.end_ns, place)) return;
    if (row.process == kUnknownProcess) rank.builder.trace.notes.add(NoteCode::missing_process);
    OpRow op;
    op.begin_ns = row.begin_ns;
    op.end_ns = row.end_ns;
    op.stream = at.stream;
    op.kind = row.kind;
    op.correlation = row.correlation;
    op.graph = row.graph;
    op.node = row.node;
    if (row.kind == OpKind::kernel) op.name = rank.name(NameUse::device_record, row.name);
    if (row.kind == OpKind::graph) {
      op.name = rank.builder.intern("CUDA graph " + std::to_string(row.graph));
      rank.builder.trace.graphs_as_a_whole = true;
    }
    if (row.kind <= OpKind::p2p && row.kind != OpKind::kernel)
      op.copy = rank.builder.add_copy({row.bytes, row.pageable});
    rank.has_device_records = rank.builder.add(op, place) || rank.has_device_records;
  }

  void add(const CallRecord& row, const Place& place) {
    const ThreadPlace at = threads_.get(
        row.global_tid, static_cast<size_t>(row.global_tid ^ (row.global_tid >> 24)), [&] {
          const ProcessKey owner =
              ranks_.owner(row.has_thread ? process_key(row.global_tid) : kUnknownProcess);
          Rank& rank = rank_of(owner);
          return ThreadPlace{&rank,
                             rank.builder.thread(rank.process(owner), tid_of(row.global_tid))};
        });
    Rank& rank = *at.rank;
    if (!rank.accepts(row.begin_ns, row.end_ns, place)) return;
    if (!row.has_thread) rank.builder.trace.notes.add(NoteCode::missing_thread);
    CallRow call;
    call.begin_ns = row.begin_ns;
    call.end_ns = row.end_ns;
    call.name = rank.name(NameUse::call, row.name);
    call.thread = at.thread;
    call.correlation = row.correlation;
    rank.builder.add(call, place);
  }

  Ranks& ranks_;
  size_t device_rows_, calls_;
  Recent<StreamKey, StreamPlace> streams_;
  Recent<int64_t, ThreadPlace> threads_;
};

}  // namespace

Result<void> read_device_records_and_calls(const File& file, const Strings& strings, Ranks& ranks) {
  Channel<Block<DeviceRow>> records;
  Channel<Block<CallRecord>> calls;
  std::thread record_reader(
      [&] { records.close(scan_device_records(file.path(), strings, records)); });
  std::thread call_reader([&] { calls.close(scan_calls(file.path(), strings, calls)); });
  Filler filler(ranks,
                file.estimated_rows("CUPTI_ACTIVITY_KIND_KERNEL") +
                    file.estimated_rows("CUPTI_ACTIVITY_KIND_MEMCPY") +
                    file.estimated_rows("CUPTI_ACTIVITY_KIND_MEMSET"),
                file.estimated_rows("CUPTI_ACTIVITY_KIND_RUNTIME"));
  bool more_records = true, more_calls = true;
  while (more_records || more_calls) {
    if (more_records) {
      const auto block = records.pop();
      more_records = block.has_value();
      if (block) filler.add(*block);
    }
    if (more_calls) {
      const auto block = calls.pop();
      more_calls = block.has_value();
      if (block) filler.add(*block);
    }
  }
  record_reader.join();
  call_reader.join();
  return !records.outcome() ? records.outcome() : calls.outcome();
}

}  // namespace ws::nsys
