// Nearly all of an export is two tables: kernels and API calls. Two threads scan them, and what
// belongs to them, into blocks of plain rows; this thread takes the blocks and fills the builders.
// Whose turn it is depends on counts of rows alone, so the result does not depend on who is faster.
// Tested by: nsys_rows_test.cpp
#include "import/nsys_rows.h"

#include <array>
#include <initializer_list>
#include <string_view>
#include <thread>

#include "import/nsys_scan.h"

namespace ws::nsys {
namespace {

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

  // Number of rows in it.
  size_t add(const Block& block) {
    return std::visit(
        [&](const auto& rows) {
          Place place{rows.place, rows.first_row};
          for (const auto& row : rows.rows) {
            add(row, place);
            ++place.number;
          }
          return rows.rows.size();
        },
        block);
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
      op.copy = rank.builder.add_copy({row.bytes, row.pageable, row.pinned});
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

  void add(const SyncRow& row, const Place& place) {
    Rank& rank = rank_of(ranks_.owner(row.process));
    if (!rank.accepts(row.begin_ns, row.end_ns, place)) return;
    if (row.end_ns < row.begin_ns) return;
    rank.builder.add_sync(row.record, rank.process(ranks_.owner(row.process)), row.correlation);
  }

  void add(const EventRow& row, const Place&) {
    Rank& rank = rank_of(ranks_.owner(row.process));
    rank.builder.add_event_record(row.record, rank.process(ranks_.owner(row.process)),
                                  row.correlation);
  }

  Ranks& ranks_;
  size_t device_rows_, calls_;
  Recent<StreamKey, StreamPlace> streams_;
  Recent<int64_t, ThreadPlace> threads_;
};

// One reading thread's tables.
struct Side {
  explicit Side(size_t rows) : expected(static_cast<double>(rows)) {}
  Channel<Block> blocks;
  double expected, taken = 0;
  bool more = true;
  bool behind(const Side& other) const { return taken * other.expected <= other.taken * expected; }
};

}  // namespace

Result<void> read_device_records_and_calls(const File& file, const Strings& strings, Ranks& ranks) {
  const auto rows_of = [&](std::initializer_list<std::string_view> tables) {
    size_t rows = 0;
    for (std::string_view table : tables) rows += file.estimated_rows(table);
    return rows;
  };
  const size_t device_rows = rows_of(
      {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"});
  const size_t calls = rows_of({"CUPTI_ACTIVITY_KIND_RUNTIME"});
  Side device(device_rows);
  Side host(calls +
            rows_of({"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_CUDA_EVENT"}));
  std::thread device_reader(
      [&] { device.blocks.close(scan_device_records(file.path(), strings, device.blocks)); });
  std::thread host_reader(
      [&] { host.blocks.close(scan_calls(file.path(), strings, host.blocks)); });
  Filler filler(ranks, device_rows, calls);
  while (device.more || host.more) {  // both shall be done at the same time
    Side& next = !host.more || (device.more && device.behind(host)) ? device : host;
    const auto block = next.blocks.pop();
    next.more = block.has_value();
    if (block) next.taken += static_cast<double>(filler.add(*block));
  }
  device_reader.join();
  host_reader.join();
  return !device.blocks.outcome() ? device.blocks.outcome() : host.blocks.outcome();
}

}  // namespace ws::nsys
