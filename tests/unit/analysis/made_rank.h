#pragma once
// Analyses of made ranks: a device with equal steps, for tests of what comes after the partition.
#include <string>
#include <utility>
#include <vector>

#include "analysis/verdict.h"

namespace ws::made {

using Leaves = std::vector<std::pair<Leaf, TimeNs>>;

inline Breakdown leaves(const Leaves& values) {
  Breakdown out;
  for (const auto& [leaf, ns] : values) out[leaf] += ns;
  return out;
}

inline void add_step(DeviceAnalysis& device, const Breakdown& p, bool steady = true) {
  const auto n = static_cast<int64_t>(device.steps.size());
  const TimeNs begin = device.steps.empty() ? 1000 : device.steps.back().window.end_ns;
  Step step;
  step.index = n;
  step.name = "step " + std::to_string(n);
  step.window = {begin, begin + p.total()};
  step.steady = steady;
  if (!steady) step.why_left_out = "first of several";
  device.steps.push_back(step);
  device.breakdowns.push_back(p);
  device.offload_idle_ns.push_back(0);
  device.evidence.not_blocking_ns.push_back(0);
  device.evidence.pause_ns.push_back(0);
  device.evidence.profiler_ns.push_back(0);
}

// A first step that is left out, then `steady` equal ones.
inline DeviceAnalysis device(const Breakdown& p, int steady = 6) {
  DeviceAnalysis out;
  out.gpu = "NVIDIA H100 80GB HBM3";
  add_step(out, p, false);
  for (int i = 0; i < steady; ++i) add_step(out, p);
  out.ops = out.ops_with_launch = 1000;
  out.evidence.step_ops = out.evidence.step_ops_with_launch = 900;
  out.expected_launches = 900;
  out.counts.kernels = 150;
  out.counts.launches = 150;
  out.counts.mean_kernel_ns = 400'000;
  out.counts.launch_spacing_ns = 10'000;
  return out;
}

inline RankAnalysis rank(DeviceAnalysis device, int32_t number = 0, int32_t world = 0) {
  RankAnalysis out;
  out.rank = number;
  out.rank_source = RankSource::distributed_info;
  out.world_size = world;
  out.path = "runs/rank" + std::to_string(number) + ".json";
  out.format = "kineto-json";
  out.framework = "pytorch";
  out.has_api_records = out.has_host_ranges = true;
  out.step_origin = StepOrigin::profiler_step;
  out.capture = {0, 1'000'000};
  out.devices.push_back(std::move(device));
  return out;
}

inline RunVerdict verdict(const std::vector<RankAnalysis>& ranks,
                          const std::optional<Prices>& prices = {}) {
  return judge(ranks, means_of(ranks), prices);
}
inline RunVerdict verdict(RankAnalysis one) {
  return verdict(std::vector<RankAnalysis>{std::move(one)});
}
inline RunVerdict verdict(const Leaves& values) { return verdict(rank(device(leaves(values)))); }

inline CollectiveRow collective(CommKind kind, CollectiveOp op, TimeNs unsplit_ns,
                                int64_t count = 6) {
  CollectiveRow out;
  out.group = "group";
  out.kind = kind;
  out.op = op;
  out.bytes = 1 << 20;
  out.count = count;
  out.total_ns = unsplit_ns;
  out.unsplit_ns = unsplit_ns;
  out.min_ns = unsplit_ns / count / 2;
  return out;
}

}  // namespace ws::made
