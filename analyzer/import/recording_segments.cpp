// Tested by: recording_segments_test.cpp
#include "import/recording_segments.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include "import/importer.h"

namespace ws {
namespace recording {

namespace fs = std::filesystem;

std::optional<SegmentName> segment_name(const std::string& path) {
  constexpr std::string_view kEnding = ".wst";
  constexpr int64_t kDotsOfFirst = 3;  // between host, rank, pid and start
  if (path.size() <= kEnding.size() ||
      path.compare(path.size() - kEnding.size(), kEnding.size(), kEnding) != 0)
    return std::nullopt;
  SegmentName out{path.substr(0, path.size() - kEnding.size()), 0};
  const size_t name = out.process.rfind('/') + 1;
  const auto dots =
      std::count(out.process.begin() + static_cast<std::ptrdiff_t>(name), out.process.end(), '.');
  if (dots == kDotsOfFirst) return out;
  const size_t dot = out.process.rfind('.');
  const char* end = out.process.data() + out.process.size();
  const auto parsed = std::from_chars(out.process.data() + dot + 1, end, out.number);
  if (dots != kDotsOfFirst + 1 || parsed.ec != std::errc() || parsed.ptr != end)
    return std::nullopt;
  out.process.resize(dot);
  return out;
}

std::vector<std::string> later_segments(const std::string& path) {
  const auto own = segment_name(path);
  if (!own) return {};
  std::map<uint64_t, std::string> found;
  std::error_code failed;
  const fs::path folder = fs::path(path).parent_path();
  fs::directory_iterator it(folder.empty() ? fs::path(".") : folder, failed);
  for (; !failed && it != fs::directory_iterator(); it.increment(failed)) {
    std::error_code unknown;
    const std::string beside = (folder / it->path().filename()).string();
    const auto name = segment_name(beside);
    if (name && name->process == own->process && name->number > own->number &&
        it->is_regular_file(unknown))
      found.emplace(name->number, beside);
  }
  std::vector<std::string> out;
  for (auto& [number, file] : found) out.push_back(std::move(file));
  return out;
}

}  // namespace recording

std::vector<std::string> without_later_segments(const std::vector<std::string>& files) {
  std::map<std::string, uint64_t> first;
  for (const std::string& f : files) {
    const auto name = recording::segment_name(f);
    if (!name) continue;
    const auto [at, fresh] = first.emplace(name->process, name->number);
    if (!fresh) at->second = std::min(at->second, name->number);
  }
  std::vector<std::string> out;
  for (const std::string& f : files) {
    const auto name = recording::segment_name(f);
    if (!name || first.at(name->process) == name->number) out.push_back(f);
  }
  return out;
}

}  // namespace ws
