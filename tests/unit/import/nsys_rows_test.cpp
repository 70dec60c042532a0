#include "import/nsys_ranks.h"
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

std::string_view name_of_op(const Trace& t, size_t op) { return t.strings[t.ops.name[op]]; }

void add_launch(NsysFile& file, int64_t at, int64_t begin, int64_t end, int64_t correlation,
                int64_t pid = 1000) {
  file.add(NsysCall{at, at + 5, "cudaLaunchKernel_v7000", correlation, pid, pid});
  file.add(NsysKernel{begin, end, "void gemm<(int)4>(float*)", correlation, pid});
}

}  // namespace

TEST_CASE("kernels and calls of old and current exports are joined") {
  NsysFile file(GENERATE(NsysLayout::old, NsysLayout::current));
  add_launch(file, 100, 200, 300, 1);
  add_launch(file, 110, 300, 400, 2);
  file.add(NsysSync{120, 400, 3, 9});
  file.add(NsysCall{118, 401, "cudaStreamSynchronize_ptsz", 9});
  file.add(NsysEventRecord{.correlation = 2, .event = 4});
  const Trace t = one_trace(file);
  REQUIRE(t.ops.size() == 2);
  CHECK(name_of_op(t, 0) == "void gemm<(int)4>(float*)");
  CHECK(t.ops.begin_ns[1] == 300);
  CHECK(t.ops.end_ns[1] == 400);
  REQUIRE(t.calls.size() == 3);
  CHECK(t.strings[t.calls.name[0]] == "cudaLaunchKernel");
  CHECK(t.strings[t.calls.name[2]] == "cudaStreamSynchronize");
  CHECK(t.ops.launch[0] == 0);
  CHECK(t.ops.launch[1] == 1);
  REQUIRE(t.syncs.size() == 1);
  CHECK(t.syncs[0].kind == SyncKind::stream);
  CHECK(t.syncs[0].stream == 7);
  CHECK(t.syncs[0].event_id == -1);
  CHECK(t.syncs[0].call == 2);
  REQUIRE(t.event_records.size() == 1);
  CHECK(t.event_records[0].event_id == 4);
  CHECK(t.event_records[0].call == 1);
  CHECK(t.processes[0].pid == 1000);
  CHECK(t.threads[0].tid == 1000);
  CHECK(t.streams[0].number == 7);
}

TEST_CASE("a copy of which no side is pinned or pageable does not tell") {
  NsysFile file;
  file.add(NsysCopy{100, 110, 64, 11, 0, 7, 7});  // unified memory
  file.add(NsysCopy{120, 130, 64, 1, 0, 1, 0});   // pinned to pageable: staged all the same
  const Trace t = one_trace(file);
  CHECK_FALSE(t.copies[t.ops.copy[0]].pageable);
  CHECK_FALSE(t.copies[t.ops.copy[0]].pinned);
  CHECK(t.copies[t.ops.copy[1]].pageable);
  CHECK_FALSE(t.copies[t.ops.copy[1]].pinned);
}

TEST_CASE("copy kinds become directions, and pageable memory is seen") {
  struct Row {
    int64_t kind;
    OpKind expected;
  };
  const Row rows[] = {{1, OpKind::h2d},  {2, OpKind::d2h},  {3, OpKind::h2d},  {4, OpKind::d2h},
                      {5, OpKind::d2d},  {6, OpKind::d2d},  {7, OpKind::d2d},  {8, OpKind::d2d},
                      {9, OpKind::d2d},  {10, OpKind::p2p}, {11, OpKind::h2d}, {12, OpKind::d2h},
                      {13, OpKind::d2d}, {99, OpKind::d2d}};
  NsysFile file(GENERATE(NsysLayout::old, NsysLayout::current));
  int64_t at = 100;
  for (const Row& row : rows) {
    file.add(NsysCopy{at, at + 10, at, row.kind, 0, row.kind == 2 ? 2 : 1, row.kind == 2 ? 0 : 2});
    at += 20;
  }
  file.add(NsysFill{at, at + 10, 64});
  const Trace t = one_trace(file);
  REQUIRE(t.ops.size() == std::size(rows) + 1);
  for (size_t i = 0; i < std::size(rows); ++i) {
    INFO("copyKind " << rows[i].kind);
    CHECK(t.ops.kind[i] == rows[i].expected);
    REQUIRE(t.ops.copy[i] != kNoRow);
    CHECK(t.copies[t.ops.copy[i]].bytes == t.ops.begin_ns[i]);
    CHECK(t.copies[t.ops.copy[i]].pageable == (rows[i].kind == 2));
    CHECK(t.copies[t.ops.copy[i]].pinned == (rows[i].kind != 2));
  }
  CHECK(t.ops.kind.back() == OpKind::memset);
  CHECK(t.ops.copy.back() == kNoRow);
}

TEST_CASE("all nodes of a graph carry the graph's number, never the node's") {
  const auto layout = GENERATE(NsysLayout::old, NsysLayout::current);
  NsysFile file(layout);
  file.add(NsysCall{10, 20, "cudaGraphLaunch_v10000", 5});
  for (int64_t i = 0; i < 3; ++i) {
    file.add(NsysKernel{.begin_ns = 100 + 20 * i,
                        .end_ns = 110 + 20 * i,
                        .name = "node",
                        .correlation = 5,
                        .graph = 3,
                        .node = (int64_t{3} << 32) + i});
  }
  file.add(NsysKernel{.begin_ns = 160,
                      .end_ns = 170,
                      .name = "of a child graph",
                      .correlation = 5,
                      .graph = 4,
                      .node = int64_t{4} << 32});
  NsysCopy copy{180, 190, 64, 8, 5};
  copy.node = (int64_t{3} << 32) + 9;
  file.add(copy);
  file.add(NsysKernel{200, 210, "plain", 6});
  const Trace t = one_trace(file);
  const uint32_t id = layout == NsysLayout::old ? 1 : 3;
  CHECK(t.ops.graph.values() == std::vector<uint32_t>{id, id, id, id, id, 0});
  CHECK(t.ops.launch == std::vector<uint32_t>{0, 0, 0, 0, 0, kNoRow});
  CHECK_FALSE(t.graphs_as_a_whole);
}

TEST_CASE("graphs recorded as a whole are records of their own and noted") {
  NsysFile file;
  file.add(NsysCall{10, 20, "cudaGraphLaunch_v10000", 5});
  file.add(NsysGraphRun{30, 90, 4, 5});
  const Trace t = one_trace(file);
  REQUIRE(t.ops.size() == 1);
  CHECK(t.ops.kind[0] == OpKind::graph);
  CHECK(t.ops.graph[0] == 4);
  CHECK(t.ops.launch[0] == 0);
  CHECK(name_of_op(t, 0) == "CUDA graph 4");
  CHECK(t.graphs_as_a_whole);
  CHECK(t.notes.count(NoteCode::graph_level_trace) == 1);
}

TEST_CASE("names that dangle, NULLs and damaged text cost a note, not the record") {
  NsysFile file;
  add_launch(file, 100, 200, 300, 1);
  file.add(NsysKernel{300, 310, std::string("bad \xff\xfe name\0x", 13), 2});
  file.sql(
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start,end,deviceId,contextId,streamId,"
      "correlationId,globalPid,demangledName,shortName) VALUES "
      "(400,410,0,1,7,NULL,NULL,777,778),"  // dangling both, no process, no correlation
      "(420,430,0,1,7,1,NULL,0,1),"         // reduced export: only the short name
      "(440,430,0,1,7,0,NULL,1,1),"         // ends before it begins
      "(0,0,0,1,7,0,NULL,1,1),"
      "(450,9223372036854775807,0,1,7,0,NULL,1,1),"
      "(-9223372036854775808,460,0,1,7,0,NULL,1,1),"
      "('text',460,0,1,7,0,NULL,1,1)");
  const Trace t = one_trace(file);
  REQUIRE(t.ops.size() == 5);
  CHECK(t.ops.begin_ns[0] == 0);  // 'text' reads as 0
  CHECK(name_of_op(t, 2) == "bad \xef\xbf\xbd\xef\xbf\xbd namex");
  CHECK(name_of_op(t, 3) == "unknown #777");
  CHECK(name_of_op(t, 4) == "cudaLaunchKernel_v7000");  // string 1
  CHECK(t.ops.launch[4] == 0);                          // joined in the only process there is
  CHECK(t.processes.size() == 1);
  CHECK(t.notes.count(NoteCode::missing_process) == 5);
  CHECK(t.notes.count(NoteCode::unknown_string) == 1);
  CHECK(t.notes.count(NoteCode::repaired_string) == 1);
  CHECK(t.notes.count(NoteCode::negative_duration) == 1);
  CHECK(t.notes.count(NoteCode::zero_timestamp) == 1);
  CHECK(t.notes.count(NoteCode::time_out_of_range) == 2);
}

TEST_CASE("nodes without a launch are of the graph that they name") {
  NsysFile file;
  for (int64_t graph : {3, 4}) {
    file.add(NsysKernel{.begin_ns = 100 * graph,
                        .end_ns = 100 * graph + 10,
                        .name = "node",
                        .graph = graph,
                        .node = graph << 32});
  }
  CHECK(one_trace(file).ops.graph.values() == std::vector<uint32_t>{3, 4});
}

TEST_CASE("names are found however the table of strings is sorted") {
  NsysFile file;
  file.add(NsysCall{10, 20, "cudaLaunchKernel_v7000", 5});
  file.add(NsysKernel{.begin_ns = 20, .end_ns = 30, .name = "gemm", .correlation = 5});
  file.add(NsysKernel{.begin_ns = 40, .end_ns = 50, .name = "norm", .correlation = 6});
  file.sql("ALTER TABLE StringIds RENAME TO Sorted");
  file.sql("CREATE TABLE StringIds (id INTEGER, value TEXT)");
  file.sql("INSERT INTO StringIds SELECT id, value FROM Sorted ORDER BY id DESC");
  const Trace t = one_trace(file);
  CHECK(name_of_op(t, 0) == "gemm");
  CHECK(name_of_op(t, 1) == "norm");
  CHECK(t.strings[t.calls.name[0]] == "cudaLaunchKernel");
}

TEST_CASE("rows beyond one block keep their order and their numbers") {
  NsysFile file;
  constexpr int64_t kRows = 40'000;
  const int64_t kernel = file.string("kernel"), call = file.string("cudaLaunchKernel");
  file.add(NsysKernel{5, 6, "kernel", 999'999});
  file.add(NsysCall{1, 2, "cudaLaunchKernel", 999'999});
  const std::string rows =
      " FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n "
      "WHERE i<" +
      std::to_string(kRows) + ") SELECT i FROM n)";
  const std::string pid = std::to_string(nsys_global(1000)),
                    tid = std::to_string(nsys_global(1000, 1000));
  file.sql(
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start,end,deviceId,contextId,streamId,"
      "correlationId,globalPid,demangledName,shortName) SELECT 10*i, "
      "CASE i WHEN 30000 THEN 1 ELSE 10*i+5 END,0,1,7,i," +
      pid + "," + std::to_string(kernel) + ",0" + rows);
  file.sql(
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start,end,eventClass,globalTid,"
      "correlationId,nameId,returnValue) SELECT 10*i-8,10*i-6,0," +
      tid + ",i," + std::to_string(call) + ",0" + rows);
  const Trace t = one_trace(file);
  REQUIRE(t.ops.size() == kRows);
  REQUIRE(t.calls.size() == kRows + 1);
  bool linked = true;
  for (size_t i = 0; i < t.ops.size(); ++i) {
    linked = linked && t.ops.launch[i] != kNoRow &&
             t.calls.begin_ns[t.ops.launch[i]] / 10 == (t.ops.begin_ns[i] - 8) / 10;
  }
  CHECK(linked);
  REQUIRE(t.notes.count(NoteCode::negative_duration) == 1);
  for (const Note& n : t.notes.all()) {
    if (n.code == NoteCode::negative_duration)
      CHECK(n.first_place == "CUPTI_ACTIVITY_KIND_KERNEL row 30001");
  }
}

TEST_CASE("ABI suffixes are stripped, version numbers inside names are not") {
  using nsys::without_abi_suffix;
  CHECK(without_abi_suffix("cudaLaunchKernel_v7000") == "cudaLaunchKernel");
  CHECK(without_abi_suffix("cuMemcpyHtoDAsync_v2") == "cuMemcpyHtoDAsync");
  CHECK(without_abi_suffix("cudaMemcpyAsync_ptsz_v7000") == "cudaMemcpyAsync");
  CHECK(without_abi_suffix("cuStreamSynchronize_ptds") == "cuStreamSynchronize");
  CHECK(without_abi_suffix("cudaStreamGetCaptureInfo_v2_v11030") == "cudaStreamGetCaptureInfo");
  CHECK(without_abi_suffix("cuLaunchKernelEx") == "cuLaunchKernelEx");
  CHECK(without_abi_suffix("my_value") == "my_value");
  CHECK(without_abi_suffix("_v2") == "_v2");
  CHECK(without_abi_suffix("") == "");
}
