// Each function lists what a group is made of, in ns per step. Host causes follow the leaves, with
// three corrections: copies of pageable memory and the waiting around them are one cause; a single
// long host gap in few steps is a pause, never launch overhead; what is left of the host's time
// counts as launching only where the kernels are shorter than the distance of their launches.
// Tested by: causes_test.cpp
#include "analysis/causes.h"

#include <algorithm>
#include <map>

#include "analysis/counted_steps.h"
#include "analysis/idle_summary.h"
#include "analysis/phrases.h"

namespace ws {
namespace {

using Parts = std::map<Cause, TimeNs>;

// Kernels that end before the next launch comes leave the queue empty. Without a measured distance
// a kernel below this length counts as short.
constexpr TimeNs kShortKernelNs = 20'000;

bool short_kernels(const StepCounts& counts) {
  const TimeNs spacing = counts.launch_spacing_ns > 0 ? counts.launch_spacing_ns : kShortKernelNs;
  return counts.mean_kernel_ns < std::max(spacing, kShortKernelNs);
}

struct Pauses {
  TimeNs ns = 0;  // per counted step
  bool rare = false;
};

Pauses pauses_of(const DeviceAnalysis& device) {
  Pauses out;
  const std::vector<size_t> counted = counted_steps(device.steps);
  size_t steps = 0;
  for (size_t row : counted) {
    if (row >= device.evidence.pause_ns.size() || device.evidence.pause_ns[row] <= kPauseNs)
      continue;
    out.ns += device.evidence.pause_ns[row];
    ++steps;
  }
  out.rare = steps > 0 && steps * 2 <= counted.size();
  if (!counted.empty()) out.ns = rounded(out.ns, static_cast<int64_t>(counted.size()));
  return out;
}

void add_copies(const DeviceAnalysis& device, const Breakdown& p, Parts& parts) {
  const MemoryRow& memory = device.memory;
  const TimeNs copies = p[Leaf::copy_h2d] + p[Leaf::copy_d2h];
  const TimeNs staging = std::min(device.evidence.staging_ns, p[Leaf::idle_sync]);
  if (2 * memory.pageable_ns >= memory.h2d_ns + memory.d2h_ns && memory.pageable_ns > 0) {
    parts[Cause::pageable_copy] += copies + staging;
    return;
  }
  // Without kernels there is nothing that the copies would feed.
  parts[device.counts.kernels > 0 ? Cause::input_pipeline : Cause::unknown] += p[Leaf::copy_h2d];
  const bool scalars = 2 * device.counts.small_d2h >= device.counts.copies;
  parts[scalars ? Cause::host_sync : Cause::unknown] += p[Leaf::copy_d2h];
  parts[Cause::pageable_copy] += staging;
}

Parts host_parts(const DeviceAnalysis& device, const Breakdown& p) {
  Parts parts;
  const bool launching = short_kernels(device.counts);
  const Pauses pauses = pauses_of(device);
  const TimeNs pause = std::min(pauses.ns, p[Leaf::idle_host]);
  parts[Cause::launch_bound] +=
      p[Leaf::idle_launch] + p[Leaf::idle_graph_launch] + p[Leaf::idle_kernel_gap];
  parts[launching ? Cause::launch_bound : Cause::unknown] += p[Leaf::idle_host] - pause;
  parts[Cause::gc_pause] += p[Leaf::idle_gc];
  parts[pauses.rare ? Cause::gc_pause : Cause::unknown] += pause;
  parts[Cause::unknown] += p[Leaf::idle_jit];
  parts[Cause::input_pipeline] += p[Leaf::idle_dataload];
  add_copies(device, p, parts);
  const TimeNs staging = std::min(device.evidence.staging_ns, p[Leaf::idle_sync]);
  parts[Cause::host_sync] += p[Leaf::idle_sync] - staging;
  // The idle of an offload round trip stands in these leaves but is the memory group's.
  TimeNs offload = device.memory.offload_idle_ns;
  for (Cause cause : {Cause::host_sync, Cause::unknown, Cause::launch_bound}) {
    const TimeNs taken = std::min(offload, parts[cause]);
    parts[cause] -= taken;
    offload -= taken;
  }
  return parts;
}

Parts memory_parts(const DeviceAnalysis& device, const Breakdown& p) {
  Parts parts;
  parts[Cause::recompute] = p[Leaf::recompute];
  parts[Cause::offload] = p[Leaf::copy_offload] + device.memory.offload_idle_ns;
  parts[Cause::allocator] = p[Leaf::idle_alloc];
  return parts;
}

Parts communication_parts(const DeviceAnalysis& device, int64_t steps) {
  Parts parts;
  for (const CollectiveRow& row : device.collectives)
    parts[row.peer_copy ? Cause::unknown : cause_of_traffic(row.kind, row.op)] +=
        row.transfer_ns + row.unsplit_ns;
  for (auto& [cause, ns] : parts) ns = rounded(ns, std::max<int64_t>(1, steps));
  return parts;
}

Parts useful_parts(const Breakdown& p) {
  Parts parts;
  parts[Cause::gemm_bound] = p[Leaf::gemm];
  parts[Cause::attention_bound] = p[Leaf::attention];
  parts[Cause::membound_kernels] = p[Leaf::membound];
  parts[Cause::compute_bound] = p[Leaf::compute_other];
  return parts;
}

// Waiting belongs to what made the late ranks late, in proportion to the delay it caused.
Parts imbalance_parts(const RunMeans& run, const Breakdown& p) {
  Parts parts;
  TimeNs all = 0;
  for (const auto& [cause, ns] : run.late_causes) all += ns;
  const TimeNs wait = at(losses_of(p, 0), LossGroup::imbalance).lo_ns;
  if (all <= 0) return parts;
  for (const auto& [cause, ns] : run.late_causes)
    parts[cause] += static_cast<TimeNs>(static_cast<double>(wait) * ratio(ns, all));
  return parts;
}

Parts parts_of(LossGroup group, const DeviceAnalysis& device, const RunMeans& run,
               const DeviceMeans& means) {
  switch (group) {
    case LossGroup::host:
      return host_parts(device, means.mean);
    case LossGroup::memory:
      return memory_parts(device, means.mean);
    case LossGroup::communication:
      return communication_parts(device, means.steps);
    case LossGroup::bubble:
      return {{Cause::pipeline_bubble,
               means.mean[Leaf::comm_pp_wait] + means.mean[Leaf::comm_pp_unsplit]}};
    case LossGroup::imbalance:
      return imbalance_parts(run, means.mean);
    case LossGroup::useful:
      break;
  }
  return useful_parts(means.mean);
}

}  // namespace

Cause cause_of_traffic(CommKind kind, CollectiveOp op) {
  switch (kind) {
    case CommKind::ep:
      return Cause::ep_all_to_all;
    case CommKind::tp:
      return Cause::tp_collective;
    case CommKind::cp:
      return Cause::cp_exchange;
    case CommKind::pp:
      return Cause::pp_transfer;
    case CommKind::dp:
      return op == CollectiveOp::all_gather || op == CollectiveOp::broadcast ? Cause::dp_parameter
                                                                             : Cause::dp_gradient;
    case CommKind::other:
      break;
  }
  return Cause::unknown;
}

std::vector<CauseShare> causes_of(LossGroup group, const std::vector<RankAnalysis>& ranks,
                                  const RunMeans& means) {
  Parts sum;
  for (const DeviceMeans& row : means.devices) {
    for (const auto& [cause, ns] :
         parts_of(group, ranks[row.rank_row].devices[row.device_row], means, row))
      sum[cause] += ns;
  }
  std::vector<CauseShare> out;
  const auto devices = static_cast<int64_t>(means.devices.size());
  for (const auto& [cause, ns] : sum)
    if (ns > 0) out.push_back({cause, rounded(ns, devices)});
  std::stable_sort(out.begin(), out.end(),
                   [](const CauseShare& a, const CauseShare& b) { return a.ns > b.ns; });
  return out;
}

Cause main_cause(LossGroup group, const std::vector<RankAnalysis>& ranks, const RunMeans& means) {
  const std::vector<CauseShare> parts = causes_of(group, ranks, means);
  if (parts.empty()) return Cause::unknown;
  if (group != LossGroup::useful) return parts.front().cause;
  TimeNs useful = 0;
  for (const CauseShare& part : parts) useful += part.ns;
  return 2 * parts.front().ns > useful ? parts.front().cause : Cause::compute_bound;
}

}  // namespace ws
