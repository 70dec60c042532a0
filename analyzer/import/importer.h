#pragma once
// One importer = one pair of files + one line in registry.cpp. An importer decides nothing about
// meaning: it maps fields to rows of TraceBuilder and counts what it could not use.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/trace.h"

namespace ws {

struct Importer {
  std::string_view name;  // "nsys-sqlite"
  // First bytes of the file, inflated when it is gzip; `path` only for opening it again.
  int (*sniff)(std::string_view head, const std::string& path);  // 0 = no, higher = surer
  // One Trace per rank found in the file, sorted by pid; the caller gives final rank numbers.
  Result<std::vector<Trace>> (*read)(const std::string& path);
};

// Picks the importer by content and reads. Errors are one line with place and what to do.
Result<std::vector<Trace>> read_file(const std::string& path);

struct FileEntry {
  std::string path;
  int32_t rank = -1;  // -1: the file does not say
};
// Files of a folder or the list itself, sorted; files that are not traces are counted in notes
// (folders) or are an error (named files). Broken ones are an error only where nothing else is
// left.
Result<std::vector<std::string>> list_inputs(const std::vector<std::string>& inputs, Notes& notes);
// A recording may be several files, which are read as one: only the first of each is left.
std::vector<std::string> without_later_segments(const std::vector<std::string>& files);
// A file whose rank is missing because it can not be read.
void note_unreadable(const std::string& path, const Error& why, Notes& notes);

}  // namespace ws
