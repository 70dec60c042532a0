#pragma once
// Frames of schemas/recording_format.md in a file: header, CRCs, zstd, the cap. A frame that could
// not be written whole is taken back, so that the file always ends with a whole frame. One thread.
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

  // Makes the file, which must not exist; 0 or the errno.
  int open(const char* path, uint64_t cap_bytes) noexcept;
  bool is_open() const { return fd_ >= 0; }
  enum class Outcome : uint8_t { written, full, failed };
  // `last` frames may use the room that is kept back for them below the cap.
  Outcome write(std::string_view body, bool last = false) noexcept;
  void sync() noexcept;   // fdatasync
  void close() noexcept;  // also what a fork child does: nothing is flushed here
  uint64_t written_bytes() const { return written_bytes_; }
  int last_error() const { return last_error_; }

 private:
  bool compress(std::string_view body);
  int fd_ = -1, last_error_ = 0;
  uint64_t cap_bytes_ = 0, written_bytes_ = 0, sequence_ = 0;
  ZSTD_CCtx* zstd_ = nullptr;
  std::vector<char> frame_;
};

}  // namespace ws::collector
