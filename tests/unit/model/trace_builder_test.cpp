#include "model/trace_builder.h"

#include "support/catch.h"

using namespace ws;

namespace {
OpRow op(TraceBuilder& b, TimeNs begin, TimeNs end, uint32_t correlation, int64_t stream = 7) {
  OpRow r;
  r.begin_ns = begin;
  r.end_ns = end;
  r.name = b.intern("kernel");
  r.stream = b.stream(b.process(1), b.device(0), 1, stream);
  r.correlation = correlation;
  return r;
}
CallRow call(TraceBuilder& b, TimeNs begin, TimeNs end, uint32_t correlation) {
  CallRow r;
  r.begin_ns = begin;
  r.end_ns = end;
  r.name = b.intern("cudaLaunchKernel");
  r.thread = b.thread(b.process(1), 1);
  r.correlation = correlation;
  return r;
}
}  // namespace

TEST_CASE("the outermost of nested calls is the launch") {
  TraceBuilder b;
  b.add(op(b, 100, 200, 5), {});
  b.add(call(b, 12, 18, 5), {});
  b.add(call(b, 10, 20, 5), {});
  const Trace t = b.seal();
  REQUIRE(t.ops.launch[0] != kNoRow);
  CHECK(t.calls.begin_ns[t.ops.launch[0]] == 10);
}

TEST_CASE("unrelated calls that share a correlation id link nothing") {
  TraceBuilder b;
  b.add(op(b, 100, 200, 77), {});
  b.add(op(b, 300, 400, 77), {});
  b.add(call(b, 10, 20, 77), {});
  b.add(call(b, 210, 220, 77), {});
  const Trace t = b.seal();
  CHECK(t.ops.launch[0] == kNoRow);
  CHECK(t.notes.count(NoteCode::ambiguous_correlation) == 2);
}

TEST_CASE("bad times cost one record and one count") {
  TraceBuilder b;
  CHECK_FALSE(b.add(op(b, 100, 50, 1), {"row", 3}));
  CHECK_FALSE(b.add(op(b, 0, 0, 2), {}));
  CHECK(b.add(op(b, 100, 100, 3), {}));
  const Trace t = b.seal();
  CHECK(t.ops.size() == 1);
  CHECK(t.notes.count(NoteCode::negative_duration) == 1);
  CHECK(t.notes.all()[0].first_place == "row 3");
  CHECK(t.notes.count(NoteCode::zero_timestamp) == 1);
}

TEST_CASE("a kernel that outlasts its successor is clipped, one that overlaps is not") {
  TraceBuilder b;
  b.add(op(b, 0, 1000, 1), {});
  b.add(op(b, 250, 300, 2), {});
  b.add(op(b, 290, 310, 3), {});
  const Trace t = b.seal();
  CHECK(t.ops.end_ns[0] == 250);
  CHECK(t.ops.end_ns[1] == 300);
  CHECK(t.notes.count(NoteCode::clipped_kernel) == 1);
}

TEST_CASE("duplicates are counted once") {
  TraceBuilder b;
  b.add(op(b, 0, 10, 1), {});
  b.add(op(b, 0, 10, 1), {});
  b.add(op(b, 0, 10, 2), {});
  const Trace t = b.seal();
  CHECK(t.ops.size() == 2);
  CHECK(t.notes.count(NoteCode::duplicate_record) == 1);
}

TEST_CASE("sparse correlation ids are joined too") {
  TraceBuilder b;
  b.add(op(b, 100, 200, 4000000000u), {});
  b.add(op(b, 300, 400, 3), {});
  b.add(call(b, 10, 20, 4000000000u), {});
  b.add(call(b, 30, 40, 3), {});
  const Trace t = b.seal();
  CHECK(t.ops.launch[0] == 0);
  CHECK(t.ops.launch[1] == 1);
}

TEST_CASE("times beyond any clock are left out, so that differences never overflow") {
  TraceBuilder b;
  CHECK_FALSE(b.add(op(b, -INT64_MAX, INT64_MAX, 1), {}));
  CHECK_FALSE(b.add(call(b, 0, INT64_MAX, 1), {}));
  CHECK(b.add(op(b, -kMaxTime, kMaxTime, 1), {}));
  CHECK(b.seal().notes.count(NoteCode::time_out_of_range) == 2);
}

TEST_CASE("every device knows its rows, in time order") {
  TraceBuilder b;
  OpRow late = op(b, 50, 60, 1), other = op(b, 20, 30, 2), early = op(b, 0, 10, 3);
  other.stream = b.stream(b.process(1), b.device(4), 1, 7);
  for (const OpRow& r : {late, other, early}) b.add(r, {});
  const Trace t = b.seal();
  CHECK(t.ops_by_device == std::vector<std::vector<uint32_t>>{{0, 2}, {1}});
}
