#pragma once
// The checkout as text, for the tests that police it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace ws::house {

inline std::filesystem::path root() { return WS_SOURCE_DIR; }

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline bool ends_with(std::string_view s, std::string_view tail) {
  return s.size() >= tail.size() && s.substr(s.size() - tail.size()) == tail;
}

// Paths relative to the root, sorted, of all files below `folder` with one of the endings.
inline std::vector<std::string> files_below(const std::string& folder,
                                            const std::vector<std::string>& endings) {
  std::vector<std::string> out;
  if (!std::filesystem::exists(root() / folder)) return out;
  for (const auto& e : std::filesystem::recursive_directory_iterator(root() / folder)) {
    if (!e.is_regular_file()) continue;
    std::string path = std::filesystem::relative(e.path(), root()).generic_string();
    for (const std::string& ending : endings) {
      if (ends_with(path, ending)) {
        out.push_back(path);
        break;
      }
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

inline std::vector<std::string> sources_of(const std::string& folder) {
  return files_below(folder, {".cpp", ".h"});
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

}  // namespace ws::house
