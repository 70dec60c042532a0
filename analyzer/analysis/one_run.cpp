// Tested by: run_builder_test.cpp
#include "analysis/one_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"

namespace ws {
namespace {

// Times since the epoch are comparable between files; anything before 2001 is some other clock.
constexpr TimeNs kEpochFrom = 1'000'000'000'000'000'000;
// Ranks of one run record the same minutes. Gaps beyond this, and beyond the recordings' own
// length, are between different recordings.
constexpr TimeNs kSameRunGap = 10LL * 60 * 1'000'000'000;

std::string_view folder_of(std::string_view path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}
using Groups = std::vector<std::vector<std::string>>;  // file names per run found

Error different_runs(std::string_view why, const Groups& groups) {
  std::string text = fmt::format(
      "inputs: expected the ranks of one run, found {} runs ({}): ", groups.size(), why);
  for (size_t g = 0; g < groups.size(); ++g) {
    text += g == 0 ? "[" : ", [";
    for (size_t i = 0; i < std::min<size_t>(3, groups[g].size()); ++i)
      text += (i > 0 ? ", " : "") + groups[g][i];
    if (groups[g].size() > 3) text += fmt::format(" and {} more", groups[g].size() - 3);
    text += "]";
    if (g == 7 && groups.size() > 8) {
      text += fmt::format(" and {} more", groups.size() - 8);
      break;
    }
  }
  return Error{text + "; analyze them one run at a time"};
}

std::optional<Error> by_world_size(const std::vector<RankAnalysis>& ranks) {
  std::map<int32_t, std::vector<std::string>> sizes;
  for (const RankAnalysis& rank : ranks)
    if (rank.world_size > 0) sizes[rank.world_size].push_back(file_of(rank.path));
  if (sizes.size() < 2) return std::nullopt;
  Groups groups;
  std::string why = "world sizes";
  for (const auto& [size, files] : sizes) {
    why += fmt::format("{} {}", groups.empty() ? "" : ",", size);
    groups.push_back(files);
  }
  return different_runs(why, groups);
}

std::optional<Error> by_time(const std::vector<RankAnalysis>& ranks) {
  std::vector<std::pair<Interval, std::string>> spans;
  for (const RankAnalysis& rank : ranks) {
    const Interval span{rank.clock_base_ns + rank.capture.begin_ns,
                        rank.clock_base_ns + rank.capture.end_ns};
    if (span.begin_ns < kEpochFrom) return std::nullopt;
    spans.emplace_back(span, file_of(rank.path));
  }
  std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first.begin_ns, a.second) < std::tie(b.first.begin_ns, b.second);
  });
  Groups groups;
  Interval so_far{};
  for (const auto& [span, file] : spans) {
    const bool apart =
        !groups.empty() && span.begin_ns - so_far.end_ns > std::max(kSameRunGap, so_far.length());
    if (groups.empty() || apart) {
      groups.emplace_back();
      so_far = span;
    }
    so_far.end_ns = std::max(so_far.end_ns, span.end_ns);
    groups.back().push_back(file);
  }
  if (groups.size() < 2) return std::nullopt;
  return different_runs("recorded at different times", groups);
}

// The same ranks again in another folder: before/rank0, before/rank1, after/rank0, after/rank1.
std::optional<Error> by_folder(const std::vector<RankAnalysis>& ranks) {
  std::map<std::string, std::vector<std::string>> folders;
  std::map<std::string, std::set<int32_t>> claimed;
  std::map<int32_t, int> claims;
  for (const RankAnalysis& rank : ranks) {
    if (rank.rank_source == RankSource::order) return std::nullopt;
    const std::string folder(folder_of(rank.path));
    if (!claimed[folder].insert(rank.rank).second) return std::nullopt;
    folders[folder].push_back(file_of(folder) + "/" + file_of(rank.path));
    ++claims[rank.rank];
  }
  if (folders.size() < 2) return std::nullopt;
  for (const auto& [rank, count] : claims)
    if (count < 2) return std::nullopt;
  Groups groups;
  for (const auto& [folder, files] : folders) groups.push_back(files);
  return different_runs("every rank occurs in several folders", groups);
}

using OfFile = std::map<std::string, std::set<std::string>>;  // what a file holds, by path

// What differs between files that do not say which rank of which run they are. A run over several
// models of GPU, or recorded by several tools, is rare: its files have to name their ranks.
std::optional<Error> by_contents(const std::vector<RankAnalysis>& ranks, std::string_view what,
                                 const OfFile& contents) {
  constexpr size_t kNamed = 4;
  if (std::none_of(ranks.begin(), ranks.end(),
                   [](const RankAnalysis& r) { return r.rank_source == RankSource::order; }))
    return std::nullopt;
  std::map<std::string, std::vector<std::string>> files;
  for (const auto& [path, names] : contents)
    files[fmt::format("{}", fmt::join(names, " + "))].push_back(file_of(path));
  if (files.size() < 2) return std::nullopt;
  Groups groups;
  std::string why(what);
  for (const auto& [name, of_name] : files) {
    if (groups.size() < kNamed) why += fmt::format("{} {}", groups.empty() ? ":" : ",", name);
    groups.push_back(of_name);
  }
  if (groups.size() > kNamed) why += fmt::format(" and {} more", groups.size() - kNamed);
  return different_runs(why, groups);
}

std::optional<Error> by_gpu(const std::vector<RankAnalysis>& ranks) {
  OfFile models;
  for (const RankAnalysis& rank : ranks) {
    for (const DeviceAnalysis& device : rank.devices)
      if (!device.gpu.empty()) models[rank.path].insert(one_line(to_utf8(device.gpu)));
  }
  return by_contents(ranks, "other GPUs", models);
}

std::optional<Error> by_format(const std::vector<RankAnalysis>& ranks) {
  OfFile formats;
  for (const RankAnalysis& rank : ranks) formats[rank.path].insert(rank.format);
  return by_contents(ranks, "other formats", formats);
}

}  // namespace

std::string file_of(std::string_view path) {
  return one_line(to_utf8(path.substr(path.find_last_of('/') + 1)));
}

std::optional<Error> check_one_run(const std::vector<RankAnalysis>& ranks) {
  for (auto check : {by_world_size, by_time, by_folder, by_gpu, by_format})
    if (auto error = check(ranks)) return error;
  return std::nullopt;
}

}  // namespace ws
