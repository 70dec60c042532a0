// Nearly all of an export is two tables: kernels and API calls. Two threads scan them, and what
// belongs to them, into blocks of plain rows; this thread takes the blocks of each in turn (so the
// result does not depend on who is faster) and fills the builders.
// Tested by: nsys_rows_test.cpp
#include "import/nsys_rows.h"

#include <array>
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

  void add(const Block& block) {
    std::visit(
        [&](const auto& rows) {
          Place place{rows.place, rows.first_row};
          for (const auto& row : rows.rows) {
            add(row, place);
            ++place.number;
          }
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

  void add(const SyncRow& row, const Place& place) {
    Rank& rank = rank_of(ranks_.owner(row.process));
    if (!rank.accepts(row.record.begin_ns, row.record.end_ns, place)) return;
    if (row.record.end_ns < row.record.begin_ns) return;
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

}  // namespace

Result<void> read_device_records_and_calls(const File& file, const Strings& strings, Ranks& ranks) {
  Channel<Block> records, calls;
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
