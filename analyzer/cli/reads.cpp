// Files are compared by what they are, not by their names: links and other spellings count.
// Tested by: cli_test (outputs_test.cpp), tests/cli/files_check.py
#include "cli/reads.h"

#include <algorithm>
#include <filesystem>

#include "cli/common.h"
#include "import/recording_segments.h"

namespace ws::cli {
namespace {

namespace fs = std::filesystem;

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code ec;
  return fs::equivalent(a, b, ec) && !ec;
}

// The folder and those in it, where rules and what goes with them lie.
std::vector<fs::path> folders_of_rules(const std::string& folder) {
  constexpr size_t kMostFolders = 5000;
  std::vector<fs::path> out = {folder};
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    std::error_code unknown;
    if (it->is_directory(unknown) && out.size() < kMostFolders) out.push_back(it->path());
  }
  return out;
}

// A new file counts as well: the next command would read it as a rule.
bool is_rule_file(const fs::path& target, const std::string& rule_folder) {
  constexpr size_t kMostFiles = 5000;
  const fs::path beside = target.has_parent_path() ? target.parent_path() : fs::path(".");
  std::error_code unknown;
  const bool exists = fs::exists(target, unknown);
  for (const fs::path& folder : folders_of_rules(rule_folder)) {
    if (target.extension() == ".json" && same_file(beside, folder)) return true;
    if (!exists) continue;
    size_t seen = 0;
    std::error_code ec;
    for (fs::directory_iterator it(folder, ec), end; !ec && it != end && seen < kMostFiles;
         it.increment(ec), ++seen)
      if (it->path().extension() == ".json" && same_file(target, it->path())) return true;
  }
  return false;
}

}  // namespace

Reads reads_of(std::vector<std::string> inputs, const std::string& config,
               const std::vector<std::string>& rule_folders) {
  Reads out{std::move(inputs), rule_folders};
  const size_t named = out.files.size();
  for (size_t i = 0; i < named; ++i)
    for (std::string& segment : recording::later_segments(out.files[i]))
      out.files.push_back(std::move(segment));
  if (!config.empty()) out.files.push_back(config);
  return out;
}

std::string read_as(const std::string& target, const Reads& reads) {
  if (std::any_of(reads.files.begin(), reads.files.end(),
                  [&](const std::string& file) { return same_file(target, file); }))
    return "an input of this command";
  std::vector<std::string> folders = reads.rule_folders;
  if (const auto data = find_data_folder()) folders.push_back(*data + "/rules");
  if (std::any_of(folders.begin(), folders.end(),
                  [&](const std::string& folder) { return is_rule_file(target, folder); }))
    return "a file of a rule folder, an input of this command";
  return "";
}

}  // namespace ws::cli
