#include "import/nsys.h"

#include <filesystem>

#include "import/registry.h"
#include "support/catch.h"
#include "support/nsys_file.h"

using namespace ws;
using namespace ws::test;

namespace {

constexpr const char* kUuidA = "aaaaaaaa-0000-0000-0000-000000000001";
constexpr const char* kUuidB = "bbbbbbbb-0000-0000-0000-000000000002";

std::vector<Trace> traces_of(NsysFile& file) {
  Result<std::vector<Trace>> traces = read_file(file.finish());
  REQUIRE(traces.has_value());
  return std::move(*traces);
}

void add_launch(NsysFile& file, int64_t pid, int64_t device, int64_t at) {
  file.add(NsysCall{at, at + 5, "cudaLaunchKernel", 100, pid, pid});
  file.add(NsysKernel{.begin_ns = at + 20,
                      .end_ns = at + 50,
                      .name = "gemm",
                      .correlation = 100,
                      .pid = pid,
                      .device = device});
}

void add_communicator(NsysFile& file, int64_t pid, int64_t ranks, int64_t rank) {
  file.add(NsysRange{.begin_ns = 1,
                     .end_ns = 2,
                     .name = "ncclCommInitRank",
                     .pid = pid,
                     .tid = pid,
                     .domain = 1,
                     .json = "{\"NCCL communicator ID\":77,\"No. of ranks\":" +
                             std::to_string(ranks) + ",\"Rank\":" + std::to_string(rank) + "}"});
}

const Note* note(const Trace& t, NoteCode code) {
  for (const Note& n : t.notes.all()) {
    if (n.code == code) return &n;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("processes on different GPUs are ranks in pid order, joined on their own ids") {
  NsysFile file;
  add_launch(file, 61'001, 1, 1'000'000);
  add_launch(file, 61'000, 0, 2'000'000);
  file.add(NsysCall{5, 6, "cudaGetDeviceCount", 0, 500, 500});  // a launcher without GPU
  const std::vector<Trace> traces = traces_of(file);
  REQUIRE(traces.size() == 2);
  CHECK(traces[0].processes[0].pid == 61'000);
  CHECK(traces[1].processes[0].pid == 61'001);
  for (const Trace& t : traces) {
    REQUIRE(t.ops.size() == 1);
    REQUIRE(t.ops.launch[0] != kNoRow);
    CHECK(t.ops.begin_ns[0] - t.calls.begin_ns[t.ops.launch[0]] == 20);
    CHECK(t.rank_source == RankSource::order);
  }
  CHECK(traces[1].devices[0].ordinal == 1);
}

TEST_CASE(
    "processes that all say device 0 are ranks of their own unless the export says otherwise") {
  NsysFile file;
  add_launch(file, 61'000, 0, 1'000);
  add_launch(file, 61'001, 0, 2'000);
  SECTION("nothing is said") { CHECK(traces_of(file).size() == 2); }
  SECTION("they see different GPUs") {
    file.add_gpu(0, 0, "H100", kUuidA);
    file.add_gpu(1, 1, "H100", kUuidB);
    file.add_visible_gpu(61'000, 0, 0, kUuidA);
    file.add_visible_gpu(61'001, 0, 1, kUuidB);
    const std::vector<Trace> traces = traces_of(file);
    REQUIRE(traces.size() == 2);
    CHECK(traces[0].devices[0].uuid == kUuidA);
    CHECK(traces[1].devices[0].uuid == kUuidB);
  }
  SECTION("they share one") {
    file.add_visible_gpu(61'000, 0, 0, kUuidA);
    file.add_visible_gpu(61'001, 0, 0, kUuidA);
    const std::vector<Trace> traces = traces_of(file);
    REQUIRE(traces.size() == 1);
    CHECK(traces[0].processes.size() == 2);
    CHECK(traces[0].ops.size() == 2);
    CHECK(traces[0].calls.size() == 2);
    CHECK(traces[0].ops.launch[0] == 0);  // equal ids, different processes
    CHECK(traces[0].ops.launch[1] == 1);
    CHECK(traces[0].notes.count(NoteCode::processes_share_device) == 1);
  }
}

TEST_CASE("without GPU records there is one trace of what there is") {
  NsysFile file;
  file.add(NsysCall{10, 20, "cudaMalloc", 1, 7, 7});
  file.add(NsysRange{.begin_ns = 5, .end_ns = 30, .name = "step", .pid = 8, .tid = 8});
  const std::vector<Trace> traces = traces_of(file);
  REQUIRE(traces.size() == 1);
  CHECK(traces[0].calls.size() == 1);
  CHECK(traces[0].ranges.size() == 1);
  CHECK(traces[0].processes.size() == 2);
  CHECK(traces[0].notes.count(NoteCode::no_gpu_events) == 1);
}

TEST_CASE("a communicator of exactly the processes of the file tells their ranks") {
  NsysFile file;
  add_launch(file, 61'000, 0, 1'000);
  add_launch(file, 61'001, 1, 1'000);
  SECTION("crossed") {
    add_communicator(file, 61'000, 2, 1);
    add_communicator(file, 61'001, 2, 0);
    const std::vector<Trace> traces = traces_of(file);
    CHECK(traces[0].rank == 1);
    CHECK(traces[1].rank == 0);
    CHECK(traces[0].world_size == 2);
    CHECK(traces[0].rank_source == RankSource::distributed_info);
  }
  SECTION("part of a larger one") {
    add_communicator(file, 61'000, 8, 1);
    add_communicator(file, 61'001, 8, 0);
    CHECK(traces_of(file)[0].rank_source == RankSource::order);
  }
  SECTION("one number twice") {
    add_communicator(file, 61'000, 2, 1);
    add_communicator(file, 61'001, 2, 1);
    CHECK(traces_of(file)[0].rank_source == RankSource::order);
  }
}

TEST_CASE("the environment's rank counts for a file of one rank only") {
  NsysFile file;
  file.add_capture("PROCESS_0:ENVIRONMENT_VARIABLE", "RANK=5");
  file.add_capture("PROCESS_0:ENVIRONMENT_VARIABLE", "NCCL_PROTO=Simple");
  add_launch(file, 61'000, 0, 1'000);
  SECTION("one") {
    const std::vector<Trace> traces = traces_of(file);
    CHECK(traces[0].rank == 5);
    CHECK(traces[0].rank_source == RankSource::environment);
    REQUIRE(traces[0].settings.size() == 1);
    CHECK(traces[0].settings[0].second == "Simple");
  }
  SECTION("two") {
    add_launch(file, 61'001, 1, 1'000);
    CHECK(traces_of(file)[0].rank_source == RankSource::order);
  }
  SECTION("MPI named the thread") {
    file.add(NsysRange{.begin_ns = 0, .name = "MPI Rank 3", .type = 39, .pid = 61'000});
    CHECK(traces_of(file)[0].rank == 3);
  }
}

TEST_CASE("the system of the recorded machine, where its platform is a known one") {
  const auto [platform, os] = GENERATE(
      table<const char*, const char*>({{"Windows", "windows"}, {"L4X", "linux"}, {"QNX", ""}}));
  NsysFile file;
  file.add_system("SoftwarePlatform", platform);
  file.add_system("OsDescription", "anything");
  add_launch(file, 61'000, 0, 1'000);
  CHECK(traces_of(file).at(0).os == os);
}

TEST_CASE("identity, clock and messages of a trace") {
  NsysFile file;
  file.set_start(1'700'000'000'000'000'000);
  file.add_system("Hostname", "node-17");
  file.add_system("UserName", "secret");
  add_launch(file, 61'000, 0, 1'000);
  file.add_message(2, "CUDA profiling might have not been started correctly.", 9);
  file.add_message(2, "No NVTX events collected. Does the process use NVTX?", 61'000);
  file.add_message(3, "3 CUDA events were lost.", 61'000);
  const std::vector<Trace> traces = traces_of(file);
  const Trace& t = traces.at(0);
  CHECK(t.clock_base_ns == 1'700'000'000'000'000'000);
  CHECK(t.host_name == "node-17");
  CHECK(t.host == 0);
  CHECK(t.format == "nsys-sqlite");
  CHECK(t.path == file.finish());
  CHECK(t.tool_version == "2026.2.1 (schema 3.25.0)");
  CHECK(t.tick_ns == 1);
  REQUIRE(note(t, NoteCode::recorder_message) != nullptr);
  CHECK(t.notes.count(NoteCode::recorder_message) == 1);  // the other is of another process
  CHECK(note(t, NoteCode::recorder_message)->detail ==
        "No NVTX events collected. Does the process use NVTX?");
  CHECK(t.notes.count(NoteCode::records_lost) == 1);
}

TEST_CASE("times since the epoch are exact and are not shifted twice") {
  constexpr int64_t kEpoch = 1'764'432'000'000'000'123;
  NsysFile file;
  file.set_start(kEpoch);
  add_launch(file, 61'000, 0, kEpoch);
  const std::vector<Trace> traces = traces_of(file);
  CHECK(traces[0].ops.begin_ns[0] == kEpoch + 20);
  CHECK(traces[0].clock_base_ns == 0);
}

TEST_CASE("an export of a capture with nothing in it is refused") {
  NsysFile file;
  file.add_gpu(0, 0, "H100", kUuidA);
  const Result<std::vector<Trace>> traces = read_file(file.finish());
  REQUIRE_FALSE(traces.has_value());
  CHECK(traces.error().message.find("nothing was captured") != std::string::npos);
}

TEST_CASE("two readings of one file are equal") {
  NsysFile file;
  for (int64_t i = 0; i < 20'000; ++i) {
    file.add(NsysCall{10 * i, 10 * i + 4, "call " + std::to_string(i % 300), i + 1});
    file.add(NsysKernel{10 * i + 5, 10 * i + 9, "kernel " + std::to_string(i % 700), i + 1});
  }
  const std::vector<Trace> a = traces_of(file), b = traces_of(file);
  CHECK(a[0].ops.name == b[0].ops.name);
  CHECK(a[0].calls.name == b[0].calls.name);
  CHECK(a[0].ops.launch == b[0].ops.launch);
  CHECK(a[0].ops.size() == 20'000);
}

TEST_CASE("thousands of processes are not an export") {
  NsysFile file;
  for (int64_t pid = 1; pid <= 5'000; ++pid)
    file.add(NsysKernel{10 * pid, 10 * pid + 5, "k", 0, pid, 0});
  const Result<std::vector<Trace>> traces = read_file(file.finish());
  REQUIRE_FALSE(traces.has_value());
  CHECK(traces.error().message.find("4096 processes") != std::string::npos);
}
