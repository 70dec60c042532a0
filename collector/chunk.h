#pragma once
// The rows of one frame as columns, and their encoding as one Chunk of schemas/recording.proto.
// One thread.
#include <string>
#include <string_view>
#include <vector>

#include "collector/rows.h"

namespace ws::collector {

inline constexpr size_t kChunkRows = 8192;

template <class T>
class Column {
 public:
  void add(T v) {
    values_.push_back(v);
    any_ = any_ || v != 0;
  }
  bool any() const { return any_; }
  const std::vector<T>& values() const { return values_; }
  size_t size() const { return values_.size(); }
  void clear() {
    values_.clear();
    any_ = false;
  }

 private:
  std::vector<T> values_;
  bool any_ = false;
};

// begin, duration and correlation as they are written.
struct Times {
  Column<int64_t> begin_delta, duration;
  int64_t last_ns = 0;
  void add(int64_t begin_ns, int64_t end_ns, int64_t base_ns);
  void clear();
};
struct Correlations {
  Column<int32_t> delta;
  uint32_t last = 0;
  void add(uint32_t correlation);
  void clear();
};

class Chunk {
 public:
  void add(const KernelRow& r);
  void add(const CopyRow& r);
  void add(const FillRow& r);
  void add(const GraphRunRow& r);
  void add(const CallRow& r);
  void add(const SyncRow& r);
  void add(const EventRecordRow& r);
  void add(const OverheadRow& r);
  void add(const RangeRow& r, const CollectiveRow* collective);
  void add(const MemoryRow& r);

  void add(uint32_t shape_id, const ShapeRow& r) { shapes_.emplace_back(shape_id, r); }
  void add(const DeviceRow& r) { devices_.push_back(r); }
  void add(const ThreadRow& r) { threads_.push_back(r); }
  void add(const WindowRow& r) { windows_.push_back(r); }
  void add(const LossRow& r);  // one row per source
  void add(const MessageRow& r) { messages_.push_back(r); }

  size_t rows() const { return rows_; }  // of the tables
  bool empty() const;

  struct Heading {  // what goes in front of the rows; null: left out
    const ProcessRow* process = nullptr;
    ClockRow clock;
    uint32_t first_name = 0;
    std::vector<std::string_view> names;
    const FooterRow* footer = nullptr;
  };
  void encode(const Heading& heading, std::string& out) const;
  void clear();
  void clear_rows();  // keeps shapes, devices, threads, windows, losses, messages

 private:
  int64_t base(int64_t time_ns);
  void encode_heading(const Heading& heading, std::string& out) const;
  void encode_lists(std::string& out) const;
  void encode_device_tables(std::string& out) const;
  void encode_host_tables(std::string& out) const;

  size_t rows_ = 0;
  bool has_base_ = false;
  int64_t base_ns_ = 0;
  template <class T>
  using C = Column<T>;
  struct Kernels {
    Times times;
    C<uint32_t> shape, device, context, stream, graph;
    Correlations correlation;
    C<uint64_t> node;
  } kernels_;
  struct Copies {
    Times times;
    C<uint64_t> bytes, node;
    C<uint32_t> kind, source, target, device, context, stream, graph;
    Correlations correlation;
  } copies_;
  struct Fills {
    Times times;
    C<uint64_t> bytes, node;
    C<uint32_t> device, context, stream, graph;
    Correlations correlation;
  } fills_;
  struct GraphRuns {
    Times times;
    C<uint32_t> graph, device, context, stream;
    Correlations correlation;
  } graph_runs_;
  struct Calls {
    Times times;
    C<uint32_t> name;
    C<uint64_t> tid;
    Correlations correlation;
  } calls_;
  struct Syncs {
    Times times;
    C<uint32_t> kind, context, stream, event;
    C<uint64_t> event_sync;
    Correlations correlation;
  } syncs_;
  struct Events {
    C<uint32_t> stream, event;
    C<uint64_t> event_sync;
    Correlations correlation;
  } events_;
  struct Overheads {
    Times times;
    C<uint32_t> kind;
    C<uint64_t> tid;
  } overheads_;
  struct Ranges {
    Times times;
    C<uint32_t> name, domain, kind, payload;
    C<uint64_t> tid;
    std::vector<CollectiveRow> collectives;
  } ranges_;
  struct Memory {
    Times times;  // durations are not written
    C<int64_t> bytes;
    C<uint32_t> device;
  } memory_;
  std::vector<std::pair<uint32_t, ShapeRow>> shapes_;
  std::vector<DeviceRow> devices_;
  std::vector<ThreadRow> threads_;
  std::vector<WindowRow> windows_;
  std::vector<LossRow> losses_;
  std::vector<MessageRow> messages_;
};

}  // namespace ws::collector
