// Exposed is not blocking: who the compute after a collective really waited for.
#include "analysis/blocking.h"

#include "unit/analysis/made_trace.h"

using namespace ws;
using namespace ws::made;

namespace {

constexpr std::string_view kLoader =
    "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";

TimeNs not_blocking(Maker& m) {
  const Trace trace = m.b.seal();
  const Labels labels = label_ops(trace, classes());
  const HostStates host(trace, labels.ops);
  const Interval window{0, 100'000};
  const Timeline timeline =
      build_timeline(trace, labels.ops, host, DeviceId{0}, Constants{}, window);
  return not_blocking_communication(trace, host, timeline, {&window, 1})[0];
}

// gemm [1, 10), all-gather [10, 40), gemm [start, 90), launched at `launch`; in us.
void steps(Maker& m, TimeNs launch, TimeNs start) {
  m.op(0, 1'000, 10'000, kGemm);
  m.op(500, 10'000, 40'000, kAllGather, 1, 20);
  m.op(launch, start, 90'000, kGemm);
}

void sync(Maker& m, TimeNs begin, TimeNs end) {
  CallRow row;
  row.begin_ns = begin;
  row.end_ns = end;
  row.name = m.b.intern("cudaStreamSynchronize");
  row.thread = m.thread(1);
  m.b.add(row, {});
}

}  // namespace

TEST_CASE("blocking: the compute was launched before the collective") {
  Maker m;
  steps(m, 600, 40'500);
  CHECK(not_blocking(m) == 0);
}

TEST_CASE("blocking: the host was loading data until after the collective had ended") {
  Maker m;
  steps(m, 50'000, 55'000);
  m.range(9'000, 49'000, kLoader);
  CHECK(not_blocking(m) == 30'000);
}

TEST_CASE("blocking: the host loaded data through a part of the collective") {
  Maker m;
  steps(m, 25'000, 40'500);
  m.range(20'000, 24'000, kLoader);
  CHECK(not_blocking(m) == 4'000);
}

TEST_CASE("blocking: the host came late for an unknown reason, maybe for the peer itself") {
  Maker m;
  steps(m, 50'000, 55'000);
  CHECK(not_blocking(m) == 0);
}

TEST_CASE("blocking: the host came late because it waited for the collective") {
  Maker m;
  steps(m, 45'000, 50'000);
  sync(m, 12'000, 40'500);
  CHECK(not_blocking(m) == 0);
}

TEST_CASE("blocking: nothing follows, or its launch is not known") {
  Maker m;
  m.op(0, 1'000, 10'000, kGemm);
  m.op(500, 10'000, 40'000, kAllGather, 1, 20);
  CHECK(not_blocking(m) == 0);
  Maker n;
  n.op(0, 1'000, 10'000, kGemm);
  n.op(500, 10'000, 40'000, kAllGather, 1, 20);
  n.bare_op(50'000, 60'000, kGemm);
  CHECK(not_blocking(n) == 0);
}

TEST_CASE("blocking: a hidden collective is not asked") {
  Maker m;
  m.op(0, 1'000, 45'000, kGemm);
  m.op(500, 10'000, 40'000, kAllGather, 1, 20);
  m.op(50'000, 55'000, 90'000, kGemm);
  m.range(9'000, 49'000, kLoader);
  CHECK(not_blocking(m) == 0);
}
