// What the collector writes, read back with the classes that protoc makes of
// schemas/recording.proto: an independent reader of the wire format.
#include <sys/stat.h>
#include <cstring>
#include <fstream>

#include "collector/crc32c.h"
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
