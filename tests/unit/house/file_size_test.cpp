// Natural sizes: prints the files that are due for a look (over 400 lines) or a split (over 600).
// It is a lint: it fails only when it sees no files at all.
#include <cstdio>

#include "support/catch.h"
#include "unit/house/source_tree.h"

namespace ws::house {

TEST_CASE("files over 400 lines are listed") {
  size_t files = 0;
  for (const char* folder : {"analyzer", "collector", "tests", "samples"}) {
    for (const std::string& file : files_below(folder, {".cpp", ".h", ".py"})) {
      ++files;
      const size_t lines = lines_of(read_text(root() / file)).size();
      if (lines > 600) {
        std::printf("%5zu lines, split it: %s\n", lines, file.c_str());
      } else if (lines > 400) {
        std::printf("%5zu lines, look at it: %s\n", lines, file.c_str());
      }
    }
  }
  CHECK(files > 0);
}

}  // namespace ws::house
