#include "analysis/losses.h"

#include "support/catch.h"
#include "unit/analysis/made_rank.h"

namespace ws {
namespace {

TEST_CASE("means: leaves sum to the rounded mean, remainders go to the largest") {
  Breakdown sum;
  sum[Leaf::gemm] = 10;
  sum[Leaf::attention] = 11;
  sum[Leaf::idle_host] = 2;  // 23 / 3 = 7.67: 8 = 3 + 4 + 1
  const Breakdown mean = mean_of(sum, 3);
  CHECK(mean.total() == 8);
  CHECK(mean[Leaf::gemm] == 3);
  CHECK(mean[Leaf::attention] == 4);
  CHECK(mean[Leaf::idle_host] == 1);
}

TEST_CASE("means: of steady steps per device, then over devices; totals exact") {
  DeviceAnalysis a = made::device(made::leaves({{Leaf::gemm, 100}}), 2);
  made::add_step(a, made::leaves({{Leaf::gemm, 100}, {Leaf::idle_gc, 60}}));
  DeviceAnalysis b = made::device(made::leaves({{Leaf::gemm, 300}}), 1);
  const RunMeans means = means_of({made::rank(a, 0), made::rank(b, 1)});
  REQUIRE(means.devices.size() == 2);
  CHECK(means.devices[0].steps == 3);
  CHECK(means.devices[0].mean[Leaf::idle_gc] == 20);
  CHECK(means.mean[Leaf::gemm] == 200);
  CHECK(means.mean[Leaf::idle_gc] == 10);
  CHECK(means.step_ns() == 210);
  CHECK(means.total.total() == 3 * 100 + 60 + 300);
  CHECK(means.counted == 4);
}

TEST_CASE("losses: every leaf counts once at its upper bound, unsplit twice") {
  for (size_t i = 0; i < kLeafCount; ++i) {
    Breakdown p;
    p.ns[i] = 100;
    const auto losses = losses_of(p, 0);
    TimeNs lo = 0, hi = 0;
    for (const LossNs& loss : losses) {
      lo += loss.lo_ns;
      hi += loss.hi_ns;
    }
    INFO(name_of(leaf_at(i)));
    const Leaf leaf = leaf_at(i);
    const bool unsplit = is_comm(leaf) && name_of(leaf).find("unsplit") != std::string_view::npos;
    const bool open =
        leaf == Leaf::idle_unknown || leaf == Leaf::idle_dependency || leaf == Leaf::idle_profiler;
    CHECK(lo == (unsplit || open ? 0 : 100));
    CHECK(hi == (unsplit ? 200 : 100));
  }
}

TEST_CASE("losses: the idle of an offload round trip moves from host to memory") {
  const Breakdown p = made::leaves(
      {{Leaf::gemm, 30}, {Leaf::copy_offload, 20}, {Leaf::idle_sync, 40}, {Leaf::idle_host, 10}});
  const auto losses = losses_of(p, 45);
  CHECK(at(losses, LossGroup::memory).lo_ns == 65);
  CHECK(at(losses, LossGroup::host).lo_ns == 5);
  CHECK(at(losses_of(p, 60), LossGroup::host).lo_ns == 0);  // never negative
}

TEST_CASE("prices replace shares and keep the width of what is unknown") {
  const Breakdown p = made::leaves({{Leaf::gemm, 700},
                                    {Leaf::comm_ep_unsplit, 200},
                                    {Leaf::idle_unknown, 50},
                                    {Leaf::idle_profiler, 50}});
  Prices prices;
  at(prices.group, LossGroup::communication) = Price{-0.1, 0.05};
  at(prices.group, LossGroup::host) = Price{0.02, 0.03};
  const auto shares = shares_of(losses_of(p, 0), p.total(), p[Leaf::idle_unknown], prices);
  CHECK(at(shares, LossGroup::communication).lo == 0.0);
  CHECK(at(shares, LossGroup::communication).hi == Approx(0.25));
  CHECK(at(shares, LossGroup::host).hi == Approx(0.08));  // unknown only, not the profiler
  CHECK(at(shares, LossGroup::imbalance).hi == Approx(0.2));
}

}  // namespace
}  // namespace ws
