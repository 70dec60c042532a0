// The importer: sniffing, and what surrounds the reading of one file.
// Tested by: kineto_test.cpp, kineto_damage_test.cpp
#include "import/kineto.h"

#include <fmt/format.h>

#include <utility>

#include "import/kineto_reader.h"
#include "import/kineto_text.h"

namespace ws {
namespace {

using namespace kineto;

constexpr std::string_view kEventsKey = "\"traceEvents\"";
constexpr size_t kSniffBytes = size_t{8} << 20;  // how far into a file its events may begin

// Files whose header is longer than the head: looks on for the events.
bool has_events_key(const std::string& path) {
  const auto source = Source::open(path);
  if (!source) return false;
  Window window(**source);
  size_t seen = 0;
  const char* keep = nullptr;
  while (seen < kSniffBytes && window.refill(keep)) {
    const std::string_view text(window.begin(), window.size());
    if (text.find(kEventsKey) != std::string_view::npos) return true;
    seen += text.size();
    keep = window.end() - std::min(text.size(), kEventsKey.size());
  }
  return false;
}

bool is_event_array(std::string_view text) {
  std::string padded(text);
  padded.append(Source::kPaddingBytes, '\0');
  Cursor c{padded.data() + 1, padded.data() + text.size(), {}};  // behind the bracket
  if (next_sign(c) != Scan::ok || *c.p != '{') return false;
  Event event;
  return event.scan(c) != Scan::bad && text.find("\"ph\"") != std::string_view::npos;
}

int sniff_kineto(std::string_view head, const std::string& path) {
  if (head.substr(0, 3) == "\xef\xbb\xbf") head.remove_prefix(3);
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return 0;
  head.remove_prefix(first);
  if (head[0] == '[') return is_event_array(head) ? 70 : 0;
  if (head[0] != '{') return 0;
  if (head.find(kEventsKey) != std::string_view::npos) return 90;
  for (std::string_view key : {"\"deviceProperties\"", "\"baseTimeNanoseconds\"",
                               "\"distributedInfo\"", "\"displayTimeUnit\""}) {
    if (head.find(key) != std::string_view::npos) return 40;
  }
  return head.size() >= size_t{32} << 10 && has_events_key(path) ? 80 : 0;
}

Result<std::vector<Trace>> read_kineto_file(const std::string& path) {
  Result<Trace> trace = read_kineto(path, {});
  if (!trace) return trace.error();
  std::vector<Trace> out;
  out.push_back(std::move(*trace));
  return out;
}

void set_rank(const Header& header, const std::string& path, Trace& trace) {
  const auto fits = [](std::optional<int64_t> n) {
    return n && *n >= 0 && *n <= std::numeric_limits<int32_t>::max();
  };
  if (fits(header.world_size)) trace.world_size = static_cast<int32_t>(*header.world_size);
  if (fits(header.rank)) {
    trace.rank = static_cast<int32_t>(*header.rank);
    trace.rank_source = RankSource::distributed_info;
  } else if (const auto rank = rank_in_file_name(path)) {
    trace.rank = *rank;
    trace.rank_source = RankSource::file_name;
  }
}

}  // namespace

Result<Trace> read_kineto(const std::string& path, SourceOptions options) {
  auto source = Source::open(path, options);
  if (!source) return source.error();
  Reader reader(**source, path);
  if (const Result<void> read = reader.read(); !read) return read.error();
  Trace trace = reader.rows().finish(reader.header());
  trace.path = path;
  trace.format = "kineto-json";
  trace.tool_version = "torch profiler";
  if (reader.header().schema) {
    trace.tool_version += fmt::format(" schema {}", *reader.header().schema);
  }
  if (!reader.header().versions.empty()) {
    trace.tool_version += fmt::format(" ({})", reader.header().versions);
  }
  set_rank(reader.header(), path, trace);
  return trace;
}

const Importer kKinetoImporter = {"kineto-json", sniff_kineto, read_kineto_file};

}  // namespace ws
