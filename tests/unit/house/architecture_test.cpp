// ARCHITECTURE.md names every folder, and every folder it names is there.
#include <set>

#include "support/catch.h"
#include "unit/house/source_tree.h"

namespace ws::house {
namespace {

// `folder/` in back quotes, anywhere in the page.
std::set<std::string> named_folders(const std::string& page) {
  std::set<std::string> out;
  for (size_t at = page.find('`'); at != std::string::npos;) {
    const size_t end = page.find('`', at + 1);
    if (end == std::string::npos) break;
    const std::string word = page.substr(at + 1, end - at - 1);
    if (ends_with(word, "/") && word.find(' ') == std::string::npos) out.insert(word);
    at = page.find('`', end + 1);
  }
  return out;
}

// Folders that need a line: the top level, and what is directly in analyzer and tests.
std::vector<std::string> folders_of_the_tree() {
  std::vector<std::string> out;
  for (const char* parent : {"", "analyzer/", "tests/"}) {
    for (const auto& e : std::filesystem::directory_iterator(root() / parent)) {
      const std::string name = e.path().filename().string();
      const bool generated = name == "build" || name[0] == '.' || name == "__pycache__";
      const bool outside = std::string(parent).empty() && e.is_symlink();
      if (e.is_directory() && !generated && !outside && !std::filesystem::is_empty(e.path()))
        out.push_back(parent + name + "/");
    }
  }
  return out;
}

}  // namespace

TEST_CASE("every folder is named in ARCHITECTURE.md") {
  const std::set<std::string> named = named_folders(read_text(root() / "ARCHITECTURE.md"));
  const std::vector<std::string> folders = folders_of_the_tree();
  REQUIRE(folders.size() > 10);
  for (const std::string& folder : folders) {
    INFO(folder);
    CHECK(named.count(folder) == 1);
  }
}

TEST_CASE("every folder named in ARCHITECTURE.md exists") {
  for (const std::string& folder : named_folders(read_text(root() / "ARCHITECTURE.md"))) {
    INFO(folder);
    CHECK(std::filesystem::is_directory(root() / folder));
  }
}

TEST_CASE("ARCHITECTURE.md stays within two screens") {
  CHECK(lines_of(read_text(root() / "ARCHITECTURE.md")).size() <= 100);
}

}  // namespace ws::house
