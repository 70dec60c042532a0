// Tested by: recording_writer_test.cpp
#include "collector/frame_writer.h"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "collector/crc32c.h"

namespace ws::collector {
namespace {

void put(char* at, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) at[i] = static_cast<char>(value >> (8 * i) & 0xff);
}

}  // namespace

FrameWriter::~FrameWriter() {
  close();
  ZSTD_freeCCtx(zstd_);
}

int FrameWriter::open(const char* path) noexcept {
  const int fd =
      ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return errno;
  close();
  fd_ = fd;
  written_bytes_ = 0;
  if (zstd_ == nullptr) zstd_ = ZSTD_createCCtx();  // without it bodies are stored as they are
  return 0;
}

int FrameWriter::restart(const char* path) noexcept {
  sequence_ = 0;
  return open(path);
}

// The body behind the room for its header in frame_; true when it is compressed.
bool FrameWriter::compress(std::string_view body) {
  frame_.resize(kHeaderBytes + ZSTD_compressBound(body.size()));
  if (zstd_ != nullptr) {
    const size_t n = ZSTD_compressCCtx(zstd_, frame_.data() + kHeaderBytes,
                                       frame_.size() - kHeaderBytes, body.data(), body.size(), 1);
    if (ZSTD_isError(n) == 0 && n < body.size() && body.size() <= n * kLargestRatio) {
      frame_.resize(kHeaderBytes + n);
      return true;
    }
  }
  std::memcpy(frame_.data() + kHeaderBytes, body.data(), body.size());
  frame_.resize(kHeaderBytes + body.size());
  return false;
}

size_t FrameWriter::prepare(std::string_view body) noexcept {
  frame_.clear();
  if (fd_ < 0 || body.size() > kLargestBody) return 0;
  bool compressed = false;
  try {
    compressed = compress(body);
  } catch (const std::bad_alloc&) {
    frame_.clear();
    return 0;
  }
  char* h = frame_.data();
  std::memcpy(h, kMagic, 4);
  h[4] = static_cast<char>(kFormatVersion);
  h[5] = compressed ? 1 : 0;
  put(h + 6, 0, 2);
  put(h + 8, frame_.size() - kHeaderBytes, 4);
  put(h + 12, body.size(), 4);
  put(h + 16, sequence_, 8);
  put(h + 24, crc32c(h + kHeaderBytes, frame_.size() - kHeaderBytes), 4);
  put(h + 28, crc32c(h, 28), 4);
  return frame_.size();
}

bool FrameWriter::write() noexcept {
  if (fd_ < 0 || frame_.empty()) return false;
  ssize_t n = 0;
  do {
    n = ::write(fd_, frame_.data(), frame_.size());
  } while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(frame_.size())) {
    written_bytes_ += frame_.size();
    ++sequence_;
    return true;
  }
  // A part of a frame is taken back; where that fails readers skip it by its CRC.
  if (n > 0 && ::ftruncate(fd_, static_cast<off_t>(written_bytes_)) != 0)
    written_bytes_ += static_cast<uint64_t>(n);
  return false;
}

void FrameWriter::sync() noexcept {
  if (fd_ >= 0) ::sync_file_range(fd_, 0, 0, SYNC_FILE_RANGE_WRITE);
}

void FrameWriter::close() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace ws::collector
