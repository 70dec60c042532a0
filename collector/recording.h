#pragma once
// One recording being written: rows go into the open chunk, a full chunk becomes a frame. What can
// not be written is counted and said in the next frame that can. One thread (the writer).
#include <string>
#include <unordered_map>

#include "collector/chunk.h"
#include "collector/frame_writer.h"
#include "collector/names.h"

namespace ws::collector {

ClockRow read_clocks() noexcept;
int64_t monotonic_ns() noexcept;

class Recording {
 public:
  explicit Recording(Names& names) : names_(names) {}

  // Makes the file; 0 or the errno. The process row goes into the first frame.
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
  void add(const RangeRow& row, const CollectiveRow* collective) {
    chunk_.add(row, collective);
    if (chunk_.rows() >= kChunkRows) flush();
  }
  uint32_t shape(const ShapeRow& shape);  // its id; the row is written once
  void lose(LossSource source, uint64_t count);

  void flush();                   // writes what is held, if anything
  void finish(FooterRow footer);  // `rows` is filled in here
  void sync() { file_.sync(); }
  void abandon() { file_.close(); }  // in a fork child
  uint64_t rows_written() const { return rows_written_; }
  uint64_t bytes_written() const { return file_.written_bytes(); }

 private:
  struct ShapeHash {
    size_t operator()(const ShapeRow& s) const noexcept;
  };
  void write(const FooterRow* footer);

  Names& names_;
  FrameWriter file_;
  Chunk chunk_;
  ProcessRow process_;
  bool process_written_ = false;
  uint32_t names_written_ = 0;
  uint64_t rows_written_ = 0;
  std::unordered_map<ShapeRow, uint32_t, ShapeHash> shapes_;
  std::string body_;
};

}  // namespace ws::collector
