#include "support/catch.h"
#include "support/scenario_trace.h"

using namespace ws;
using namespace ws::test;

namespace {

ScenarioOp op(int64_t id, const char* cls, TimeNs s, TimeNs e, bool offload = false) {
  ScenarioOp o;
  o.id = id, o.cls = cls, o.s = s, o.e = e, o.offload = offload;
  return o;
}

std::vector<TimeNs> round_trip(const ScenarioInput& in, std::vector<Interval> windows) {
  const ScenarioTrace t(in);
  return offload_idle(t.trace, t.labels, t.device(0), windows);
}

}  // namespace

TEST_CASE("overlap: unions of a class, hidden where any compute runs, per window") {
  ScenarioInput in;
  in.ops = {op(0, "comm", 0, 10),   op(1, "comm", 5, 20), op(2, "p2p", 40, 50),
            op(3, "gemm", 8, 12),   op(4, "d2d", 18, 45), op(5, "h2d", 100, 120),
            op(6, "gemm", 110, 130)};
  const ScenarioTrace t(in);
  const std::vector<Interval> windows = {{0, 15}, {15, 60}, {60, 60}, {105, 200}};
  const auto comm = overlap_of(t.trace, t.labels, t.device(0), windows, true);
  CHECK(comm[0].total_ns == 15);
  CHECK(comm[0].hidden_ns == 4);
  CHECK(comm[1].total_ns == 15);
  CHECK(comm[1].hidden_ns == 7);
  CHECK(comm[2].total_ns == 0);
  CHECK(comm[3].total_ns == 0);
  const Overlap copies = overlap_of(t.trace, t.labels, t.device(0), Interval{0, 200}, false);
  CHECK(copies.total_ns == 20);
  CHECK(copies.hidden_ns == 10);
}

TEST_CASE("offload idle: only gaps from an offload copy out to an offload copy back") {
  ScenarioInput in;
  in.ops = {op(0, "gemm", 0, 10),        op(1, "d2h", 5, 10, true),  op(2, "gemm", 40, 45),
            op(3, "h2d", 40, 60, true),  op(4, "d2h", 60, 70, true), op(5, "h2d", 90, 95),
            op(6, "d2h", 95, 100, true), op(7, "gemm", 120, 130),    op(8, "d2h", 125, 129, true),
            op(9, "h2d", 150, 160, true)};
  CHECK(round_trip(in, {{0, 200}}) == std::vector<TimeNs>{30});
  CHECK(round_trip(in, {{0, 20}, {20, 35}, {35, 200}}) == std::vector<TimeNs>{10, 15, 5});
}

TEST_CASE("offload idle: a gap counts once, however many copies leave and come back") {
  ScenarioInput in;
  in.ops = {op(0, "d2h", 0, 10, true), op(1, "d2h", 2, 10, true), op(2, "h2d", 30, 40, true),
            op(3, "h2d", 30, 45, true), op(4, "h2d", 50, 60, true)};
  CHECK(round_trip(in, {{0, 100}}) == std::vector<TimeNs>{20});
}
