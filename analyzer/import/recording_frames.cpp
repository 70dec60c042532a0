// A frame is believed when both its CRCs are right. Behind a damaged one the search for the next
// header starts at the byte after its magic, so a frame that was torn in the middle of a file costs
// only itself. A hostile file could make that search check the same bytes again and again; a budget
// in proportion to the file ends it, and from then on a bad body is skipped as a whole.
// Tested by: recording_damage_test.cpp
#include "import/recording_frames.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <isa-l/crc.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/file_error.h"

namespace ws::recording {
namespace {

uint64_t number(std::string_view bytes, size_t at, size_t size) {
  uint64_t v = 0;
  for (size_t i = size; i-- > 0;) v = v << 8 | static_cast<unsigned char>(bytes[at + i]);
  return v;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  // The library's function takes what it only reads as writable.
  auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  return ~crc32_iscsi(data, static_cast<int>(bytes.size()), ~0u);
}

bool parse_header(std::string_view bytes, Header& out) {
  if (bytes.size() < kHeaderBytes || bytes.substr(0, kMagic.size()) != kMagic) return false;
  if (number(bytes, 28, 4) != crc32c(bytes.substr(0, 28))) return false;
  out.version = static_cast<unsigned char>(bytes[4]);
  out.compressed = bytes[5] == 1;
  out.stored_bytes = static_cast<uint32_t>(number(bytes, 8, 4));
  out.plain_bytes = static_cast<uint32_t>(number(bytes, 12, 4));
  out.sequence = number(bytes, 16, 8);
  out.crc = static_cast<uint32_t>(number(bytes, 24, 4));
  if (out.version != kVersion) return true;
  const bool sizes = out.stored_bytes <= kLargestBody && out.plain_bytes <= kLargestBody &&
                     out.plain_bytes <= uint64_t{out.stored_bytes} * kLargestRatio &&
                     (out.compressed || out.plain_bytes == out.stored_bytes);
  return sizes && (bytes[5] == 0 || bytes[5] == 1) && number(bytes, 6, 2) == 0;
}

Result<FrameReader> FrameReader::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat st {};
  if (fd < 0 || ::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    const int why = fd < 0 ? errno : EINVAL;
    if (fd >= 0) ::close(fd);
    return can_not_read(path, why);
  }
  return FrameReader(fd, static_cast<uint64_t>(st.st_size));
}

FrameReader::FrameReader(FrameReader&& other) noexcept
    : fd_(other.fd_), file_bytes_(other.file_bytes_) {
  other.fd_ = -1;
}

FrameReader::~FrameReader() {
  if (fd_ >= 0) ::close(fd_);
}

// False when the file ends (or can not be read) before that many bytes.
bool FrameReader::read_at(uint64_t offset, size_t size, std::string& out) const {
  if (offset > file_bytes_ || size > file_bytes_ - offset) return false;
  out.resize(size);
  for (size_t done = 0; done < size;) {
    const ssize_t n =
        ::pread(fd_, out.data() + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

void FrameReader::skip_to(uint64_t offset) {
  if (damage_.first_byte < 0) damage_.first_byte = static_cast<int64_t>(offset_);
  offset_ = offset;
}

// Moves offset_ to the next header; false when there is none.
bool FrameReader::find_header(Header& header) {
  constexpr size_t kBlock = size_t{64} * 1024;
  while (file_bytes_ - offset_ >= kHeaderBytes) {
    const size_t size = static_cast<size_t>(std::min<uint64_t>(kBlock, file_bytes_ - offset_));
    // Nearly always the header stands right here.
    if (!read_at(offset_, kHeaderBytes, scan_)) return false;
    if (parse_header(scan_, header)) return true;
    if (!read_at(offset_, size, scan_)) return false;
    size_t at = 1;
    for (; (at = scan_.find(kMagic, at)) != std::string::npos; ++at) {
      if (at + kHeaderBytes > size) break;  // the next block shows all of it
      if (!parse_header(std::string_view(scan_).substr(at), header)) continue;
      skip_to(offset_ + at);
      return true;
    }
    if (size < kBlock) return false;
    skip_to(offset_ + (at == std::string::npos ? size - kHeaderBytes : at));
  }
  return false;
}

bool FrameReader::take_body(const Header& header, std::string& body) {
  if (!read_at(offset_ + kHeaderBytes, header.stored_bytes, stored_)) return false;
  checked_bytes_ += header.stored_bytes;
  if (crc32c(stored_) != header.crc) return false;
  if (!header.compressed) {
    body = stored_;
    return true;
  }
  body.resize(header.plain_bytes);
  return ZSTD_decompress(body.data(), body.size(), stored_.data(), stored_.size()) ==
         header.plain_bytes;
}

bool FrameReader::next(std::string& body, Header& header) {
  constexpr uint64_t kChecksOfAByte = 8;
  while (find_header(header)) {
    const uint64_t end = offset_ + kHeaderBytes + header.stored_bytes;
    if (header.version != kVersion) {
      if (damage_.foreign_version++ == 0) damage_.version = header.version;
      skip_to(offset_ + kMagic.size());
      continue;
    }
    if (!take_body(header, body)) {
      const bool patient = checked_bytes_ < kChecksOfAByte * (file_bytes_ + kLargestBody);
      skip_to(patient ? offset_ + kMagic.size() : std::min(end, file_bytes_));
      continue;
    }
    damage_.skipped_bytes += offset_ - last_good_end_;
    const uint64_t expected = next_sequence_.value_or(header.sequence);
    if (header.sequence >= expected) {
      damage_.missing_frames += header.sequence - expected;
      next_sequence_ = header.sequence == UINT64_MAX ? header.sequence : header.sequence + 1;
    }
    offset_ = last_good_end_ = end;
    return true;
  }
  damage_.tail_bytes = file_bytes_ - last_good_end_;
  return false;
}

}  // namespace ws::recording
