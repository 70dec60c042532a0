#pragma once
// The frames of a recording, one after the other, whatever the file holds:
// schemas/recording_format.md.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ws::recording {

inline constexpr std::string_view kMagic = "\x57\x53\x46\xa7";
inline constexpr size_t kHeaderBytes = 32, kLargestBody = size_t{16} << 20, kLargestRatio = 256;
inline constexpr int kVersion = 1;

struct Header {
  int version = 0;
  bool compressed = false;
  uint32_t stored_bytes = 0, plain_bytes = 0, crc = 0;
  uint64_t sequence = 0;
};
// The header that stands at the begin of `bytes`; false when it is none or damaged.
bool parse_header(std::string_view bytes, Header& out);
uint32_t crc32c(std::string_view bytes);

struct Damage {
  int64_t first_byte = -1;       // where the first skipped byte stands
  uint64_t skipped_bytes = 0;    // between frames, and bodies that are not what their header says
  uint64_t missing_frames = 0;   // by their sequence numbers
  uint64_t tail_bytes = 0;       // behind the last whole frame: torn off by the end of the process
  uint64_t foreign_version = 0;  // frames of another version of the format
  int version = 0;               // of the first of them
};

class FrameReader {
 public:
  static Result<FrameReader> open(const std::string& path);
  FrameReader(FrameReader&& other) noexcept;
  FrameReader& operator=(FrameReader&&) = delete;
  ~FrameReader();

  // The inflated body of the next whole frame; false at the end of the file.
  bool next(std::string& body, Header& header);
  const Damage& damage() const { return damage_; }  // complete after next() gave false
  // The number that the next frame should have; nullopt: any, it stands at the begin of what is
  // left.
  void expect(std::optional<uint64_t> sequence) { next_sequence_ = sequence; }
  std::optional<uint64_t> expected() const { return next_sequence_; }

 private:
  FrameReader(int fd, uint64_t file_bytes) : fd_(fd), file_bytes_(file_bytes) {}
  bool read_at(uint64_t offset, size_t size, std::string& out) const;
  bool find_header(Header& header);
  bool take_body(const Header& header, std::string& body);
  void skip_to(uint64_t offset);

  int fd_;
  uint64_t file_bytes_, offset_ = 0, checked_bytes_ = 0;
  std::optional<uint64_t> next_sequence_ = 0;
  uint64_t last_good_end_ = 0;
  std::string stored_, scan_;
  Damage damage_;
};

}  // namespace ws::recording
