// Any bytes as a PyTorch trace, plain or gzip: read or refused in one line without a crash, and the
// same whether the blocks of the stream are large or tiny. The first byte chooses the tiny size.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "import/kineto.h"

namespace {

// One file per process, in memory where the system offers it.
std::string input_path() {
  const char* folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  return std::string(folder) + "/wallsight_kineto_fuzz." + std::to_string(getpid());
}

void demand(bool holds) {
  if (!holds) std::abort();
}

bool same(const ws::Trace& a, const ws::Trace& b) {
  const auto& x = a.notes.all();
  const auto& y = b.notes.all();
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].code != y[i].code || x[i].count != y[i].count ||
        x[i].first_place != y[i].first_place) {
      return false;
    }
  }
  return a.ops.begin_ns == b.ops.begin_ns && a.ops.end_ns == b.ops.end_ns &&
         a.ops.name == b.ops.name && a.ops.launch == b.ops.launch &&
         a.calls.begin_ns == b.calls.begin_ns && a.calls.thread == b.calls.thread &&
         a.ranges.begin_ns == b.ranges.begin_ns && a.ranges.name == b.ranges.name &&
         a.memory.size() == b.memory.size() && a.syncs.size() == b.syncs.size() &&
         a.groups.size() == b.groups.size() && a.clock_base_ns == b.clock_base_ns;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const std::string path = input_path();
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return 0;
  const bool written = std::fwrite(data, 1, size, file) == size;
  std::fclose(file);
  if (written) {
    const auto whole = ws::read_kineto(path, {});
    // Tiny blocks scan a record again with every block: only for small inputs.
    const size_t block = size > 20'000 ? 4096 : size_t{data[0]} % 64 + 1;
    const auto pieces = ws::read_kineto(path, {block, 3});
    demand(whole.has_value() == pieces.has_value());
    if (whole) {
      demand(same(*whole, *pieces));
    } else {
      demand(whole.error().message == pieces.error().message);
      demand(whole.error().message.find('\n') == std::string::npos);
    }
  }
  std::remove(path.c_str());
  return 0;
}
