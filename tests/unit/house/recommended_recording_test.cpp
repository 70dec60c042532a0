// One recommendation: rules and README repeat the schedule that the verdict names, to the letter.
#include "model/recommended_recording.h"
#include "support/catch.h"
#include "unit/house/source_tree.h"

namespace ws::house {

TEST_CASE("one profiler schedule is recommended everywhere") {
  size_t told = 0;
  for (const char* folder : {"rules", "analyzer", "collector", "scripts"}) {
    for (const std::string& file : files_below(folder, {".json", ".md", ".cpp", ".h", ".py"})) {
      const std::string text = read_text(root() / file);
      for (size_t at = text.find("schedule(wait="); at != std::string::npos;
           at = text.find("schedule(wait=", at + 1), ++told) {
        INFO(file << ": " << text.substr(at, 60));
        const size_t back = kProfilerSchedule.find("schedule(wait=");
        REQUIRE(at >= back);
        CHECK(text.substr(at - back, kProfilerSchedule.size()) == kProfilerSchedule);
      }
    }
  }
  CHECK(told >= 5);  // four rules and the constant
  CHECK(read_text(root() / "README.md").find(kProfilerSchedule) != std::string::npos);
}

}  // namespace ws::house
