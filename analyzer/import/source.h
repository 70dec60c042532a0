#pragma once
// The bytes of a file as a stream of blocks, inflated on the way when they are gzip: a thread of
// its own reads and inflates into a bounded ring while the caller parses. Memory does not grow with
// the file. One reader per Source; the thread ends with the object, whether all was read or not.
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"

namespace ws {

struct SourceOptions {  // tests make blocks of one byte
  size_t block_bytes = size_t{256} << 10;
  size_t ring_blocks = 4;
};

// How the stream ended; the text says why when it is not complete.
enum class SourceEnd : uint8_t { complete, cut, damaged, unreadable };

class Source {
 public:
  static constexpr size_t kHeadroomBytes = size_t{64} << 10;  // writable in front of a block
  static constexpr size_t kPaddingBytes = 64;                 // readable behind it

  static Result<std::unique_ptr<Source>> open(const std::string& path, SourceOptions options = {});
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  struct Block {
    char* data = nullptr;
    size_t size = 0;  // 0: the stream is at its end
  };
  // The next block. Blocks stay the caller's until give_back, oldest first; he may hold two.
  Block take();
  void give_back();
  SourceEnd end();  // after take() returned an empty block
  bool gzip() const { return gzip_; }

 private:
  class Inflater;
  explicit Source(SourceOptions options);
  void produce();
  size_t fill(char* out);
  size_t fill_inflated(char* out);
  size_t inflate_into(char* out, size_t size);
  bool read_input();  // false at the end of the file

  SourceOptions options_;
  int fd_ = -1;
  bool gzip_ = false, at_end_of_file_ = false;
  std::vector<char> input_;
  size_t input_begin_ = 0, input_end_ = 0;
  std::unique_ptr<Inflater> inflater_;
  std::vector<char> staged_;  // inflated and not yet given out, with small blocks only
  size_t staged_begin_ = 0;
  SourceEnd end_ = SourceEnd::complete;

  std::vector<std::unique_ptr<char[]>> ring_;
  std::vector<size_t> sizes_;
  uint64_t produced_ = 0, taken_ = 0, returned_ = 0;  // counts of blocks, under mutex_
  bool finished_ = false, stop_ = false;              // under mutex_
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

// A view of the stream that always holds a whole record: refill() keeps what is not yet used and
// adds the next block behind it, without copying the block when the rest is small.
class Window {
 public:
  explicit Window(Source& source) : source_(source) {}
  const char* begin() const { return begin_; }
  const char* end() const { return end_; }
  int64_t offset_of(const char* p) const { return offset_ + (p - begin_); }
  size_t size() const { return static_cast<size_t>(end_ - begin_); }
  // Drops what stands before `keep`; begin() is then where `keep` was. False: no more bytes come.
  bool refill(const char* keep);

 private:
  Source& source_;
  const char* begin_ = nullptr;
  const char* end_ = nullptr;
  int64_t offset_ = 0;  // of begin_ in the inflated stream
  bool holds_block_ = false;
  std::vector<char> spill_;  // when the rest is larger than the headroom
};

}  // namespace ws
