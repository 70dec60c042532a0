// Tested by: recorder_test.py, install_check.sh
#include "cli/inject_library.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace ws::cli {

Result<std::string> find_inject_library() {
  namespace fs = std::filesystem;
  std::error_code ec;
  constexpr const char* kName = "libwallsight_inject.so";
  const fs::path program = fs::read_symlink("/proc/self/exe", ec);
  std::vector<fs::path> places;
  if (!ec) {
    const fs::path lib = program.parent_path() / ".." / "lib";
    places = {lib / "wallsight" / kName, lib / kName};
    for (const char* machine : {"x86_64-linux-gnu", "aarch64-linux-gnu"})
      places.push_back(lib / machine / "wallsight" / kName);
    places.push_back(program.parent_path() / ".." / "lib64" / "wallsight" / kName);
  }
  if (const char* named = std::getenv("WALLSIGHT_INJECT"); named != nullptr && *named != '\0')
    places.emplace_back(named);
  for (const fs::path& place : places) {
    if (fs::is_regular_file(place, ec)) return fs::canonical(place, ec).string();
  }
  return Error{fmt::format(
      "{}: expected ../lib/wallsight/{} beside it, found none; install wallsight as a whole or set "
      "WALLSIGHT_INJECT to the library",
      program.parent_path().string(), kName)};
}

}  // namespace ws::cli
