// Any damage ends in an error or a trace, never in a crash: cuts at every length, then flips of
// pseudo-random bytes. Under sanitizers this is a small fuzzer with a fixed seed.
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "import/registry.h"
#include "support/catch.h"
#include "support/nsys_file.h"

using namespace ws;
using namespace ws::test;

namespace {

std::string victim() {
  NsysFile file;
  file.set_start(1'000);
  file.add_gpu(0, 0, "H100", "aaaaaaaa-0000-0000-0000-000000000001");
  file.add_visible_gpu(1000, 0, 0, "aaaaaaaa-0000-0000-0000-000000000001");
  file.add_message(3, "records dropped", 1000);
  for (int64_t i = 1; i <= 40; ++i) {
    file.add(NsysCall{10 * i, 10 * i + 4, "cudaLaunchKernel_v7000", i});
    file.add(NsysKernel{10 * i + 5, 10 * i + 9, "kernel " + std::to_string(i), i});
    file.add(NsysRange{.begin_ns = 10 * i, .end_ns = 10 * i + 8, .name = "aten::mm, seq = 3"});
  }
  file.add(NsysCopy{500, 510, 1 << 20, 1, 3});
  file.add(NsysSync{500, 510});
  file.add(NsysEventRecord{.correlation = 2});
  file.add(NsysOverhead{1, 2, "CUPTI Buffer flush", 3});
  file.add(NsysWait{0, 500'000, "poll"});
  file.add(NsysGraphRun{600, 700});
  std::ifstream in(file.finish(), std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// 1 when a trace came out, 0 when the file was refused with one line.
int outcome(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const Result<std::vector<Trace>> traces = read_file(path);
  if (traces) {
    for (const Trace& t : *traces) {
      for (size_t i = 0; i < t.ops.size(); ++i) REQUIRE(t.ops.begin_ns[i] <= t.ops.end_ns[i]);
    }
    return 1;
  }
  REQUIRE(traces.error().message.find('\n') == std::string::npos);
  REQUIRE(traces.error().message.find(path) == 0);
  return 0;
}

}  // namespace

TEST_CASE("a cut file is refused at every length") {
  const std::string path = temporary_path(".sqlite"), bytes = victim();
  REQUIRE(outcome(path, bytes) == 1);
  int read = 0;
  for (size_t length = 0; length < bytes.size(); length += length < 4096 ? 61 : 1021)
    read += outcome(path, std::string_view(bytes).substr(0, length));
  CHECK(read == 0);
  std::filesystem::remove(path);
}

TEST_CASE("flipped bytes never crash the reader") {
  const std::string path = temporary_path(".sqlite"), bytes = victim();
  std::mt19937 random(20240229);
  int read = 0, refused = 0;
  for (int round = 0; round < 500; ++round) {
    std::string damaged = bytes;
    const int flips = 1 + static_cast<int>(random() % 8);
    for (int i = 0; i < flips; ++i)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    (outcome(path, damaged) == 1 ? read : refused) += 1;
  }
  CHECK(read > 30);
  CHECK(refused > 30);
  std::filesystem::remove(path);
}
