#pragma once
// A folder of its own for one test, gone with the object.
#include <cstdlib>
#include <filesystem>
#include <string>

namespace ws::test {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string made = (std::filesystem::temp_directory_path() / "wallsight-XXXXXX").string();
    if (::mkdtemp(made.data()) != nullptr) path_ = made;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace ws::test
