#pragma once
// One recording being written: rows go into the open chunk, a full chunk becomes a frame. What can
// not be written is counted and said in the next frame that can. One thread (the writer).
//
// A recording that grows becomes several files, its segments. Each can be read alone: it says again
// what the earlier ones said once. When all together would be larger than the cap, the oldest is
// removed: the end of a run is kept.
#include <deque>
#include <string>
#include <unordered_map>

#include "collector/chunk.h"
#include "collector/frame_writer.h"
#include "collector/names.h"

namespace ws::collector {

// "a.wst" for number 0, then "a.1.wst", "a.2.wst", ...
std::string segment_path(const std::string& first, uint32_t number);

ClockRow read_clocks() noexcept;
int64_t monotonic_ns() noexcept;

class Recording {
 public:
  explicit Recording(Names& names) : names_(names) {}

  static constexpr uint64_t kSegments = 8;  // of the cap

  // Makes the first file; 0 or the errno. The process row goes into its first frame.
  int open(const std::string& path, uint64_t cap_bytes, ProcessRow process);
  // Known only when a window begins; the process row is then written again.
  void set_cupti_version(uint32_t version) {
    if (version == process_.cupti_version) return;
    process_.cupti_version = version;
    process_written_ = false;
  }
  bool is_open() const { return file_.is_open(); }

  template <class Row>
  void add(const Row& row) {
    chunk_.add(row);
    if (chunk_.rows() >= kChunkRows) flush();
  }
  void add(const DeviceRow& row) {
    devices_.push_back(row);
    chunk_.add(row);
  }
  void add(const MessageRow& row) {
    if (messages_.size() < kMostMessages) messages_.push_back(row);
    chunk_.add(row);
  }
  void add(const RangeRow& row, const CollectiveRow* collective) {
    chunk_.add(row, collective);
    if (chunk_.rows() >= kChunkRows) flush();
  }
  uint32_t shape(const ShapeRow& shape);  // its id; the row is written once
  void lose(LossSource source, uint64_t count);

  // Throws away what was written, and begins the file anew: 0 or the errno.
  int restart();
  void flush();                   // writes what is held, if anything
  void finish(FooterRow footer);  // `rows` is filled in here
  void sync() { file_.sync(); }
  void abandon() { file_.close(); }  // in a fork child
  uint64_t rows_written() const { return rows_written_; }
  uint64_t bytes_written() const { return earlier_bytes_ + file_.written_bytes(); }  // still there

 private:
  struct ShapeHash {
    size_t operator()(const ShapeRow& s) const noexcept;
  };
  static constexpr size_t kMostMessages = 100;
  void write(const FooterRow* footer);
  size_t prepare(const FooterRow* footer);
  bool next_segment();
  bool make_room(uint64_t bytes, bool last);

  Names& names_;
  FrameWriter file_;
  Chunk chunk_;
  ProcessRow process_;
  struct Segment {
    std::string path;
    uint64_t bytes = 0, rows = 0;
  };
  std::string first_path_;
  Segment segment_;              // being written
  std::deque<Segment> earlier_;  // those still there
  uint64_t cap_bytes_ = 0, segment_bytes_ = 0, earlier_bytes_ = 0;
  std::vector<DeviceRow> devices_;
  std::vector<MessageRow> messages_;
  bool process_written_ = false;
  uint32_t names_written_ = 0, names_prepared_ = 0;
  uint64_t rows_written_ = 0;
  std::unordered_map<ShapeRow, uint32_t, ShapeHash> shapes_;
  std::string body_;
};

}  // namespace ws::collector
