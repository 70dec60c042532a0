#pragma once
// Fills one TraceBuilder with the chunks of a recording.
#include <map>
#include <string>
#include <unordered_map>

#include "import/recording_chunk.h"
#include "model/trace_builder.h"

namespace ws::recording {

class Rows {
 public:
  explicit Rows(int64_t pid) : process_(builder.process(pid)) {}
  // `frame` is its number in the file, for the places of notes.
  void add(const Chunk& chunk, int64_t frame);
  // Sizes of the groups and details of the devices, known only at the end.
  void finish();
  TimeNs overhead_ns() const { return overhead_ns_; }  // of CUPTI's own work, summed

  TraceBuilder builder;

 private:
  enum class Use : uint8_t { device_record, call, range };
  struct Name {
    std::string text;
    StringId interned[3] = {};
    bool known[3] = {};
  };
  struct Row {
    const Table& table;
    size_t number;
    TimeNs begin_ns = 0, end_ns = 0;
    uint32_t correlation = kNoCorrelation;
    int64_t operator[](uint32_t field) const { return table.at(field, number); }
  };
  StringId name(Use use, int64_t id);
  StringId kernel_name(int64_t shape);
  bool accepts(TimeNs begin_ns, TimeNs end_ns, int64_t device, const Place& place);
  StreamId stream(int64_t device, int64_t context, int64_t number);
  uint32_t graph_of(int64_t graph, int64_t node, uint32_t correlation);

  template <class Take>
  void each_row(const Chunk& c, TableField field, uint32_t correlation, uint32_t device,
                const Place& place, Take take);
  OpRow device_record(const Row& row, uint32_t device, bool in_graph);
  void add_device_records(const Chunk& c, Place& place);
  void add_calls(const Chunk& c, Place& place);
  void add_syncs(const Chunk& c, Place& place);
  void add_event_records(const Chunk& c);
  void add_overheads(const Chunk& c, Place& place);
  void add_ranges(const Chunk& c, Place& place);
  void add_memory(const Chunk& c, Place& place);
  uint32_t add_collective(const Chunk& c, size_t row, std::string_view call);

  ProcessId process_;
  TimeNs overhead_ns_ = 0;
  std::unordered_map<uint64_t, Name> names_;       // by id
  std::unordered_map<uint64_t, uint64_t> shapes_;  // id -> name
  std::unordered_map<uint32_t, uint32_t> graphs_;  // correlation -> graph
  std::map<int64_t, DeviceInfo> devices_;
  std::map<std::string, int64_t, std::less<>> group_sizes_;  // by communicator
  struct {
    int64_t device = -1, context = -1, number = -1;
    StreamId id{};
  } last_stream_;
};

}  // namespace ws::recording
