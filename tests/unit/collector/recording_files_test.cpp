// The files of a recording: segments, one that begins anew, the cap, a full disk.
#include <sys/resource.h>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "collector/recording.h"
#include "recording.pb.h"
#include "support/catch.h"
#include "support/scratch_folder.h"
#include "unit/collector/frames.h"
#include "unit/collector/made_kernel.h"

using namespace ws::collector;
namespace pb = wallsight::recording;
using ws::test::chunks_of;
using ws::test::file_bytes;
using ws::test::kernel_at;

namespace {

// Rows that do not compress.
void add_noise(Recording& r, size_t rows, uint32_t shape = 0) {
  uint64_t x = 1;
  for (size_t i = 0; i < rows; ++i) {
    x = x * 6364136223846793005ull + 1442695040888963407ull;
    KernelRow k = kernel_at(static_cast<int64_t>(x >> 33), static_cast<uint32_t>(x >> 20));
    k.graph_node = x;
    k.shape = shape;
    r.add(k);
  }
}

size_t kernels_in(const std::vector<pb::Chunk>& chunks) {
  size_t n = 0;
  for (const pb::Chunk& c : chunks) n += static_cast<size_t>(c.kernels().begin_delta_size());
  return n;
}

}  // namespace

TEST_CASE("names of segments") {
  CHECK(segment_path("/a/h.0.1.2.wst", 0) == "/a/h.0.1.2.wst");
  CHECK(segment_path("/a/h.0.1.2.wst", 7) == "/a/h.0.1.2.7.wst");
  CHECK(segment_path("/a/b", 1) == "/a/b.1.wst");
}

TEST_CASE("a recording that begins anew holds nothing of before but shapes, devices and names") {
  const ws::test::ScratchFolder folder;
  const std::string path = folder.path() + "/a.wst";
  Names names;
  Recording r(names);
  REQUIRE(r.open(path, 1 << 20, {}) == 0);
  ShapeRow shape;
  shape.name = names.id_of("gemm");
  const uint32_t id = r.shape(shape);
  DeviceRow device;
  device.name = "H100";
  r.add(device);
  r.add(MessageRow{Topic::notice, "before"});
  for (uint32_t i = 0; i < 400'000; ++i) {
    // Numbers that do not compress: segments must have come.
    KernelRow k = kernel_at(int64_t{i} * 7'919'111 % 1'000'003 * 1'009, i * 2654435761u);
    k.shape = id;
    r.add(k);
  }
  r.flush();
  REQUIRE_FALSE(std::filesystem::exists(path));  // it was the oldest
  REQUIRE(r.restart() == 0);
  KernelRow k = kernel_at(5, 6);
  k.shape = id;
  r.add(k);
  r.finish({});
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    files += entry.is_regular_file() ? 1 : 0;
  CHECK(files == 1);
  uint64_t kernels = 0, rows = 0;
  std::string text;
  for (const pb::Chunk& c : chunks_of(path)) {
    kernels += static_cast<uint64_t>(c.kernels().begin_delta_size());
    CHECK(c.messages_size() == 0);
    CHECK((!c.has_process() || (c.process().segment() == 0 && c.process().rotated_rows() == 0)));
    for (const auto& s : c.shapes()) CHECK(s.id() == id);
    for (const auto& d : c.devices()) CHECK(d.name() == "H100");
    for (const auto& t : c.strings().text()) text += t;
    if (c.has_footer()) rows = c.footer().rows();
  }
  CHECK(kernels == 1);
  CHECK(rows == 1);
  CHECK(text == "gemm");
}

TEST_CASE("at the cap the oldest segment goes, its rows are counted, and the footer still fits") {
  const ws::test::ScratchFolder folder;
  const std::string path = folder.path() + "/a.wst";
  Names names;
  Recording r(names);
  constexpr uint64_t kCap = uint64_t{4} << 20;
  ProcessRow process;
  process.pid = 77;
  REQUIRE(r.open(path, kCap, process) == 0);
  r.add(DeviceRow{0, "gpu", "", 1, 1, 9, 0});
  r.add(MessageRow{Topic::notice, "said once"});
  ShapeRow shape;
  shape.name = names.id_of("gemm");
  const uint32_t id = r.shape(shape);
  constexpr size_t kRows = 60 * kChunkRows;
  add_noise(r, kRows, id);
  r.finish({});
  uint64_t bytes = 0, kept = 0, rotated = 0;
  size_t files = 0, sequence = SIZE_MAX;
  pb::Chunk last;
  for (uint32_t n = 0; n < 1000; ++n) {
    const std::string file = segment_path(path, n);
    if (!std::filesystem::exists(file)) continue;
    ++files;
    bytes += std::filesystem::file_size(file);
    if (sequence == SIZE_MAX) {
      CHECK(n > 0);
      sequence = ws::test::number_at(file_bytes(file), 16, 8);
    }
    const auto chunks = chunks_of(file, sequence);
    sequence += chunks.size();
    kept += kernels_in(chunks);
    const pb::Chunk& first = chunks.front();
    CHECK(first.process().pid() == 77);
    CHECK(first.process().segment() == n);
    CHECK(first.strings().text(static_cast<int>(shape.name) - 1) == "gemm");
    REQUIRE(first.shapes_size() == 1);
    CHECK(first.shapes(0).id() == id);
    CHECK(first.devices_size() == 1);
    CHECK(first.messages_size() == 1);
    for (const pb::Chunk& c : chunks) CHECK(c.losses_size() == 0);
    for (const pb::Chunk& c : chunks) {
      if (c.has_process()) rotated = c.process().rotated_rows();
    }
    last = chunks.back();
  }
  CHECK(bytes <= kCap);
  CHECK(bytes > kCap * 3 / 4);
  CHECK(files >= 6);
  CHECK(last.footer().rows() == kRows);
  CHECK(rotated + kept == kRows);
}

TEST_CASE("a frame that is larger than the cap is lost and counted") {
  const ws::test::ScratchFolder folder;
  Names names;
  Recording r(names);
  REQUIRE(r.open(folder.path() + "/a.wst", 20'000, {}) == 0);
  add_noise(r, kChunkRows);
  r.finish({});
  const auto chunks = chunks_of(folder.path() + "/a.wst");
  REQUIRE(chunks.size() == 2);
  CHECK(kernels_in(chunks) == 0);
  REQUIRE(chunks[0].losses_size() == 1);
  CHECK(chunks[0].losses(0).source() == pb::FILE_FULL);
  CHECK(chunks[0].losses(0).count() == kChunkRows);
}

TEST_CASE("where no new file can be made the old one goes on, up to the cap") {
  const ws::test::ScratchFolder folder;
  const std::string path = folder.path() + "/a.wst";
  std::ofstream(segment_path(path, 1)) << "mine";
  Names names;
  Recording r(names);
  constexpr uint64_t kCap = uint64_t{1} << 20;
  REQUIRE(r.open(path, kCap, {}) == 0);
  add_noise(r, 20 * kChunkRows);
  r.finish({});
  CHECK(file_bytes(segment_path(path, 1)) == "mine");
  CHECK(std::filesystem::file_size(path) <= kCap);
  CHECK(std::filesystem::file_size(path) > kCap / 2);
  const auto chunks = chunks_of(path);
  uint64_t lost = 0;
  for (const pb::Chunk& c : chunks) {
    for (const pb::Loss& loss : c.losses()) lost += loss.count();
  }
  CHECK(lost + chunks.back().footer().rows() == 20 * kChunkRows);
  CHECK(kernels_in(chunks) == chunks.back().footer().rows());
}

TEST_CASE("a disk that is full in the middle of a frame leaves whole frames") {
  const ws::test::ScratchFolder folder;
  const std::string path = folder.path() + "/a.wst";
  rlimit old{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  Names names;
  Recording r(names);
  REQUIRE(r.open(path, UINT64_MAX, {}) == 0);
  const uint32_t late = [&] {
    const rlimit tight{20'000, old.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &tight);
    uint64_t x = 1;
    for (size_t i = 0; i < 2 * kChunkRows; ++i) {
      x = x * 6364136223846793005ull + 1442695040888963407ull;
      r.add(kernel_at(static_cast<int64_t>(x >> 33), static_cast<uint32_t>(x >> 20)));
    }
    const uint32_t id = names.id_of("named while the disk was full");
    ShapeRow shape;
    shape.name = id;
    r.shape(shape);
    r.flush();
    ::setrlimit(RLIMIT_FSIZE, &old);
    return id;
  }();
  std::signal(SIGXFSZ, before);
  r.add(kernel_at(5, 1));
  r.finish({});
  const auto chunks = chunks_of(path);  // nothing but whole frames
  const pb::Chunk& first = chunks.front();
  CHECK(first.has_process());
  REQUIRE(first.losses_size() == 1);
  CHECK(first.losses(0).count() == 2 * kChunkRows);
  CHECK(first.shapes_size() == 1);
  CHECK(first.strings().text(static_cast<int>(late - first.strings().first_id())) ==
        "named while the disk was full");
  CHECK(chunks.back().footer().rows() == 1);
}
