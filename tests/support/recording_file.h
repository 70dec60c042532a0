#pragma once
// A recording of `wallsight record` made by the collector's own writer, in a folder of its own.
#include <string>

#include "collector/recording.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

namespace ws::test {

class RecordingFile {
 public:
  explicit RecordingFile(collector::ProcessRow process = {}) {
    const int error = out.open(path(), UINT64_MAX, std::move(process));
    REQUIRE(error == 0);
  }
  std::string path() const { return folder_.path() + "/host.0.1.1.wst"; }
  uint32_t name(std::string_view text) { return names.id_of(text); }
  uint32_t shape(std::string_view kernel) {
    collector::ShapeRow s;
    s.name = name(kernel);
    s.grid[0] = s.grid[1] = s.grid[2] = s.block[0] = s.block[1] = s.block[2] = 1;
    return out.shape(s);
  }
  const std::string& finish() {
    out.finish({});
    return finished_ = path();
  }

  collector::Names names;
  collector::Recording out{names};

 private:
  ScratchFolder folder_;
  std::string finished_;
};

}  // namespace ws::test
