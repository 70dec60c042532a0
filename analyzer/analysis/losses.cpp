// Tested by: losses_test.cpp
#include "analysis/losses.h"

#include <algorithm>
#include <numeric>

#include "analysis/counted_steps.h"

namespace ws {
namespace {

struct CommSums {
  TimeNs wait = 0, transfer = 0, unsplit = 0, pp_wait = 0, pp_unsplit = 0;  // pp in transfer only
};

CommSums comm_sums(const Breakdown& leaves) {
  CommSums out;
  for (size_t i = 0; i < kLeafCount; ++i) {
    const Leaf leaf = leaf_at(i);
    if (!is_comm(leaf)) continue;
    const bool pp = leaf >= Leaf::comm_pp_wait && leaf <= Leaf::comm_pp_unsplit;
    switch ((i - static_cast<size_t>(Leaf::comm_tp_wait)) % 3) {
      case 0:
        (pp ? out.pp_wait : out.wait) += leaves.ns[i];
        break;
      case 1:
        out.transfer += leaves.ns[i];
        break;
      default:
        (pp ? out.pp_unsplit : out.unsplit) += leaves.ns[i];
    }
  }
  return out;
}

}  // namespace

Breakdown mean_of(const Breakdown& sum, int64_t count) {
  Breakdown out;
  if (count <= 0) return out;
  TimeNs left = rounded(sum.total(), count);
  for (size_t i = 0; i < kLeafCount; ++i) {
    out.ns[i] = sum.ns[i] / count;
    left -= out.ns[i];
  }
  std::array<size_t, kLeafCount> order{};
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sum.ns[a] % count > sum.ns[b] % count; });
  for (size_t i = 0; left > 0; ++i, --left) ++out.ns[order[i % kLeafCount]];
  return out;
}

RunMeans means_of(const std::vector<RankAnalysis>& ranks) {
  RunMeans out;
  Breakdown sum_of_means;
  for (size_t r = 0; r < ranks.size(); ++r) {
    for (size_t d = 0; d < ranks[r].devices.size(); ++d) {
      const DeviceAnalysis& device = ranks[r].devices[d];
      DeviceMeans row{r, d, ranks[r].rank, device.device, 0, {}};
      Breakdown sum;
      TimeNs offload = 0, not_blocking = 0;
      StageIdle stage;
      for (size_t step : counted_steps(device.steps)) {
        sum.add(device.breakdowns[step]);
        if (step < device.offload_idle_ns.size()) offload += device.offload_idle_ns[step];
        if (step < device.evidence.not_blocking_ns.size())
          not_blocking += device.evidence.not_blocking_ns[step];
        if (step < device.stage_idle.size()) {
          stage.known_ns += device.stage_idle[step].known_ns;
          stage.open_ns += device.stage_idle[step].open_ns;
          stage.wait_ns += device.stage_idle[step].wait_ns;
        }
        ++row.steps;
      }
      if (row.steps == 0) continue;
      row.mean = mean_of(sum, row.steps);
      sum_of_means.add(row.mean);
      out.total.add(sum);
      out.counted += row.steps;
      out.offload_idle_ns += rounded(offload, row.steps);
      out.not_blocking_ns += rounded(not_blocking, row.steps);
      out.opaque_ns += device.evidence.opaque_ns;
      out.stage.known_ns += rounded(stage.known_ns, row.steps);
      out.stage.open_ns += rounded(stage.open_ns, row.steps);
      out.stage.wait_ns += rounded(stage.wait_ns, row.steps);
      out.devices.push_back(row);
    }
  }
  const auto devices = static_cast<int64_t>(out.devices.size());
  if (devices == 0) return out;
  out.mean = mean_of(sum_of_means, devices);
  for (TimeNs* ns : {&out.offload_idle_ns, &out.not_blocking_ns, &out.opaque_ns,
                     &out.stage.known_ns, &out.stage.open_ns, &out.stage.wait_ns})
    *ns = rounded(*ns, devices);
  return out;
}

PerGroup<LossNs> losses_of(const Breakdown& p, TimeNs offload_idle_ns, const StageIdle& stage) {
  PerGroup<LossNs> out;
  const CommSums comm = comm_sums(p);
  const TimeNs useful =
      p[Leaf::gemm] + p[Leaf::attention] + p[Leaf::compute_other] + p[Leaf::membound];
  const TimeNs memory =
      p[Leaf::recompute] + p[Leaf::copy_offload] + p[Leaf::idle_alloc] + offload_idle_ns;
  const TimeNs host = p[Leaf::idle_launch] + p[Leaf::idle_graph_launch] + p[Leaf::idle_host] +
                      p[Leaf::idle_gc] + p[Leaf::idle_sync] + p[Leaf::idle_dataload] +
                      p[Leaf::idle_jit] + p[Leaf::idle_kernel_gap] + p[Leaf::copy_h2d] +
                      p[Leaf::copy_d2h] - offload_idle_ns;
  const TimeNs open_idle =
      p[Leaf::idle_unknown] + p[Leaf::idle_dependency] + p[Leaf::idle_profiler];
  at(out, LossGroup::useful) = {useful, useful};
  at(out, LossGroup::memory) = {memory, memory};
  at(out, LossGroup::communication) = {comm.transfer,
                                       comm.transfer + comm.unsplit + comm.pp_unsplit};
  const TimeNs wait = std::max<TimeNs>(0, comm.wait - stage.wait_ns);
  at(out, LossGroup::imbalance) = {wait, wait + comm.unsplit};
  const TimeNs bubble = comm.pp_wait + stage.known_ns + stage.open_ns + stage.wait_ns;
  at(out, LossGroup::bubble) = {bubble, bubble + comm.pp_unsplit};
  // The round trip of an offload may cover idle time without a known cause.
  const TimeNs host_lo = host - stage.known_ns;
  at(out, LossGroup::host) = {std::max<TimeNs>(0, host_lo),
                              std::max<TimeNs>(0, host_lo + open_idle - stage.open_ns)};
  return out;
}

PerGroup<LossShare> shares_of(const PerGroup<LossNs>& losses, TimeNs step_ns, TimeNs unknown_ns,
                              const std::optional<Prices>& prices) {
  PerGroup<LossShare> out;
  if (step_ns <= 0) return out;
  const auto step = static_cast<double>(step_ns);
  for (size_t g = 0; g < kLossGroupCount; ++g) {
    const double lo = static_cast<double>(losses[g].lo_ns) / step;
    const double hi = static_cast<double>(losses[g].hi_ns) / step;
    out[g] = {lo, hi, hi - lo};
    if (!prices || !prices->group[g]) continue;
    // What is unknown stays unknown: the width of the share is kept.
    double width = hi - lo;
    if (static_cast<LossGroup>(g) == LossGroup::host)
      width = std::min(width, static_cast<double>(unknown_ns) / step);
    out[g].lo = std::max(0.0, prices->group[g]->lo);
    out[g].hi = std::max(0.0, prices->group[g]->hi) + width;
  }
  return out;
}

TimeNs exposed_communication(const Breakdown& leaves) {
  const CommSums s = comm_sums(leaves);
  return s.wait + s.transfer + s.unsplit + s.pp_wait + s.pp_unsplit;
}

TimeNs unsplit_communication(const Breakdown& leaves) {
  const CommSums s = comm_sums(leaves);
  return s.unsplit + s.pp_unsplit;
}

}  // namespace ws
