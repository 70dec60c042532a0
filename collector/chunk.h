#pragma once
// The rows of one frame as columns, and their encoding as one Chunk of schemas/recording.proto.
// One thread.
#include <string>
#include <string_view>
#include <vector>

#include "collector/rows.h"

namespace ws::collector {

inline constexpr size_t kChunkRows = 8192;

// One table as it goes on the wire. Field numbers count from 1, so a row is the list of its values,
// signed ones zigzagged already. The first column is always written, the others only when they say
// something.
template <size_t kColumns>
class Table {
 public:
  void add(const uint64_t (&row)[kColumns]) {
    for (size_t i = 0; i < kColumns; ++i) {
      columns_[i].push_back(row[i]);
      any_[i] = any_[i] || row[i] != 0;
    }
  }
  static constexpr uint32_t columns() { return kColumns; }
  size_t rows() const { return columns_[0].size(); }
  bool says(size_t column) const { return column == 0 || any_[column]; }
  const std::vector<uint64_t>& column(size_t i) const { return columns_[i]; }
  void clear() {
    for (auto& c : columns_) c.clear();
    for (bool& any : any_) any = false;
    last_ns = 0;
    last_correlation = 0;
  }

  // Of the row before.
  int64_t last_ns = 0;
  uint32_t last_correlation = 0;

 private:
  std::vector<uint64_t> columns_[kColumns];
  bool any_[kColumns] = {};
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
  void add(const StepRow& r);

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
  void clear_rows();   // keeps shapes, devices, threads, windows, losses, messages
  void clear_known();  // shapes, devices and messages: what a new file says again

 private:
  template <size_t n>
  uint64_t begin(Table<n>& table, int64_t begin_ns);
  void encode_heading(const Heading& heading, std::string& out) const;
  void encode_lists(std::string& out) const;
  // visit(field number of Chunk, table) for every table.
  template <class Self, class Visit>
  static void each_table(Self& self, Visit visit);

  size_t rows_ = 0;
  bool has_base_ = false;
  int64_t base_ns_ = 0;
  Table<9> kernels_;
  Table<12> copies_;
  Table<9> fills_;
  Table<7> graph_runs_;
  Table<5> calls_;
  Table<8> syncs_;
  Table<4> events_;
  Table<4> overheads_;
  Table<7> ranges_;
  Table<3> memory_;
  Table<3> steps_;
  std::vector<CollectiveRow> collectives_;  // of the ranges
  std::vector<std::pair<uint32_t, ShapeRow>> shapes_;
  std::vector<DeviceRow> devices_;
  std::vector<ThreadRow> threads_;
  std::vector<WindowRow> windows_;
  std::vector<LossRow> losses_;
  std::vector<MessageRow> messages_;
};

}  // namespace ws::collector
