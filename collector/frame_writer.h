#pragma once
// Frames of schemas/recording_format.md in a file: header, CRCs, zstd. A frame that could not be
// written whole is taken back, so that the file always ends with a whole frame. One thread.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

typedef struct ZSTD_CCtx_s ZSTD_CCtx;  // NOLINT(modernize-use-using): as zstd.h says it

namespace ws::collector {

inline constexpr uint8_t kMagic[4] = {0x57, 0x53, 0x46, 0xa7};
inline constexpr uint8_t kFormatVersion = 1;
inline constexpr size_t kHeaderBytes = 32, kLargestBody = size_t{16} << 20;
inline constexpr size_t kLargestRatio = 256;  // of inflated to stored bytes

class FrameWriter {
 public:
  FrameWriter() = default;
  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;
  ~FrameWriter();

  // Makes the file, which must not exist; 0 or the errno. The file before, if any, is then closed;
  // sequence numbers go on.
  int open(const char* path) noexcept;
  int restart(const char* path) noexcept;  // the same, with numbers from 0
  bool is_open() const { return fd_ >= 0; }
  // The frame of this body; its bytes in the file, 0 when it can not be made.
  size_t prepare(std::string_view body) noexcept;
  bool write() noexcept;  // what was prepared
  // Has what was written brought to the disk, without waiting for it: while the writer waits rings
  // run over, and a job that ends waits for the writer.
  void sync() noexcept;
  void close() noexcept;  // also what a fork child does: nothing is flushed here
  uint64_t written_bytes() const { return written_bytes_; }  // of this file

 private:
  bool compress(std::string_view body);
  int fd_ = -1;
  uint64_t written_bytes_ = 0, sequence_ = 0;
  ZSTD_CCtx* zstd_ = nullptr;
  std::vector<char> frame_;
};

}  // namespace ws::collector
