#include "analysis/label_ops.h"

#include "made_trace.h"

using namespace ws;
using namespace ws::made;

TEST_CASE("labels: class by the record's kind, then by the kernel's name") {
  Maker m;
  const OpKind kinds[] = {OpKind::kernel, OpKind::h2d,    OpKind::d2h,  OpKind::d2d,
                          OpKind::p2p,    OpKind::memset, OpKind::graph};
  const OpClass expected[] = {OpClass::gemm,         OpClass::h2d, OpClass::d2h,
                              OpClass::membound,     OpClass::p2p, OpClass::membound,
                              OpClass::compute_other};
  TimeNs t = 0;
  for (OpKind kind : kinds) {
    m.op(t, t + 10, t + 20, kGemm, 1, 7, 0, kind);  // the name counts for kernels only
    t += 100;
  }
  m.op(t, t + 10, t + 20, kAdam);
  m.op(t + 100, t + 110, t + 120, "vecAdd(double *)");
  m.op(t + 200, t + 210, t + 220, kGrouped);
  const Trace trace = m.b.seal();
  const Labels l = label_ops(trace, classes());
  for (size_t i = 0; i < 7; ++i) CHECK(name_of(l.ops.cls[i]) == name_of(expected[i]));
  CHECK(int{l.ops.flags[7]} == int{kFlagOptimizer});
  CHECK(int{l.ops.flags[8]} == int{kFlagUnclassified});
  CHECK(int{l.ops.flags[9]} == int{kFlagGrouped});
  CHECK(l.ops.communicator == std::vector<uint32_t>(10, kNoRow));
  CHECK(l.comm_ops.empty());
}

TEST_CASE("labels: an empty trace") {
  TraceBuilder b;
  const Trace t = b.seal();
  const Labels l = label_ops(t, classes());
  CHECK(l.ops.cls.empty());
  CHECK(l.communicators.empty());
}
