// What the collector writes, read back with the classes that protoc makes of
// schemas/recording.proto: an independent reader of the wire format.
#include <sys/resource.h>
#include <sys/stat.h>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "collector/crc32c.h"
#include "collector/recording.h"
#include "recording.pb.h"
#include "support/catch.h"
#include "support/scratch_folder.h"
#include "unit/collector/frames.h"

using namespace ws::collector;
namespace pb = wallsight::recording;
using ws::test::chunks_of;
using ws::test::file_bytes;

namespace {

KernelRow kernel_at(int64_t begin_ns, uint32_t correlation) {
  KernelRow k;
  k.begin_ns = begin_ns;
  k.end_ns = begin_ns + 100;
  k.device = 1;
  k.stream = 7;
  k.correlation = correlation;
  return k;
}

template <class Deltas>
std::vector<int64_t> sums(const Deltas& deltas, int64_t from) {
  std::vector<int64_t> out;
  for (auto d : deltas) out.push_back(from += d);
  return out;
}

}  // namespace

TEST_CASE("CRC-32C gives the known values") {
  CHECK(crc32c("", 0) == 0);
  CHECK(crc32c("123456789", 9) == 0xe3069283u);
  const std::string zeros(32, '\0');
  CHECK(crc32c(zeros.data(), 32) == 0x8a9136aau);  // RFC 3720, B.4
}

TEST_CASE("every table and list comes back as it was given") {
  const ws::test::ScratchFolder folder;
  const std::string path = folder.path() + "/a.wst";
  Names names;
  Recording r(names);
  ProcessRow process;
  process.recorder_version = "0.1";
  process.host = "host\xff";  // need not be UTF-8
  process.pid = 4242;
  process.rank = 3;
  process.world_size = 8;
  process.settings = {{"NCCL_ALGO", "Ring"}};
  process.arguments = {"python", "train.py"};
  process.cupti_version = 130000;
  REQUIRE(r.open(path, UINT64_MAX, process) == 0);

  const uint32_t gemm = names.id_of("gemm"), launch = names.id_of("cudaLaunchKernel_v7000");
  ShapeRow shape;
  shape.name = gemm;
  shape.grid[0] = 132, shape.block[0] = 128, shape.registers = 64;
  const uint32_t shape_id = r.shape(shape);
  CHECK(r.shape(shape) == shape_id);
  KernelRow k = kernel_at(1'000, 5);
  k.shape = shape_id;
  k.graph = 9, k.graph_node = uint64_t{1} << 40;
  r.add(k);
  k = kernel_at(900, 4);  // earlier, and a smaller correlation
  k.shape = shape_id;
  r.add(k);
  CopyRow copy;
  copy.begin_ns = 2'000, copy.end_ns = 2'500, copy.bytes = 4096, copy.kind = 1;
  copy.source_kind = 1, copy.target_kind = 3, copy.context = 1, copy.stream = 8;
  copy.correlation = UINT32_MAX;
  r.add(copy);
  FillRow fill;
  fill.begin_ns = 2'600, fill.end_ns = 2'610, fill.bytes = 64;
  r.add(fill);
  GraphRunRow graph;
  graph.begin_ns = 3'000, graph.end_ns = 4'000, graph.graph = 17;
  r.add(graph);
  CallRow call;
  call.begin_ns = 500, call.end_ns = 600, call.name = launch, call.tid = 77, call.correlation = 5;
  r.add(call);
  SyncRow sync;
  sync.begin_ns = 4'000, sync.end_ns = 5'000, sync.kind = 3, sync.stream = 7;
  sync.event = UINT32_MAX, sync.event_sync = 12, sync.correlation = 6;
  r.add(sync);
  EventRecordRow event;
  event.stream = 7, event.event = 2, event.event_sync = 12, event.correlation = 8;
  r.add(event);
  OverheadRow overhead;
  overhead.begin_ns = 100, overhead.end_ns = 200, overhead.kind = 1u << 16, overhead.tid = 77;
  r.add(overhead);
  RangeRow range;
  range.begin_ns = 50, range.end_ns = 950, range.name = names.id_of("ncclAllReduce");
  range.domain = names.id_of("NCCL"), range.tid = 77;
  CollectiveRow collective;
  collective.communicator = UINT64_MAX, collective.has_communicator = true;
  collective.bytes = 1 << 20, collective.root = 0;
  r.add(range, nullptr);
  range.kind = RangeKind::start_end;
  r.add(range, &collective);
  r.add(MemoryRow{700, -4096, 1});
  r.add(StepRow{800, 1'800, true});
  r.add(DeviceRow{1, "NVIDIA H100", "aa-bb", 80ull << 30, 132, 9, 0});
  r.add(ThreadRow{77, names.id_of("main")});
  r.add(WindowRow{10, 20, 15, Tier::host});
  r.lose(LossSource::ranges_full, 3);
  r.lose(LossSource::ranges_full, 4);
  r.add(MessageRow{Topic::cupti_busy, "another tool"});
  r.flush();
  r.add(kernel_at(10'000, 7));
  r.finish({0, 123, 2});

  const std::vector<pb::Chunk> chunks = chunks_of(path);
  REQUIRE(chunks.size() == 3);
  const pb::Chunk& c = chunks[0];
  CHECK(c.process().host() == "host\xff");
  CHECK(c.process().rank() == 3);
  CHECK(c.process().has_rank());
  CHECK(c.process().settings(0).value() == "Ring");
  CHECK(c.process().arguments(1) == "train.py");
  CHECK(c.process().cupti_version() == 130000);
  CHECK_FALSE(chunks[1].has_process());
  CHECK(c.clock().monotonic_ns() > 0);
  CHECK(c.clock().realtime_ns() > c.clock().monotonic_ns());
  CHECK(c.strings().first_id() == 1);
  CHECK(c.strings().text(static_cast<int>(gemm) - 1) == "gemm");
  CHECK(c.strings().text_size() == 5);
  REQUIRE(c.shapes_size() == 1);
  CHECK(c.shapes(0).grid(0) == 132);
  CHECK(c.shapes(0).registers() == 64);
  CHECK(sums(c.kernels().begin_delta(), c.base_ns()) == std::vector<int64_t>{1'000, 900});
  CHECK(c.kernels().duration(1) == 100);
  CHECK(sums(c.kernels().correlation_delta(), 0) == std::vector<int64_t>{5, 4});
  CHECK(c.kernels().graph(0) == 9);
  CHECK(c.kernels().graph_node(0) == uint64_t{1} << 40);
  CHECK(c.kernels().context_size() == 0);  // 0 in every row
  CHECK(sums(c.copies().begin_delta(), c.base_ns()) == std::vector<int64_t>{2'000});
  CHECK(c.copies().bytes(0) == 4096);
  CHECK(static_cast<uint32_t>(c.copies().correlation_delta(0)) == UINT32_MAX);
  CHECK(c.fills().duration(0) == 10);
  CHECK(c.graph_runs().graph(0) == 17);
  CHECK(c.calls().tid(0) == 77);
  CHECK(c.calls().name(0) == launch);
  CHECK(c.syncs().event_sync(0) == 12);
  CHECK(c.syncs().event(0) == UINT32_MAX);
  CHECK(c.event_records().event(0) == 2);
  CHECK(c.overheads().kind(0) == 1u << 16);
  CHECK(sums(c.ranges().begin_delta(), c.base_ns()) == std::vector<int64_t>{50, 50});
  CHECK(c.ranges().kind(1) == pb::START_END);
  CHECK(c.ranges().payload(0) == 0);
  CHECK(c.ranges().payload(1) == 1);
  CHECK(c.ranges().collectives(0).communicator() == UINT64_MAX);
  CHECK(c.ranges().collectives(0).bytes() == 1 << 20);
  CHECK(c.ranges().collectives(0).peer() == -1);
  CHECK(c.memory_changes().bytes(0) == -4096);
  CHECK(c.steps().duration(0) == 1'000);
  CHECK(c.steps().recorded(0) == 1);
  CHECK(c.devices(0).memory_bytes() == 80ull << 30);
  CHECK(c.threads(0).tid() == 77);
  CHECK(c.windows(0).tier() == pb::HOST);
  REQUIRE(c.losses_size() == 1);
  CHECK(c.losses(0).count() == 7);
  CHECK(c.messages(0).topic() == pb::CUPTI_BUSY);
  CHECK(chunks[1].kernels().begin_delta_size() == 1);
  // A chunk can be read without the one before it.
  CHECK(sums(chunks[1].kernels().begin_delta(), chunks[1].base_ns()) ==
        std::vector<int64_t>{10'000});
  CHECK(sums(chunks[1].kernels().correlation_delta(), 0) == std::vector<int64_t>{7});
  CHECK(chunks[2].footer().rows() == 14);
  CHECK(chunks[2].footer().open_ranges() == 2);
  CHECK(r.rows_written() == 14);
  struct stat st {};
  REQUIRE(::stat(path.c_str(), &st) == 0);
  CHECK((st.st_mode & 0777) == 0600);
}

TEST_CASE("a full chunk becomes a frame, and a repetitive one keeps the ratio") {
  const ws::test::ScratchFolder folder;
  const std::string path = folder.path() + "/a.wst";
  Names names;
  Recording r(names);
  REQUIRE(r.open(path, UINT64_MAX, {}) == 0);
  for (size_t i = 0; i < 3 * kChunkRows + 10; ++i) r.add(RangeRow{}, nullptr);
  r.finish({});
  const auto chunks = chunks_of(path);  // checks the ratio
  REQUIRE(chunks.size() == 5);
  CHECK(chunks[1].ranges().begin_delta_size() == static_cast<int>(kChunkRows));
  CHECK(chunks[4].footer().rows() == 3 * kChunkRows + 10);
}

TEST_CASE("an existing file is left alone") {
  const ws::test::ScratchFolder folder;
  const std::string path = folder.path() + "/a.wst";
  std::ofstream(path) << "mine";
  Names names;
  Recording r(names);
  CHECK(r.open(path, UINT64_MAX, {}) == EEXIST);
  CHECK(file_bytes(path) == "mine");
}

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

TEST_CASE("names are shared, cut and bounded") {
  Names names(1000);
  CHECK(names.id_of("") == 0);
  const uint32_t a = names.id_of("a");
  CHECK(a == 1);
  CHECK(names.id_of("b") == 2);
  CHECK(names.id_of("a") == a);
  CHECK(names.text_of(a) == "a");
  CHECK(names.text_of(99).empty());
  CHECK(names.id_of(std::string(600, 'x')) == 3);
  CHECK(names.id_of(std::string(600, 'y')) == 0);
  CHECK(names.refused() == 1);
  CHECK(names.id_of("a") == a);
  Names many;
  for (int i = 0; i < 5000; ++i) CHECK(many.id_of(std::to_string(i)) == uint32_t(i) + 1);
  for (int i = 0; i < 5000; ++i) CHECK(many.id_of(std::to_string(i)) == uint32_t(i) + 1);
  CHECK(many.text_of(many.id_of(std::string(9000, 'z'))).size() == Names::kLongest);
}
