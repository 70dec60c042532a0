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

constexpr std::string_view kWithTorch =
    "record the run with torch.profiler (export_chrome_trace) or nsys profile";
constexpr std::string_view kOfNsysJax =
    "of nsys-jax give the .nsys-rep, or its nsys export --type=sqlite; tables can not be read";

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
    {"PAR1"sv, "a Parquet table", kOfNsysJax},
    {"ARROW1"sv, "an Arrow table", kOfNsysJax},
    {"\x89HDF"sv, "an HDF5 file", kWithTorch},
    {"NVR\0"sv, "a report of Nsight Compute: single kernels, no timeline", kWithTorch},
    {"\x93NUMPY"sv, "a NumPy array", kWithTorch},
    {"\x7f"
     "ELF"sv,
     "a program or library", kWithTorch},
    {"\x89PNG"sv, "a picture", "give the recording that it was made of"},
    {"%PDF"sv, "a PDF document", "give the recording that it was made of"},
    {"7z\xbc\xaf"sv, "a 7z archive", "unpack it and analyze the files inside"},
};

bool holds(std::string_view bytes, std::string_view part) {
  return bytes.find(part) != std::string_view::npos;
}

bool is_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

// XSpace of XLA: field 1 of a message, planes with names as below.
bool is_xplane(std::string_view bytes) {
  return !bytes.empty() && bytes[0] == '\n' &&
         (holds(bytes, "/host:metadata") || holds(bytes, "/host:CPU") ||
          holds(bytes, "/device:GPU:") || holds(bytes, "/device:TPU:"));
}

bool is_tar(std::string_view bytes) {
  return bytes.size() > 262 && bytes.substr(257, 5) == "ustar";
}

bool starts_with(std::string_view s, std::string_view prefix) {
  return s.substr(0, prefix.size()) == prefix;
}

// First character of JSON behind byte order mark and blanks, 0 when there is none.
char first_sign(std::string_view s) {
  if (starts_with(s, "\xef\xbb\xbf")) s.remove_prefix(3);
  const size_t at = s.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? '\0' : s[at];
}

// schemas/report.schema.json: the keys with which it begins.
bool is_own_json(std::string_view bytes) {
  const std::string_view start = bytes.substr(0, 400);
  return first_sign(start) == '{' && holds(start, "\"schema\":") && holds(start, "\"tool\":") &&
         holds(start, "\"run\":") && holds(start, "\"sources\":");
}

bool is_own_report(std::string_view bytes) {
  return is_own_json(bytes) || starts_with(bytes, "wallsight ") ||
         starts_with(bytes, "# wallsight ");
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

// What stands in a packed file by its name, where unpacking it would not help: "report.csv.xz".
std::string_view packed_table(std::string_view path) {
  constexpr std::string_view kPacked[] = {".xz", ".zst", ".bz2", ".zip"};
  const auto take = [&](std::string_view end) {
    const bool ends = path.size() > end.size() && path.substr(path.size() - end.size()) == end;
    if (ends) path.remove_suffix(end.size());
    return ends;
  };
  if (!std::any_of(std::begin(kPacked), std::end(kPacked), take)) return {};
  return take(".csv")       ? " with a CSV table in it"
         : take(".parquet") ? " with a Parquet table in it"
         : take(".arrow")   ? " with an Arrow table in it"
                            : std::string_view{};
}

}  // namespace

Recognised recognise(const FileHead& head) {
  const std::string_view bytes = head.bytes;
  for (const Known& k : kKnown)
    if (bytes.substr(0, k.magic.size()) == k.magic) return {k.found, k.advice};
  if (is_own_report(bytes))
    return {"a report of wallsight", "give the recording that it was made of"};
  if (is_pickle(bytes)) {
    if (holds(bytes, "segments") && (holds(bytes, "total_size") || holds(bytes, "device_traces")))
      return {
          "a memory snapshot of PyTorch (a pickle): allocations, no kernels; it is for "
          "pytorch.org/memory_viz",
          kWithTorch};
    return {"a Python pickle", kWithTorch};
  }
  if (is_xplane(bytes)) {
    return {"an XPlane file of the JAX or TensorFlow profiler, which can not be read",
            "record the program with nsys profile, or with wallsight record"};
  }
  if (is_tar(bytes)) return {"a tar archive", "unpack it and analyze the files inside"};
  return {};
}

bool is_own_product(const FileHead& head) {
  const bool facts =
      starts_with(head.bytes, kSqliteMagic) && holds(head.bytes, "CREATE TABLE fact_run");
  return facts || is_own_report(head.bytes);
}

bool is_damaged(const FileHead& head) {
  return begins_with_zeros(head.bytes) || is_cut_json(head.bytes);
}

Error refusal(const std::string& path, const FileHead& head) {
  const std::string_view bytes = head.bytes;
  if (starts_with(bytes, kSqliteMagic)) return foreign_database(path);
  if (const Recognised known = recognise(head); !known.found.empty()) {
    const std::string_view table = packed_table(path);
    return Error{fmt::format("{}: expected a trace, found {}{}; {}", path, known.found, table,
                             table.empty() ? std::string_view(known.advice) : kOfNsysJax)};
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
  if (first_sign(bytes) == '"') {
    return Error{fmt::format(
        "{}: expected a PyTorch trace, found JSON that is a single text; give the file that "
        "torch.profiler's export_chrome_trace or tensorboard_trace_handler wrote",
        path)};
  }
  if (is_nsys_report_name(path)) {
    return Error{fmt::format(
        "{}: expected an Nsight Systems report, found a file that does not begin as one; if nsys "
        "reads it, run {}",
        path, nsys_export_command(path))};
  }
  return Error{fmt::format(
      "{}: expected a PyTorch trace or an Nsight Systems SQLite export, found neither (it does not "
      "begin as SQLite or JSON); record with torch.profiler (export_chrome_trace) or nsys profile",
      path)};
}

}  // namespace ws
