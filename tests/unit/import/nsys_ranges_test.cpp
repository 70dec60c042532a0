#include "import/nsys_ranges.h"

#include "import/nsys_nccl.h"
#include "import/registry.h"
#include "support/catch.h"
#include "support/nsys_file.h"

using namespace ws;
using namespace ws::test;

namespace {

Trace one_trace(NsysFile& file) {
  Result<std::vector<Trace>> traces = read_file(file.finish());
  REQUIRE(traces.has_value());
  REQUIRE(traces->size() == 1);
  return std::move(traces->front());
}

// Row of the range with this name.
size_t range(const Trace& t, std::string_view name) {
  for (size_t i = 0; i < t.ranges.size(); ++i) {
    if (t.strings[t.ranges.name[i]] == name) return i;
  }
  FAIL("no range " << name);
  return 0;
}

}  // namespace

TEST_CASE("NVTX events become ranges by their type") {
  NsysFile file(GENERATE(NsysLayout::old, NsysLayout::current));
  file.add(NsysRange{.begin_ns = 10, .end_ns = 90, .name = "push"});
  file.add(NsysRange{.begin_ns = 20, .end_ns = 80, .name = "registered", .registered = true});
  file.add(NsysRange{.begin_ns = 30, .end_ns = 70, .name = "one thread", .type = 60});
  file.add(
      NsysRange{.begin_ns = 30, .end_ns = 70, .name = "two threads", .type = 60, .end_tid = 2000});
  file.add(NsysRange{.begin_ns = 40, .name = "mark", .type = 34});
  file.add(NsysRange{.begin_ns = 50, .end_ns = 60});
  file.add(NsysRange{.begin_ns = 50, .name = "open"});
  file.add(NsysRange{.begin_ns = 50, .end_ns = -1, .name = "open too"});
  file.add(NsysRange{.begin_ns = 50, .end_ns = 40, .name = "backwards"});
  file.add(NsysRange{.begin_ns = 0, .name = "domain", .type = 75, .domain = 3});
  file.add(NsysRange{.begin_ns = 0, .name = "category", .type = 33});
  file.add(NsysRange{.begin_ns = 0, .name = "thread name", .type = 39});
  const Trace t = one_trace(file);
  CHECK(t.ranges.size() == 6);
  CHECK(t.ranges.source[range(t, "push")] == RangeSource::nvtx);
  CHECK(t.ranges.source[range(t, "registered")] == RangeSource::nvtx);
  CHECK(t.ranges.source[range(t, "one thread")] == RangeSource::nvtx_start_end);
  CHECK(t.ranges.thread[range(t, "one thread")] != kNoThread);
  CHECK(t.ranges.thread[range(t, "two threads")] == kNoThread);
  CHECK(t.ranges.source[range(t, "mark")] == RangeSource::mark);
  CHECK(t.ranges.end_ns[range(t, "mark")] == 40);
  CHECK(t.ranges.begin_ns[range(t, "")] == 50);
  CHECK(t.notes.count(NoteCode::unfinished_range) == 2);
  CHECK(t.notes.count(NoteCode::negative_duration) == 1);
  CHECK(t.notes.count(NoteCode::no_gpu_events) == 1);
  CHECK(t.has_host_ranges);
}

TEST_CASE("an end before zero is no end, unless the range began there too") {
  NsysFile file;
  file.add(NsysCall{10, 20, "cudaLaunchKernel", 5});
  file.add(NsysRange{.begin_ns = -200, .end_ns = -100, .name = "before the session's zero"});
  file.add(NsysRange{.begin_ns = 100, .end_ns = -1, .name = "open"});
  const Trace t = one_trace(file);
  REQUIRE(t.ranges.size() == 1);
  CHECK(t.ranges.end_ns[0] == -100);
  CHECK(t.notes.count(NoteCode::unfinished_range) == 1);
}

TEST_CASE("ranges and calls without a thread keep their time and are told") {
  NsysFile file;
  file.add(NsysCall{10, 20, "cudaLaunchKernel", 5});
  file.add(NsysCall{30, 40, "cudaLaunchKernel", 6});
  file.add(NsysRange{.begin_ns = 10, .end_ns = 90, .name = "of a thread"});
  file.add(NsysRange{.begin_ns = 20, .end_ns = 80, .name = "of none"});
  file.sql("UPDATE NVTX_EVENTS SET globalTid = NULL WHERE start = 20");
  file.sql("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = 0 WHERE start = 30");
  const Trace t = one_trace(file);
  CHECK(t.notes.count(NoteCode::missing_thread) == 2);
  CHECK(t.ranges.thread[range(t, "of a thread")] != kNoThread);
  CHECK(t.ranges.thread[range(t, "of none")] == kNoThread);
  CHECK(t.ranges.end_ns[range(t, "of none")] == 80);
  CHECK(t.calls.size() == 2);
}

TEST_CASE("arguments are cut from PyTorch's range names, the sequence number is kept") {
  struct Row {
    std::string_view text, name;
    int64_t sequence;
  };
  const Row rows[] = {
      {"aten::copy_, op_id = 991065", "aten::copy_", -1},
      {"AddBackward0, seq = 10293, op_id = 85595, sizes = [[4, 512, 1]]", "AddBackward0", 10293},
      {"aten::mm, sizes = [[2], [3]], input_op_ids = [(1,0)]", "aten::mm", -1},
      {"aten::mm, op_id = 7, seq = 12", "aten::mm", 12},
      {"f, seq = x", "f", -1},
      {"f, seq = 99999999999999999999", "f", -1},
      {"load batch, then step", "load batch, then step", -1},
      {"", "", -1},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(nsys::split_range_text(row.text).name == row.name);
    CHECK(nsys::split_range_text(row.text).sequence == row.sequence);
  }
  NsysFile file;
  file.add(NsysRange{.begin_ns = 1, .end_ns = 2, .name = "aten::mm, seq = 3, op_id = 4"});
  const Trace t = one_trace(file);
  CHECK(t.ranges.sequence[range(t, "aten::mm")] == 3);
  CHECK(t.framework == "pytorch");
}

TEST_CASE("NCCL ranges carry what their payload says") {
  NsysFile file;
  const std::string id = "13429301450432826988";  // above 2^63
  file.add(NsysRange{.begin_ns = 10,
                     .end_ns = 20,
                     .name = "ncclAllReduce",
                     .domain = 1,
                     .json = "{\"NCCL communicator ID\":" + id +
                             ",\"Message size [bytes]\":4096,\"Reduction operation\":\"Sum\"}",
                     .registered = true});
  file.add(NsysRange{
      .begin_ns = 30,
      .end_ns = 40,
      .name = "ncclBroadcast",
      .domain = 1,
      .json = "{\"NCCL communicator ID\" : " + id + ", \"Message size [bytes]\":8,\"Root\":2}"});
  file.add(
      NsysRange{.begin_ns = 1,
                .end_ns = 5,
                .name = "ncclCommInitRankConfig",
                .domain = 1,
                .json = "{\"NCCL communicator ID\":" + id + ",\"No. of ranks\":8,\"Rank\":3}"});
  file.add(NsysRange{.begin_ns = 50, .end_ns = 60, .name = "ncclAllGather", .domain = 1});
  file.add(NsysRange{.begin_ns = 70, .end_ns = 80, .name = "ncclGroupStart", .domain = 1});
  file.add(NsysRange{.begin_ns = 70, .end_ns = 80, .name = "ncclAllReduce by the user"});
  const Trace t = one_trace(file);
  REQUIRE(t.ranges.collective[range(t, "ncclAllReduce")] != kNoRow);
  const CollectiveInfo& reduce = t.collectives[t.ranges.collective[range(t, "ncclAllReduce")]];
  CHECK(t.strings[reduce.name] == "ncclAllReduce");
  CHECK(t.strings[reduce.group_name] == id);
  CHECK(reduce.bytes == 4096);
  CHECK(reduce.group_size == 8);
  CHECK(reduce.root == -1);
  const CollectiveInfo& send = t.collectives[t.ranges.collective[range(t, "ncclBroadcast")]];
  CHECK(send.root == 2);
  CHECK(send.bytes == 8);
  const CollectiveInfo& gather = t.collectives[t.ranges.collective[range(t, "ncclAllGather")]];
  CHECK(gather.bytes == -1);
  CHECK(t.ranges.collective[range(t, "ncclAllReduce by the user")] == kNoRow);
  CHECK(t.notes.count(NoteCode::missing_payload_json) == 1);
}

TEST_CASE("payloads that are no JSON say nothing") {
  TraceBuilder b;
  nsys::Communicators created;
  for (const char* json : {"", "{", "{\"Root\":}", "\"NCCL communicator ID\"", "{\"Root\":\"x\"}",
                           "{\"Message size [bytes]\":99999999999999999999999}"}) {
    const CollectiveInfo& c =
        b.trace.collectives[nsys::add_nccl_collective(b, "ncclSend", json, created)];
    INFO(json);
    CHECK(c.bytes == -1);
    CHECK(c.root == -1);
    CHECK(b.trace.strings[c.group_name] == "");
  }
  CHECK(created.empty());
}

TEST_CASE("long blocking calls of the C library are kept, the rest of OSRT is not") {
  NsysFile file(GENERATE(NsysLayout::old, NsysLayout::current));
  file.add(NsysWait{1'000, 500'000, "poll"});
  file.add(NsysWait{1'000, 500'000, "pthread_cond_timedwait"});
  file.add(NsysWait{1'000, 500'000, "ioctl"});
  file.add(NsysWait{1'000, 2'000, "read"});
  const Trace t = one_trace(file);
  REQUIRE(t.ranges.size() == 2);
  CHECK(t.ranges.source[range(t, "poll")] == RangeSource::os_runtime);
  CHECK_FALSE(t.has_host_ranges);
}

TEST_CASE("waits of the C library are looked up in a sorted table") {
  for (const char* call : {"accept", "epoll_wait", "fread", "pthread_mutex_lock", "read",
                           "sem_clockwait", "usleep", "waitpid"}) {
    INFO(call);
    CHECK(nsys::is_os_wait(call));
  }
  CHECK_FALSE(nsys::is_os_wait("open64"));
  CHECK_FALSE(nsys::is_os_wait(""));
  CHECK_FALSE(nsys::is_os_wait("write"));
}

TEST_CASE("overhead has one name per kind, and a pseudo thread where the row names none") {
  using nsys::overhead_name;
  CHECK(overhead_name(2, "x") == "driver jit");
  CHECK(overhead_name(3, "CUPTI Buffer flush") == "cupti buffer flush");
  CHECK(overhead_name(4, "") == "instrumentation");
  CHECK(overhead_name(6, "Runtime Triggered Module Loading") == "module loading");
  CHECK(overhead_name(7, "") == "lazy function loading");
  CHECK(overhead_name(8, "") == "command buffer full");
  CHECK(overhead_name(0, "CUPTI Buffer flush") == "cupti buffer flush");
  CHECK(overhead_name(0, "Runtime Triggered Module Loading") == "module loading");
  CHECK(overhead_name(0, "TLS allocation") == "tls allocation");
  CHECK(overhead_name(0, "") == "profiler overhead");

  NsysFile file;
  file.add(NsysOverhead{10, 20, "Lazy Function Loading", 7, true, 1000, 1000});
  file.add(NsysOverhead{30, 40, "CUPTI Buffer flush", 3});
  const Trace t = one_trace(file);
  const size_t lazy = range(t, "lazy function loading"), flush = range(t, "cupti buffer flush");
  CHECK(t.ranges.source[lazy] == RangeSource::overhead);
  CHECK(t.threads[row(t.ranges.thread[lazy])].tid == 1000);
  CHECK(t.threads[row(t.ranges.thread[flush])].tid == -1);
}

TEST_CASE("device memory grows and shrinks") {
  NsysFile file;
  file.add(NsysCall{1, 2, "cudaMalloc"});
  file.sql(
      "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId "
      "INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER)");
  const std::string pid = std::to_string(nsys_global(1000));
  file.sql("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (30," + pid + ",0,100,2,1),(10," + pid +
           ",0,100,2,0),(20," + pid + ",0,7,1,0),(25," + pid + ",0,-5,2,0)");
  const Trace t = one_trace(file);
  REQUIRE(t.memory.size() == 2);
  CHECK(t.memory[0].time_ns == 10);
  CHECK(t.memory[0].delta_bytes == 100);
  CHECK(t.memory[1].delta_bytes == -100);
}
