// Any bytes as an input file: whichever importer takes them must refuse or read them without a
// crash, and a refusal is one line.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "import/importer.h"

namespace {

// One file per process, in memory where the system offers it.
std::string input_path() {
  const char* folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  return std::string(folder) + "/wallsight_fuzz." + std::to_string(getpid());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string path = input_path();
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return 0;
  const size_t written = std::fwrite(data, 1, size, file);
  std::fclose(file);
  if (written == size) {
    auto traces = ws::read_file(path);
    if (!traces && traces.error().message.find('\n') != std::string::npos) {
      std::fprintf(stderr, "more than one line: %s\n", traces.error().message.c_str());
      std::abort();
    }
  }
  std::remove(path.c_str());
  return 0;
}
