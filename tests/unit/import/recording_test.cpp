// A recording becomes a trace: every table, what the file says of itself, and what it lost.
#include "collector/recording.h"
#include "collector/crc32c.h"

#include <fstream>

#include "import/importer.h"
#include "import/recording.h"
#include "support/catch.h"
#include "support/recording_file.h"

using namespace ws;
using ws::test::RecordingFile;
namespace wc = ws::collector;

namespace {

Trace read_one(const std::string& path) {
  Result<std::vector<Trace>> read = read_file(path);
  INFO((read ? std::string() : read.error().message));
  REQUIRE(read);
  REQUIRE(read->size() == 1);
  return std::move(read->front());
}

wc::ProcessRow some_process() {
  wc::ProcessRow p;
  p.recorder_version = "0.1.0";
  p.host = "node17";
  p.pid = 4242;
  p.rank = 3;
  p.world_size = 8;
  p.settings = {{"NCCL_ALGO", "Ring"}, {"SECRET_TOKEN", "x"}, {"NCCL_TOPO_FILE", "/home/me"}};
  p.cupti_version = 130000;
  return p;
}

std::string detail(const Trace& t, NoteCode code) {
  for (const Note& n : t.notes.all()) {
    if (n.code == code) return n.detail;
  }
  return "no such note";
}

}  // namespace

TEST_CASE("kernels, copies, fills and graphs become device records") {
  RecordingFile f(some_process());
  wc::KernelRow k;
  k.begin_ns = 2'000, k.end_ns = 2'500, k.shape = f.shape("void gemm<float>(int)");
  k.device = 1, k.context = 2, k.stream = 7, k.correlation = 11;
  f.out.add(k);
  wc::CopyRow copy;
  copy.begin_ns = 3'000, copy.end_ns = 3'400, copy.bytes = 4096, copy.kind = 1;
  copy.source_kind = 1, copy.target_kind = 3, copy.device = 1, copy.context = 2, copy.stream = 8;
  copy.correlation = 12;
  f.out.add(copy);
  copy.begin_ns = 3'500, copy.end_ns = 3'600, copy.kind = 10, copy.source_kind = 3;
  copy.correlation = 13;
  f.out.add(copy);
  wc::FillRow fill;
  fill.begin_ns = 4'000, fill.end_ns = 4'100, fill.bytes = 1, fill.device = 1, fill.context = 2;
  fill.stream = 7, fill.correlation = 14;
  f.out.add(fill);
  wc::GraphRunRow graph;
  graph.begin_ns = 5'000, graph.end_ns = 6'000, graph.graph = 5, graph.device = 1;
  graph.context = 2, graph.stream = 7, graph.correlation = 15;
  f.out.add(graph);
  f.out.add(wc::DeviceRow{1, "NVIDIA H100", "uuid", 80ull << 30, 132, 9, 0});
  f.out.add(wc::DeviceRow{6, "not used", "", 1, 1, 9, 0});
  const Trace t = read_one(f.finish());

  REQUIRE(t.ops.size() == 5);
  CHECK(t.ops.begin_ns == std::vector<TimeNs>{2'000, 3'000, 3'500, 4'000, 5'000});
  CHECK(t.ops.end_ns == std::vector<TimeNs>{2'500, 3'400, 3'600, 4'100, 6'000});
  CHECK(t.ops.kind == std::vector<OpKind>{OpKind::kernel, OpKind::h2d, OpKind::p2p, OpKind::memset,
                                          OpKind::graph});
  CHECK(t.strings[t.ops.name[0]] == "void gemm<float>(int)");
  CHECK(t.copies[t.ops.copy[1]].bytes == 4096);
  CHECK(t.copies[t.ops.copy[1]].pageable);
  CHECK_FALSE(t.copies[t.ops.copy[1]].pinned);
  CHECK_FALSE(t.copies[t.ops.copy[2]].pageable);
  CHECK(t.os == "linux");
  CHECK(t.streams[row(t.ops.stream[1])].number == 8);
  CHECK(t.streams[row(t.ops.stream[1])].context == 2);
  CHECK(t.ops.graph[4] == 5);
  CHECK(t.graphs_as_a_whole);
  CHECK(t.notes.count(NoteCode::graph_level_trace) == 1);
  REQUIRE(t.devices.size() == 1);  // the others of the machine are no part of this rank
  CHECK(t.devices[0].ordinal == 1);
  CHECK(t.devices[0].name == "NVIDIA H100");
  CHECK(t.devices[0].memory_bytes == int64_t{80} << 30);
  CHECK(t.devices[0].sm_count == 132);
}

TEST_CASE("what the file says of itself") {
  RecordingFile f(some_process());
  f.out.add(wc::MessageRow{wc::Topic::cupti_busy, "CUPTI is in use\nby another tool"});
  const Trace t = read_one(f.finish());
  CHECK(t.rank == 3);
  CHECK(t.rank_source == RankSource::environment);
  CHECK(t.world_size == 8);
  CHECK(t.host_name == "node17");
  CHECK(t.format == "wallsight-recording");
  CHECK(t.tool_version == "0.1.0, CUPTI 130000");
  CHECK(t.processes.at(0).pid == 4242);
  CHECK(t.clock_base_ns > 1'600'000'000'000'000'000);  // a realtime clock of this century
  CHECK(t.settings == decltype(t.settings){{"NCCL_ALGO", "Ring"}});
  CHECK(detail(t, NoteCode::recorder_message) == "CUPTI is in use by another tool");
  CHECK(t.notes.count(NoteCode::no_gpu_events) == 1);
  CHECK(t.notes.count(NoteCode::recording_unfinished) == 0);
}

TEST_CASE("a process without a rank") {
  RecordingFile f;
  f.out.add(wc::KernelRow{1, 2, 0, 0, 0, 0, 0, 0, 0});
  CHECK(read_one(f.finish()).rank_source == RankSource::order);
}

TEST_CASE("calls are linked, nodes of a graph launch share an id") {
  RecordingFile f;
  wc::CallRow call;
  call.begin_ns = 100, call.end_ns = 200, call.name = f.name("cudaGraphLaunch_v10000");
  call.tid = 4243, call.correlation = 9;
  f.out.add(call);
  wc::KernelRow k;
  k.shape = f.shape("a");
  for (uint32_t node = 1; node <= 3; ++node) {
    k.begin_ns = int64_t{1'000} * node, k.end_ns = k.begin_ns + 100;
    k.correlation = 9, k.graph = 40 + node, k.graph_node = node;
    f.out.add(k);
  }
  const Trace t = read_one(f.finish());
  REQUIRE(t.calls.size() == 1);
  CHECK(t.strings[t.calls.name[0]] == "cudaGraphLaunch");
  CHECK(t.threads[row(t.calls.thread[0])].tid == 4243);
  CHECK(t.ops.launch == std::vector<uint32_t>{0, 0, 0});
  CHECK(t.ops.graph.values() == std::vector<uint32_t>{41, 41, 41});
  CHECK(t.has_api_records);
}

TEST_CASE("ranges of all kinds, with what NCCL says") {
  RecordingFile f;
  wc::RangeRow r;
  r.begin_ns = 10, r.end_ns = 500, r.name = f.name("aten::mm, seq = 12, op_id = 3"), r.tid = 7;
  f.out.add(r, nullptr);
  r = {20, 30, f.name("other"), 0, 0, wc::RangeKind::start_end};
  f.out.add(r, nullptr);
  r = {40, 40, f.name("here"), 0, 7, wc::RangeKind::mark};
  f.out.add(r, nullptr);
  wc::CollectiveRow init;
  init.communicator = UINT64_MAX, init.has_communicator = true, init.rank_count = 8, init.rank = 2;
  r = {50, 60, f.name("ncclCommInitRank"), f.name("NCCL"), 7, wc::RangeKind::push_pop};
  f.out.add(r, &init);
  wc::CollectiveRow reduce;
  reduce.communicator = UINT64_MAX, reduce.has_communicator = true, reduce.bytes = 1 << 20;
  r.begin_ns = 70, r.end_ns = 80, r.name = f.name("ncclAllReduce");
  f.out.add(r, &reduce);
  r.begin_ns = 90, r.end_ns = 95, r.domain = 0;  // the user's own range of that name
  f.out.add(r, nullptr);
  const Trace t = read_one(f.finish());
  REQUIRE(t.ranges.size() == 6);
  CHECK(t.strings[t.ranges.name[0]] == "aten::mm");
  CHECK(t.ranges.sequence[0] == 12);
  CHECK(t.framework == "pytorch");
  CHECK(t.ranges.source[1] == RangeSource::nvtx_start_end);
  CHECK(t.ranges.thread[1] == kNoThread);
  CHECK(t.ranges.source[2] == RangeSource::mark);
  REQUIRE(t.ranges.collective[4] != kNoRow);
  const CollectiveInfo& info = t.collectives[t.ranges.collective[4]];
  CHECK(t.strings[info.group_name] == "18446744073709551615");
  CHECK(info.bytes == 1 << 20);
  CHECK(info.group_size == 8);
  CHECK(t.ranges.collective[5] == kNoRow);
}

TEST_CASE("syncs, events, overheads and memory") {
  RecordingFile f;
  wc::CallRow call;
  call.begin_ns = 5, call.end_ns = 95, call.name = f.name("cudaStreamSynchronize_ptsz"),
  call.tid = 1;
  call.correlation = 3;
  f.out.add(call);
  wc::SyncRow s;
  s.begin_ns = 10, s.end_ns = 90, s.kind = 3, s.stream = 7, s.event = UINT32_MAX;
  s.correlation = 3;
  f.out.add(s);
  f.out.add(wc::EventRecordRow{7, 2, 12, 4});
  f.out.add(wc::OverheadRow{100, 200, 1u << 16, 0});
  f.out.add(wc::OverheadRow{300, 400, 4u << 16, 55});
  f.out.add(wc::MemoryRow{500, 64, 2});
  f.out.add(wc::MemoryRow{450, -32, 2});
  const Trace t = read_one(f.finish());
  REQUIRE(t.syncs.size() == 1);
  CHECK(t.syncs[0].kind == SyncKind::stream);
  CHECK(t.syncs[0].stream == 7);
  CHECK(t.syncs[0].event_id == -1);
  CHECK(t.syncs[0].call == 0);
  CHECK(t.strings[t.calls.name[0]] == "cudaStreamSynchronize");
  REQUIRE(t.event_records.size() == 1);
  CHECK(t.event_records[0].sync_id == 12);
  REQUIRE(t.ranges.size() == 2);
  CHECK(t.strings[t.ranges.name[0]] == "cupti buffer flush");
  CHECK(t.threads[row(t.ranges.thread[0])].tid == -1);
  CHECK(t.threads[row(t.ranges.thread[1])].tid == 55);
  REQUIRE(t.memory.size() == 2);
  CHECK(t.memory[0].time_ns == 450);
  CHECK(t.memory[0].delta_bytes == -32);
}

TEST_CASE("losses are notes with their counts") {
  RecordingFile f;
  f.out.add(wc::KernelRow{1, 2, 0, 0, 0, 0, 0, 0, 0});
  f.out.lose(wc::LossSource::buffers_full, 10);
  f.out.flush();
  f.out.lose(wc::LossSource::buffers_full, 5);
  f.out.lose(wc::LossSource::zero_timestamps, 2);
  f.out.lose(wc::LossSource::degraded, 1);
  const Trace t = read_one(f.finish());
  CHECK(t.notes.count(NoteCode::records_lost) == 15);
  CHECK(detail(t, NoteCode::records_lost) == "the recorder's buffers were full");
  CHECK(t.notes.count(NoteCode::zero_timestamp) == 2);
  CHECK(t.notes.count(NoteCode::recorder_message) == 1);
}

TEST_CASE("rows no program can have recorded are counted, not believed") {
  RecordingFile f;
  wc::KernelRow k;
  k.begin_ns = INT64_MAX, k.end_ns = INT64_MIN;
  f.out.add(k);
  k = {100, 200, 0, UINT32_MAX, 0, 0, 0, 0, 0};
  f.out.add(k);
  k = {100, 200, 99, 0, 0, 0, 0, 0, 0};  // a shape that the file does not have
  f.out.add(k);
  const Trace t = read_one(f.finish());
  CHECK(t.ops.size() == 1);
  CHECK(t.notes.count(NoteCode::bad_event) + t.notes.count(NoteCode::time_out_of_range) == 2);
  CHECK(t.notes.count(NoteCode::unknown_string) == 1);
}

TEST_CASE("a frame of another version is refused with a sentence") {
  RecordingFile f;
  f.out.add(wc::KernelRow{1, 2, 0, 0, 0, 0, 0, 0, 0});
  std::string bytes;
  {
    std::ifstream in(f.finish(), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  bytes.resize(32 + static_cast<unsigned char>(bytes[8]));  // the first frame
  bytes[4] = 2;
  const uint32_t crc = wc::crc32c(bytes.data(), 28);
  for (int i = 0; i < 4; ++i) bytes[28 + static_cast<size_t>(i)] = static_cast<char>(crc >> 8 * i);
  const std::string path = f.path() + ".v2";
  std::ofstream(path, std::ios::binary) << bytes;
  const auto read = read_file(path);
  REQUIRE_FALSE(read);
  CHECK(read.error().message ==
        path +
            ": expected a recording of format version 1, found version 2; analyze it with the "
            "wallsight that recorded it");
}

TEST_CASE("what recording cost: windows, CUPTI's own work, the writer, steps with it and without") {
  RecordingFile f(some_process());
  f.out.add(wc::WindowRow{1'000, 11'000, 0, wc::Tier::host});
  f.out.add(wc::WindowRow{20'000, 20'500, 0, wc::Tier::host});
  f.out.add(wc::WindowRow{30'000, 0, 0, wc::Tier::host});  // still open
  f.out.add(wc::OverheadRow{2'000, 2'300, 1u << 16, 0});
  f.out.add(wc::OverheadRow{4'000, 4'100, 2u << 16, 7});
  for (const int64_t took : {100, 900, 110}) f.out.add(wc::StepRow{5'000, 5'000 + took, false});
  for (const int64_t took : {130, 120, 140, 90}) f.out.add(wc::StepRow{9'000, 9'000 + took, true});
  f.out.finish({0, 77, 0});
  const Trace t = read_one(f.path());
  CHECK(t.recorder.window_ns == 10'500);
  CHECK(t.recorder.tool_ns == 400);
  CHECK(t.recorder.writer_cpu_ns == 77);
  CHECK(t.recorder.bare_step_ns == 110);
  CHECK(t.recorder.recorded_step_ns == 130);

  RecordingFile little;
  little.out.add(wc::StepRow{1, 5, true});
  little.out.add(wc::StepRow{5, 9, true});
  little.out.flush();  // and the process dies
  const Trace u = read_one(little.path());
  CHECK(u.recorder.window_ns == -1);
  CHECK(u.recorder.tool_ns == -1);
  CHECK(u.recorder.writer_cpu_ns == -1);
  CHECK(u.recorder.bare_step_ns == -1);
  CHECK(u.recorder.recorded_step_ns == -1);
}
