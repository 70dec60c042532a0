// What people hand over by mistake, told by its first bytes: a table, first match wins.
// Tested by: registry_test.cpp
#include "import/refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "import/nsys.h"

namespace ws {
namespace {

using namespace std::string_view_literals;

struct Known {
  std::string_view magic;
  std::string_view found, advice;
};
constexpr Known kKnown[] = {
    {"version https://git-lfs"sv, "a Git LFS pointer, not the file it stands for",
     "run git lfs pull"},
    {"\x00\x05\x16\x07"sv, "a macOS AppleDouble file (resource fork)",
     "use the file of the same name without '._'"},
    {"PK\x03\x04"sv, "a zip archive", "unpack it and analyze the files inside"},
    {"\x28\xb5\x2f\xfd"sv, "zstd data", "unpack it with zstd -d"},
    {"\xfd\x37zXZ"sv, "xz data", "unpack it with xz -d"},
    {"BZh"sv, "bzip2 data", "unpack it with bzip2 -d"},
    {"WSP\xa7"sv, "a partial of analyzed ranks", "give it to wallsight merge"},
    {"<"sv, "an HTML or XML page", "download the file itself"},
};

bool starts_with(std::string_view s, std::string_view prefix) {
  return s.substr(0, prefix.size()) == prefix;
}

// First character of JSON behind byte order mark and blanks, 0 when there is none.
char first_sign(std::string_view s) {
  if (starts_with(s, "\xef\xbb\xbf")) s.remove_prefix(3);
  const size_t at = s.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? '\0' : s[at];
}

bool begins_with_zeros(std::string_view bytes) {
  const std::string_view start = bytes.substr(0, 100);
  return std::all_of(start.begin(), start.end(), [](char c) { return c == '\0'; });
}

bool is_cut_json(std::string_view bytes) {
  const char c = first_sign(bytes);
  if ((c != '{' && c != '[') || bytes.size() >= kHeadBytes) return false;
  const char last = bytes[bytes.find_last_not_of(" \t\r\n")];
  return last != '}' && last != ']';
}

}  // namespace

bool is_damaged(const FileHead& head) {
  return begins_with_zeros(head.bytes) || is_cut_json(head.bytes);
}

Error refusal(const std::string& path, const FileHead& head) {
  const std::string_view bytes = head.bytes;
  if (starts_with(bytes, kSqliteMagic)) return foreign_database(path);
  for (const Known& k : kKnown) {
    if (starts_with(bytes, k.magic)) {
      return Error{fmt::format("{}: expected a trace, found {}; {}", path, k.found, k.advice)};
    }
  }
  if (begins_with_zeros(bytes)) {
    return Error{fmt::format(
        "{}: expected a trace, found a header of zeros: the export did not finish; run nsys export "
        "again",
        path)};
  }
  if (is_cut_json(bytes)) {
    return Error{fmt::format(
        "{}: expected a PyTorch trace, found JSON that is cut off before its events; copy or "
        "record it again",
        path)};
  }
  if (const char c = first_sign(bytes); c == '{' || c == '[') {
    return Error{fmt::format(
        "{}: expected a PyTorch trace, found JSON without trace events; give the file that "
        "torch.profiler's export_chrome_trace or tensorboard_trace_handler wrote",
        path)};
  }
  return Error{fmt::format(
      "{}: expected a PyTorch trace or an Nsight Systems SQLite export, found neither (it does not "
      "begin as SQLite or JSON); if it is an Nsight Systems report, run {}",
      path, nsys_export_command(path))};
}

}  // namespace ws
