// Recorded events: which op each wait was for, and what stays to be inferred.
#include "analysis/recorded_waits.h"

#include "analysis/replay_graph.h"
#include "made_trace.h"

using namespace ws;
using namespace ws::made;

namespace {

// A host that calls every 10 ns, and a device that runs every op for 5 ns, 1000 ns later.
struct Program {
  Maker m;
  TimeNs now = 0;
  int64_t next_id = 100;

  void op(int64_t stream, int32_t device = 0) {
    now += 10;
    m.op(now, now + 1000, now + 1005, kGemm, 1, stream, device);
  }
  uint32_t call(std::string_view name, int64_t tid = 1) {
    now += 10;
    CallRow row;
    row.begin_ns = now;
    row.end_ns = now + 2;
    row.name = m.b.intern(name);
    row.thread = m.thread(tid);
    row.correlation = ++m.correlation;
    m.b.add(row, {});
    return row.correlation;
  }
  // Returns the id by which waits name the record.
  int64_t record(int64_t stream, int64_t event, bool with_id = true) {
    const int64_t id = with_id ? ++next_id : -1;
    m.b.add_event_record({stream, event, id, kNoRow}, m.process, call("cudaEventRecord"));
    return id;
  }
  void wait(int64_t stream, int64_t event, int64_t id, SyncKind kind = SyncKind::stream_wait) {
    const bool host = kind == SyncKind::event;
    m.b.add_sync({stream, event, id, kNoRow, kind}, m.process,
                 call(host ? "cudaEventSynchronize" : "cudaStreamWaitEvent"));
  }
  ReplayRank replay() {
    const Trace trace = m.b.seal();
    return make_replay_rank(trace, label_ops(trace, classes()), Constants{}, {0, 1'000'000}, {});
  }
};
using Waits = std::vector<std::pair<uint32_t, uint32_t>>;

int64_t count(const ReplayRank& r, EventCall kind) {
  return std::count_if(r.calls.begin(), r.calls.end(),
                       [&](const ReplayCall& c) { return c.event == kind; });
}

}  // namespace

TEST_CASE("a wait is for what its event stood for, however long ago that was") {
  Program p;
  p.op(20);
  const int64_t first = p.record(20, 1);
  p.op(20);
  const int64_t second = p.record(20, 2);
  p.op(7);
  p.wait(7, 1, first);
  p.op(7);
  p.wait(7, 2, second);
  p.op(7);
  p.op(7);
  const ReplayRank r = p.replay();
  CHECK(r.waits == Waits{{0, 3}, {1, 4}});
  CHECK(count(r, EventCall::known_wait) == 2);
  CHECK(count(r, EventCall::wait) == 0);
  const ReplayGraph g({r}, {0}, {}, {});
  CHECK(g.recorded_waits() == 2);
  CHECK(g.inferred_edges() == 0);
}

TEST_CASE("without ids the last record of the event before the wait counts") {
  Program p;
  p.op(20);
  p.record(20, 1, false);
  p.op(20);
  p.record(20, 1, false);
  p.op(20);
  p.record(20, 2, false);
  p.wait(7, 1, -1);
  p.op(20);
  p.record(20, 1, false);
  p.op(7);
  CHECK(p.replay().waits == Waits{{1, 4}});
}

TEST_CASE("an event stands for what its stream had to wait for as well") {
  Program p;
  p.op(7);
  const int64_t compute = p.record(7, 1);
  p.op(20);
  p.wait(20, 1, compute);
  const int64_t both = p.record(20, 2);
  p.wait(24, 2, both);
  p.op(24);
  p.op(20);
  CHECK(p.replay().waits == Waits{{1, 2}, {0, 2}, {0, 3}});
}

TEST_CASE("waits whose record or stream is not known stay to be inferred") {
  Program p;
  p.op(7);
  const int64_t id = p.record(7, 1);
  p.wait(20, 1, id + 50);  // recorded before the capture
  p.op(20);
  p.op(24, 0);
  p.op(24, 1);
  p.wait(24, 1, id);  // on either device
  p.op(24, 1);
  p.wait(28, 1, -1);  // others have an id: this one's record was not seen
  p.op(28);
  const ReplayRank r = p.replay();
  CHECK(r.waits.empty());
  CHECK(count(r, EventCall::wait) == 3);
}

TEST_CASE("a call that blocks on an event waits for its op, not for what ended last") {
  Program p;
  p.op(7);
  const int64_t id = p.record(7, 1);
  p.op(20);
  p.now = 2000;
  p.wait(-1, 1, id, SyncKind::event);
  const ReplayRank r = p.replay();
  REQUIRE(r.host_waits.size() == 1);
  CHECK(r.calls[r.host_waits[0].first].state == HostState::sync);
  CHECK(r.host_waits[0].second == 0);
  const ReplayGraph g({r}, {0}, {}, {});
  const uint32_t call = g.node_of_call(0, r.host_waits[0].first);
  int64_t syncs = 0;
  for (uint32_t e = g.first_edge(2 * call + 1); e != kNoRow; e = g.edges()[e].next) {
    CHECK(g.edges()[e].from == 2 * g.node_of_op(0, 0) + 1);
    ++syncs;
  }
  CHECK(syncs == 1);
}
