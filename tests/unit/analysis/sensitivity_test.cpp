// Moving the border of the launch phase gives what a timeline with the other constants gives.
#include "analysis/sensitivity.h"

#include <random>

#include "unit/analysis/made_trace.h"

using namespace ws;
using namespace ws::made;

namespace {

Breakdown sum_with(const Trace& trace, const Labels& labels, const HostStates& host,
                   const Constants& constants, Interval window, Timeline* keep = nullptr) {
  Timeline timeline = build_timeline(trace, labels.ops, host, DeviceId{0}, constants, window);
  const Breakdown out = partition(timeline, {&window, 1})[0];
  if (keep != nullptr) *keep = std::move(timeline);
  return out;
}

}  // namespace

TEST_CASE("sensitivity: equal to the rebuilt timeline, for launches of every earliness") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Maker m;
    TimeNs t = 10'000;
    for (int i = 0; i < 12; ++i) {
      const TimeNs gap = static_cast<TimeNs>(random() % 16'000);
      const TimeNs ahead = static_cast<TimeNs>(random() % 20'000);
      m.op(t + gap - std::min(ahead, t), t + gap, t + gap + 3'000, kGemm);
      t += gap + 3'000;
    }
    const Trace trace = m.b.seal();
    const Labels labels = label_ops(trace, classes());
    const HostStates host(trace, labels.ops);
    const Interval window{trace.ops.begin_ns.front(), t};  // cuts no gap
    const Constants base;
    Timeline timeline;
    const Breakdown sum = sum_with(trace, labels, host, base, window, &timeline);
    for (const auto& [n, d] : {std::pair<int64_t, int64_t>{1, 2}, {2, 1}, {1, 1}}) {
      Constants scaled = base;
      scaled.launch_latency_ns = base.launch_latency_ns * n / d;
      scaled.kernel_gap_ns = base.kernel_gap_ns * n / d;
      const Breakdown expected = sum_with(trace, labels, host, scaled, window);
      const Breakdown got = with_scaled_constants(trace, timeline, base, n, d, {&window, 1}, sum);
      INFO("round " << round << ", scale " << n << "/" << d);
      CHECK(got.ns == expected.ns);
    }
  }
}
