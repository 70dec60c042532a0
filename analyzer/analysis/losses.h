#pragma once
// From the partition to losses (ALGORITHMS 4): means over steps and devices, and the interval of
// each loss group.
#include <array>
#include <optional>
#include <vector>

#include "analysis/rank_analysis.h"

namespace ws {

// sum / count, every leaf rounded so that the leaves still sum to the rounded mean total: first
// down, then the largest remainders up (ties: earlier leaf).
Breakdown mean_of(const Breakdown& sum, int64_t count);

struct DeviceMeans {
  size_t rank_row = 0, device_row = 0;  // in RankAnalysis order
  int32_t rank = 0, device = 0;
  int64_t steps = 0;  // counted
  Breakdown mean;     // per counted step
};

// Mean of the counted steps per device, then mean over devices.
struct RunMeans {
  std::vector<DeviceMeans> devices;
  Breakdown mean;              // leaves sum to the mean step
  Breakdown total;             // exact sum over counted steps and devices
  int64_t counted = 0;         // (device, step) pairs behind total
  TimeNs offload_idle_ns = 0;  // per step
  TimeNs not_blocking_ns = 0;
  TimeNs opaque_ns = 0;
  StageIdle stage;
  // Why ranks were late where they met (across_ranks.h): sums of marginal delay.
  std::vector<std::pair<Cause, TimeNs>> late_causes;
  TimeNs step_ns() const { return mean.total(); }
};
RunMeans means_of(const std::vector<RankAnalysis>& ranks);

template <class T>
using PerGroup = std::array<T, kLossGroupCount>;
template <class T>
T& at(PerGroup<T>& all, LossGroup g) {
  return all[static_cast<size_t>(g)];
}
template <class T>
const T& at(const PerGroup<T>& all, LossGroup g) {
  return all[static_cast<size_t>(g)];
}

struct LossNs {
  TimeNs lo_ns = 0, hi_ns = 0;
};
// leaves per step; offload_idle_ns of the host's leaves belongs to memory, stage to the bubble.
PerGroup<LossNs> losses_of(const Breakdown& leaves, TimeNs offload_idle_ns,
                           const StageIdle& stage = {});

// What removing a group gains, as a share of the step (ALGORITHMS 6): by re-simulation.
struct Price {
  double lo = 0, hi = 0;
};
struct Prices {
  PerGroup<std::optional<Price>> group;
  std::optional<Price> host_and_imbalance;  // both removed together
};

// A group's share of the step; open: how much of hi - lo is missing evidence (never a price).
struct LossShare {
  double lo = 0, hi = 0, open = 0;
};
PerGroup<LossShare> shares_of(const PerGroup<LossNs>& losses, TimeNs step_ns, TimeNs unknown_ns,
                              const std::optional<Prices>& prices);

// Sums of communication leaves per step.
TimeNs exposed_communication(const Breakdown& leaves);
TimeNs unsplit_communication(const Breakdown& leaves);  // of every kind, pp too

}  // namespace ws
