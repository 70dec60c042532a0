// What an event means once it is read: rows, times, links, identity. Inputs are inline text.
#include "import/kineto.h"

#include "support/catch.h"
#include "support/kineto_file.h"

namespace ws {
namespace {

using test::KinetoFile;
using test::ScratchFile;

Trace trace_of(const std::string& text, std::string_view name = "trace.json") {
  const ScratchFile file(name, text);
  auto trace = read_kineto(file.path(), {});
  INFO(text);
  INFO((trace ? std::string() : trace.error().message));
  REQUIRE(trace);
  return std::move(*trace);
}

std::string refusal_of(const std::string& text) {
  const ScratchFile file("x.json", text);
  const auto trace = read_kineto(file.path(), {});
  REQUIRE_FALSE(trace);
  const std::string& message = trace.error().message;
  CHECK(message.find(file.path() + ": ") == 0);
  return message.substr(file.path().size() + 2);
}

std::string_view range_name(const Trace& t, size_t i) { return t.strings[t.ranges.name[i]]; }

const Note* note_of(const Trace& t, NoteCode code) {
  for (const Note& n : t.notes.all()) {
    if (n.code == code) return &n;
  }
  return nullptr;
}

KinetoFile one_step() {
  KinetoFile f;
  f.annotation("ProfilerStep#3", 0, 1'000'000).cpu_op("aten::mm", 100'000, 140'000);
  f.call("cudaLaunchKernel", 110'000, 118'000, 101).kernel("gemm", 130'000, 330'000, 101);
  return f;
}

}  // namespace

TEST_CASE("a small trace gives its rows, linked") {
  KinetoFile f = one_step();
  f.before("\"schemaVersion\": 1")
      .before(
          R"("deviceProperties": [{"id": 0, "name": "GPU A", "totalGlobalMem": 80, "numSms": 132,
                 "computeMajor": 9, "computeMinor": 0}, {"id": 1, "name": "GPU B"}])")
      .after("\"baseTimeNanoseconds\": 1764000000000000000");
  f.copy("Memcpy HtoD (Pageable -> Device)", 40'000, 90'000, 100, 1 << 20, 8);
  f.call("cudaMemcpyAsync", 30'000, 40'000, 100).memset(340'000, 341'500, 102);
  const Trace t = trace_of(f.text());
  REQUIRE(t.ops.size() == 3);
  CHECK(t.ops.kind == std::vector<OpKind>{OpKind::h2d, OpKind::kernel, OpKind::memset});
  CHECK(t.ops.begin_ns == std::vector<TimeNs>{40'000, 130'000, 340'000});
  CHECK(t.ops.end_ns == std::vector<TimeNs>{90'000, 330'000, 341'500});
  CHECK(t.strings[t.ops.name[1]] == "gemm");
  CHECK(t.copies[t.ops.copy[0]].bytes == 1 << 20);
  CHECK(t.copies[t.ops.copy[0]].pageable);
  CHECK(t.ops.launch == std::vector<uint32_t>{0, 1, kNoRow});
  CHECK(t.strings[t.calls.name[0]] == "cudaMemcpyAsync");
  CHECK(t.streams[row(t.ops.stream[0])].number == 8);
  CHECK(t.streams[row(t.ops.stream[1])].number == 7);
  REQUIRE(t.devices.size() == 1);
  CHECK(t.devices[0].name == "GPU A");
  CHECK(t.devices[0].memory_bytes == 80);
  CHECK(t.devices[0].sm_count == 132);
  CHECK(t.devices[0].compute_major == 9);
  REQUIRE(t.ranges.size() == 2);
  CHECK(range_name(t, 0) == "ProfilerStep#3");
  CHECK(t.ranges.source[0] == RangeSource::user_annotation);
  CHECK(t.ranges.source[1] == RangeSource::cpu_op);
  CHECK(t.clock_base_ns == 1764000000000000000);
  CHECK(t.tick_ns == 1);
  CHECK(t.framework == "pytorch");
  CHECK(t.format == "kineto-json");
  CHECK(t.tool_version == "torch profiler schema 1");
  CHECK(note_of(t, NoteCode::microsecond_clock) == nullptr);
}

TEST_CASE("calls of HIP tell AMD's GPU where the file names no device") {
  const auto name = [](std::string_view call, std::string_view properties) {
    test::KinetoFile f;
    f.call(call, 10, 20, 1).kernel("k", 30, 40, 1);
    if (!properties.empty()) f.before(std::string(properties));
    return trace_of(f.text()).devices.at(0).name;
  };
  CHECK(name("hipLaunchKernel", "") == "AMD GPU");
  CHECK(name("hipExtModuleLaunchKernel", "") == "AMD GPU");
  CHECK(name("cudaLaunchKernel", "").empty());
  CHECK(name("hipLaunchKernel",
             R"("deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X"}])") ==
        "AMD Instinct MI300X");
}

TEST_CASE("spellings of 2020: categories, string ids, stream by thread name, array form") {
  const std::string text = R"JSON([
    {"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": 9, "tid": "4093687616", "ts": 10, "dur": 5, "args": {"Sequence number": 4}},
    {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": "4093687616", "ts": 11, "dur": 1, "args": {"correlation": 3, "external id": 77}},
    {"ph": "X", "cat": "Kernel", "name": "k", "pid": 1, "tid": "stream 23", "ts": 14, "dur": 2, "args": {"correlation": 3, "external id": 77}},
    {"ph": "X", "cat": "Memcpy", "name": "Memcpy DtoH (Device -> Pinned)", "pid": 1, "tid": "stream 23", "ts": 20, "dur": 2, "args": {"bytes": 8}},
    {"ph": "X", "cat": "Memset", "name": "Memset (Device)", "pid": 1, "tid": "stream 23", "ts": 30, "dur": 2, "args": {}}
  ])JSON";
  const Trace t = trace_of(text);
  REQUIRE(t.ops.size() == 3);
  CHECK(t.ops.kind == std::vector<OpKind>{OpKind::kernel, OpKind::d2h, OpKind::memset});
  CHECK(t.devices[0].ordinal == 1);
  CHECK(t.streams[0].number == 23);
  CHECK(t.ops.launch[0] == 0);
  CHECK(t.ranges.sequence[0] == 4);
  CHECK(t.threads[0].tid == 4093687616);
  CHECK(t.tick_ns == 1000);
  CHECK(note_of(t, NoteCode::microsecond_clock) != nullptr);
  CHECK(t.rank_source == RankSource::order);
}

TEST_CASE("the clock: ticks by what device times show, epoch times need no base") {
  KinetoFile f;
  f.event(R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1.5,"dur":1})");
  f.event(R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":2,"dur":3.0,"args":{}})");
  CHECK(trace_of(f.text()).tick_ns == 1000);
  f.event(R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":9,"dur":0.125,"args":{}})");
  CHECK(trace_of(f.text()).tick_ns == 1);

  KinetoFile epoch;
  epoch.after("\"baseTimeNanoseconds\": 1764000000000000000");
  epoch.event(
      R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1764432123456790.014,"dur":1.111,"args":{}})");
  const Trace t = trace_of(epoch.text());
  CHECK(t.ops.begin_ns[0] == 1764432123456790014);
  CHECK(t.ops.end_ns[0] == 1764432123456791125);
  CHECK(t.clock_base_ns == 0);
}

TEST_CASE("kernels of a graph launch share a graph, by id or by their launch") {
  KinetoFile f;
  f.call("cudaGraphLaunch", 0, 10'000, 500).call("cudaLaunchKernel", 20'000, 21'000, 501);
  f.call("cudaGraphLaunch", 30'000, 31'000, 502);
  f.kernel("a", 50'000, 51'000, 500, 7, 0, R"("graph id": 3, "graph node id": 4000)");
  f.kernel("b", 52'000, 53'000, 500, 7, 0, R"("graph id": 3, "graph node id": 4001)");
  f.kernel("c", 54'000, 55'000, 501, 7, 0, R"("graph id": 0, "graph node id": 0)");
  f.kernel("d", 56'000, 57'000, 502).kernel("e", 58'000, 59'000, 502);
  const Trace t = trace_of(f.text());
  CHECK(t.ops.graph.values() == std::vector<uint32_t>{3, 3, 0, 502, 502});
}

TEST_CASE("collective metadata of kernels and of record_param_comms") {
  const std::string meta =
      R"("Collective name": "allreduce", "In msg nelems": 2049000, "Out msg nelems": 2049000,
         "Group size": 2, "dtype": "Float", "Process Group Name": "0", "Seq": 12,
         "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]")";
  KinetoFile f;
  f.kernel("ncclDevKernel_AllReduce", 10'000, 20'000, 1, 20, 0, meta);
  f.cpu_op("record_param_comms", 0, 5'000, {}, meta);
  f.cpu_op("record_param_comms", 6'000, 7'000, {},
           R"("Collective name": "wait", "dtype": "Byte", "Group size": 1)");
  f.kernel("ncclDevKernel_SendRecv", 30'000, 40'000, 2, 20, 0,
           R"("Collective name": "send", "Group size": 128, "Dst Rank": 3, "Src Rank": 1,
              "Process Group Ranks": "[0, 1, ..., 127]")");
  const Trace t = trace_of(f.text());
  REQUIRE(t.collectives.size() == 3);
  const CollectiveInfo& c = t.collectives[t.ops.collective[0]];
  CHECK(t.strings[c.name] == "allreduce");
  CHECK(t.strings[c.group_name] == "0");
  CHECK(t.strings[c.group_desc] == "default_pg");
  CHECK(t.strings[c.members] == "0,1");
  CHECK(t.strings[c.dtype] == "Float");
  CHECK(c.group_size == 2);
  CHECK(c.in_elements == 2049000);
  CHECK(c.out_elements == 2049000);
  CHECK(c.sequence == 12);
  CHECK(t.ranges.collective[0] != kNoRow);
  CHECK(t.ranges.collective[1] == kNoRow);
  const CollectiveInfo& p2p = t.collectives[t.ops.collective[1]];
  CHECK(t.strings[p2p.members].empty());  // the list is shortened
  CHECK(p2p.group_size == 128);
  CHECK(p2p.peer == 3);
  CHECK(p2p.sequence == -1);
}

TEST_CASE("synchronisation records are no device work and name what they waited for") {
  KinetoFile f = one_step();
  f.call("cudaEventRecord", 119'000, 120'000, 150)
      .call("cudaStreamWaitEvent", 121'000, 122'000, 151);
  f.sync(
      "Stream Wait Event", 121'000, 121'500, 151, 20,
      R"("wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 150, "wait_on_cuda_event_id": 9)");
  f.sync("Context Sync", 400'000, 410'000, 152, -1);
  const Trace t = trace_of(f.text());
  CHECK(t.ops.size() == 1);
  REQUIRE(t.syncs.size() == 2);
  CHECK(t.syncs[0].kind == SyncKind::stream_wait);
  CHECK(t.syncs[0].stream == 20);
  CHECK(t.syncs[0].event_id == 9);
  CHECK(t.strings[t.calls.name[t.syncs[0].call]] == "cudaStreamWaitEvent");
  CHECK(t.syncs[1].kind == SyncKind::context);
  CHECK(t.syncs[1].stream == -1);
  REQUIRE(t.event_records.size() == 1);
  CHECK(t.event_records[0].stream == 7);
  CHECK(t.event_records[0].sync_id == t.syncs[0].sync_id);
  CHECK(t.strings[t.calls.name[t.event_records[0].call]] == "cudaEventRecord");
}

TEST_CASE("memory events of devices, not of the host; one device at work takes them all") {
  const auto memory = [](int64_t device, int type, int64_t bytes, const char* more) {
    return R"({"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":5.5,"args":{)" +
           std::string(more) + "\"Bytes\": " + std::to_string(bytes) +
           ", \"Device Id\": " + std::to_string(device) +
           ", \"Device Type\": " + std::to_string(type) + "}}";
  };
  KinetoFile f;
  f.kernel("k", 0, 1'000, 1, 7, 2);
  f.event(memory(-1, 0, 64, "")).event(memory(0, 6, -512, ""));
  f.event(memory(2, 1, 512, R"("Total Allocated": 1000, "Total Reserved": 2000, )"));
  const Trace t = trace_of(f.text());
  REQUIRE(t.memory.size() == 2);
  CHECK(t.devices.size() == 1);
  CHECK(t.memory[0].delta_bytes == -512);
  CHECK(t.memory[0].allocated_bytes == -1);
  CHECK(t.memory[1].allocated_bytes == 1000);
  CHECK(t.memory[1].reserved_bytes == 2000);
  CHECK(t.memory[1].time_ns == 5'500);
}

TEST_CASE("python functions are kept only where an analysis asks for them") {
  KinetoFile f = one_step();
  f.python("trainer.py(3): step", 0, 900'000).python("gc.py: collect generation 2", 50'000, 60'000);
  f.python("torch/utils/data/dataloader.py(630): __next__", 1'000, 2'000);
  f.python("unknown.__next__", 3'000, 4'000, {0, 0});
  const Trace t = trace_of(f.text());
  std::vector<std::string_view> kept;
  for (size_t i = 0; i < t.ranges.size(); ++i) {
    if (t.ranges.source[i] == RangeSource::python) kept.push_back(range_name(t, i));
  }
  CHECK(kept == std::vector<std::string_view>{"torch/utils/data/dataloader.py(630): __next__",
                                              "unknown.__next__", "gc.py: collect generation 2"});
  CHECK(t.processes.size() == 1);  // pid 0 of Python is no process
  CHECK(note_of(t, NoteCode::crossing_ranges) == nullptr);
}

TEST_CASE("python functions that cross are counted though they are not kept") {
  KinetoFile f = one_step();
  f.python("f", 100'000, 400'000).python("g", 350'000, 550'000).python("h", 349'999, 550'001);
  f.python("other thread", 350'000, 900'000, {4100, 5});
  const Trace t = trace_of(f.text());
  REQUIRE(note_of(t, NoteCode::crossing_ranges) != nullptr);
  CHECK(note_of(t, NoteCode::crossing_ranges)->count == 2);
}

TEST_CASE("profiler overhead sits on a pseudo thread of the only process") {
  KinetoFile f;
  f.overhead("Activity Buffer Request", 1'000, 2'000)
      .overhead("Lazy load", 3'000, 4'000, {-1, 4100});
  f.overhead("own thread", 5'000, 6'000, {4100, 99});
  f.call("cudaLaunchKernel", 0, 500, 1).kernel("k", 600, 700, 1);
  f.event(
      R"({"ph":"X","cat":"gpu_user_annotation","name":"step","pid":0,"tid":7,"ts":0.6,"dur":0.1})");
  const Trace t = trace_of(f.text());
  REQUIRE(t.ranges.size() == 4);
  CHECK(t.processes.size() == 1);
  CHECK(t.ranges.source[0] == RangeSource::gpu_annotation);
  CHECK(t.ranges.thread[0] == kNoThread);
  CHECK(t.threads[row(t.ranges.thread[1])].tid == -1);
  CHECK(t.threads[row(t.ranges.thread[2])].tid == 4100);
  CHECK(t.threads[row(t.ranges.thread[3])].tid == 99);
}

TEST_CASE("device work belongs to the process that launched it") {
  KinetoFile f;
  f.kernel("a", 10'000, 11'000, 1).kernel("b", 12'000, 13'000, 2).kernel("c", 14'000, 15'000, 3);
  f.call("cudaLaunchKernel", 0, 100, 1, {10, 10}).call("cudaLaunchKernel", 200, 300, 2, {20, 20});
  f.cpu_op("host only", 0, 100, {30, 30});
  const Trace t = trace_of(f.text());
  CHECK(t.processes[row(t.process_of(0))].pid == 10);
  CHECK(t.processes[row(t.process_of(1))].pid == 20);
  CHECK(t.processes[row(t.process_of(2))].pid == 10);  // nobody's: the first that made calls
  CHECK(t.ops.launch == std::vector<uint32_t>{0, 1, kNoRow});
}

TEST_CASE("calls and operators without thread or process keep their time") {
  KinetoFile f;
  f.event(
      R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","tid":4100,"ts":1,"dur":2,"args":{"correlation":5}})");
  f.event(
      R"({"ph":"X","cat":"cuda_runtime","name":"cudaFree","pid":4100,"ts":4,"dur":2,"args":{}})");
  f.event(R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":4100,"ts":0.5,"dur":9})");
  f.cpu_op("aten::add", 20'000, 30'000).kernel("k", 9'000, 12'000, 5);
  const Trace t = trace_of(f.text());
  REQUIRE(t.calls.size() == 2);
  CHECK(t.threads[row(t.calls.thread[0])].tid == 4100);
  CHECK(t.ops.launch[0] == 0);
  CHECK(t.ranges.thread[0] == kNoThread);
  CHECK(note_of(t, NoteCode::missing_thread)->count == 3);
  CHECK(note_of(t, NoteCode::missing_thread)->first_place.find("event 1, byte ") == 0);
}

TEST_CASE("pairs of begin and end become ranges; other phases are left alone") {
  KinetoFile f = one_step();
  const auto mark = [&](const char* ph, const char* name, const char* ts) {
    f.event(R"({"ph":")" + std::string(ph) + R"(","cat":"cpu_op","name":")" + name +
            R"(","pid":4100,"tid":4100,"ts":)" + ts + "}");
  };
  mark("B", "outer", "700");
  mark("B", "inner", "710");
  mark("E", "", "730");
  mark("E", "", "760");
  mark("E", "", "770");
  mark("B", "never closed", "900");
  for (const char* ph : {"i", "I", "C", "b", "e", "N", "M", "s", "f", "?"}) mark(ph, "x", "5");
  const Trace t = trace_of(f.text());
  REQUIRE(t.ranges.size() == 4);
  CHECK(range_name(t, 2) == "outer");
  CHECK(t.ranges.end_ns[2] - t.ranges.begin_ns[2] == 60'000);
  CHECK(range_name(t, 3) == "inner");
  CHECK(t.ranges.end_ns[3] - t.ranges.begin_ns[3] == 20'000);
  CHECK(note_of(t, NoteCode::junk_event)->count == 1);
  CHECK(note_of(t, NoteCode::unfinished_range)->count == 1);
}

TEST_CASE("ranks and groups from the header, wherever it stands, else from the file name") {
  KinetoFile f = one_step();
  f.after(R"("distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2, "pg_config": [
      {"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]},
      {"pg_name": "7", "pg_desc": "EP", "pg_size": 64, "ranks": [0, 1, 2]}]})");
  const Trace t = trace_of(f.text(), "rank5.json");
  CHECK(t.rank == 1);
  CHECK(t.rank_source == RankSource::distributed_info);
  CHECK(t.world_size == 2);
  REQUIRE(t.groups.size() == 2);
  CHECK(t.groups[0].ranks == std::vector<int64_t>{0, 1});
  CHECK(t.groups[1].description == "EP");
  CHECK(t.groups[1].ranks.empty());  // not the whole list
  const Trace named = trace_of(one_step().text(), "rank5.pt.trace.json");
  CHECK(named.rank == 5);
  CHECK(named.rank_source == RankSource::file_name);
  KinetoFile partial = one_step();
  partial.before(R"("distributedInfo": {"backend": "nccl"})");
  CHECK(trace_of(partial.text()).rank_source == RankSource::order);
}

TEST_CASE("no GPU work is said, with the reason where there is one") {
  KinetoFile cpu;
  cpu.cpu_op("aten::mm", 0, 1'000);
  const Trace t = trace_of(cpu.text());
  REQUIRE(note_of(t, NoteCode::no_gpu_events) != nullptr);
  CHECK(note_of(t, NoteCode::no_gpu_events)->detail.empty());
  CHECK(t.devices.empty());
  cpu.complete("mtia_ccp_events", "event_wait", 0, 5'000, {17, 3774});
  const Trace other = trace_of(cpu.text());
  CHECK(note_of(other, NoteCode::other_accelerator) != nullptr);
  CHECK(note_of(other, NoteCode::no_gpu_events) == nullptr);  // CUDA was not forgotten
}

TEST_CASE("what is no trace is refused in one line") {
  CHECK(refusal_of("").find("found an empty file") != std::string::npos);
  CHECK(refusal_of(" \n").find("found an empty file") != std::string::npos);
  CHECK(refusal_of("hello").find("found other data") != std::string::npos);
  CHECK(refusal_of(R"({"schema": "1.0.1", "nodes": [{"id": 1}]})").find("traceEvents") !=
        std::string::npos);
  CHECK(refusal_of(R"({"traceEvents": null})").find("without a list traceEvents") !=
        std::string::npos);
  CHECK(refusal_of(R"({"traceEvents": []})").find("no events") != std::string::npos);
  CHECK(refusal_of(R"({"traceEvents": [)").find("cut off") != std::string::npos);
  CHECK(refusal_of("[]").find("no events") != std::string::npos);
  CHECK(refusal_of("[[1, 2], [3, 4]]").find("none among 2 entries") != std::string::npos);
  CHECK(
      refusal_of(R"({"traceEvents": [{"ph": "X", "cat": "gfx", "name": "f", "ts": 1, "dur": 2}]})")
          .find("none among 1 entries") != std::string::npos);
}

TEST_CASE("the sniff goes by content") {
  const auto sniff = [](std::string_view head) { return kKinetoImporter.sniff(head, "nowhere"); };
  CHECK(sniff(one_step().text()) > 50);
  CHECK(sniff("\xef\xbb\xbf\r\n" + one_step().text()) > 50);
  CHECK(sniff("[" + one_step().events() + "]") > 50);
  CHECK(sniff(R"({"schemaVersion": 1, "deviceProperties": [)") > 0);
  CHECK(sniff("") == 0);
  CHECK(sniff("SQLite format 3") == 0);
  CHECK(sniff("[[1, 2]]") == 0);
  CHECK(sniff(R"([{"name": "no phase"}])") == 0);
  CHECK(sniff(R"({"schema": "1.0.1-chakra", "nodes": []})") == 0);
  // A long header in front of the events: the file itself is looked at.
  const std::string header = R"({"metadata": ")" + std::string(100'000, 'm') + "\", ";
  const ScratchFile file("long.json", header + one_step().text().substr(1));
  CHECK(kKinetoImporter.sniff(std::string_view(header).substr(0, 65'536), file.path()) > 50);
  CHECK(kKinetoImporter.read(file.path()));
}

}  // namespace ws
