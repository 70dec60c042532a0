#pragma once
// The first bytes of an input, inflated when they are gzip: what importers sniff.
#include <cstdint>
#include <string>

#include "base/result.h"

namespace ws {

struct FileHead {
  std::string bytes;       // at most kHeadBytes, inflated when the file is gzip
  int64_t file_bytes = 0;  // of the file as it lies there
  bool gzip = false;
};
inline constexpr size_t kHeadBytes = size_t{64} << 10;

// Errors: not there, not readable, not a regular file, empty, gzip that can not be inflated.
Result<FileHead> read_head(const std::string& path);

}  // namespace ws
