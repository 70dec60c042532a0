#include "analysis/offload.h"

#include "made_trace.h"

using namespace ws;
using namespace ws::made;

namespace {
constexpr int64_t kMiB = 1 << 20;
size_t offloaded(Maker& m) {
  const Trace t = m.b.seal();
  const Labels l = label_ops(t, classes());
  size_t n = 0;
  for (uint8_t f : l.ops.flags) n += (f & kFlagOffload) != 0 ? 1 : 0;
  return n;
}
// Of a device that computes, unless a test says otherwise.
void copies(Maker& m, OpKind kind, int count, int64_t bytes, bool pageable = false) {
  for (int i = 0; i < count; ++i) m.copy(TimeNs{1000} * (m.correlation + 1), kind, bytes, pageable);
}
}  // namespace

TEST_CASE("offload: equal sizes in both directions") {
  Maker m;
  m.op(60, 70, 80, kGemm);
  copies(m, OpKind::d2h, 23, 8 * kMiB);  // differs by 3 = 10 % of 23 + 1, rounded down
  copies(m, OpKind::h2d, 20, 8 * kMiB);
  copies(m, OpKind::h2d, 5, 4 * kMiB);  // one direction only: input
  CHECK(offloaded(m) == 43);
}

TEST_CASE("offload: too different, too small, pageable") {
  Maker m;
  m.op(60, 70, 80, kGemm);
  copies(m, OpKind::d2h, 24, 8 * kMiB);
  copies(m, OpKind::h2d, 20, 8 * kMiB);
  copies(m, OpKind::d2h, 5, kMiB - 1);
  copies(m, OpKind::h2d, 5, kMiB - 1);
  copies(m, OpKind::d2h, 5, 2 * kMiB, true);
  copies(m, OpKind::h2d, 5, 2 * kMiB, true);
  CHECK(offloaded(m) == 0);
}

TEST_CASE("offload: one copy each way is a pair") {
  Maker m;
  m.op(60, 70, 80, kGemm);
  copies(m, OpKind::d2h, 1, kMiB);
  copies(m, OpKind::h2d, 1, kMiB);
  CHECK(offloaded(m) == 2);
}

TEST_CASE("offload: the range around the launch says so") {
  Maker m;
  m.range(0, 100, "cpu_offload");
  m.copy(50, OpKind::d2h, 64);
  m.copy(500, OpKind::d2h, 64);
  m.op(60, 700, 710, kGemm);
  CHECK(offloaded(m) == 1);
}

TEST_CASE("offload: copies of a device that runs no kernel are the program's purpose") {
  Maker m;
  for (int i = 0; i < 9; ++i) {
    copies(m, OpKind::d2h, 1, 8 * kMiB);
    copies(m, OpKind::h2d, 1, 8 * kMiB);
  }
  CHECK(offloaded(m) == 0);
}

TEST_CASE("offload: weights loaded at the start and saved at the end do not come back") {
  Maker m;
  m.op(60, 70, 80, kGemm);
  copies(m, OpKind::h2d, 30, 8 * kMiB);
  copies(m, OpKind::d2h, 30, 8 * kMiB);
  CHECK(offloaded(m) == 0);
  Maker cut;  // a capture may begin between the copy down and the copy back
  cut.op(60, 70, 80, kGemm);
  copies(cut, OpKind::h2d, 1, 8 * kMiB);
  for (int i = 0; i < 5; ++i) {
    copies(cut, OpKind::d2h, 1, 8 * kMiB);
    copies(cut, OpKind::h2d, 1, 8 * kMiB);
  }
  CHECK(offloaded(cut) == 11);
}
