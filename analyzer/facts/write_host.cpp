// Host and memory: one row each, means over devices. Tested by: write_facts_test.cpp
#include <algorithm>

#include "analysis/counted_steps.h"
#include "analysis/phrases.h"
#include "facts/fact_writers.h"

namespace ws {
namespace {

// Mean over devices of what a device has, NULL when no device is there.
template <class Get>
std::optional<double> mean_real(const RunAnalysis& run, Get get) {
  double sum = 0;
  for_each_device(run, [&](const RankAnalysis&, const DeviceAnalysis& device, const DeviceMeans&) {
    sum += static_cast<double>(get(device));
  });
  if (run.means.devices.empty()) return std::nullopt;
  return sum / static_cast<double>(run.means.devices.size());
}

template <class Get>
int64_t mean_int(const RunAnalysis& run, Get get) {
  int64_t sum = 0;
  for_each_device(run, [&](const RankAnalysis&, const DeviceAnalysis& device, const DeviceMeans&) {
    sum += get(device);
  });
  return run.means.devices.empty() ? 0
                                   : rounded(sum, static_cast<int64_t>(run.means.devices.size()));
}

template <class Get>
int64_t largest(const RunAnalysis& run, Get get) {
  int64_t out = INT64_MIN;
  for_each_device(run, [&](const RankAnalysis&, const DeviceAnalysis& device, const DeviceMeans&) {
    out = std::max<int64_t>(out, get(device));
  });
  return out;
}

std::optional<double> rate(int64_t bytes, TimeNs ns) {
  return ns > 0 ? std::optional(ratio(bytes, ns)) : std::nullopt;
}

// Of the large pinned copies, in the direction that takes longer: bytes per ns are GB/s. The
// slowest device counts, since one that is bound to the wrong socket holds up the others.
std::optional<double> pinned_gbps(const RunAnalysis& run) {
  std::optional<double> out;
  for_each_device(run, [&](const RankAnalysis&, const DeviceAnalysis& device, const DeviceMeans&) {
    const auto& copies = device.memory.copies;
    const CopyTotals& up = copies[static_cast<size_t>(CopyWay::h2d_pinned)];
    const CopyTotals& down = copies[static_cast<size_t>(CopyWay::d2h_pinned)];
    const CopyTotals& longer = up.large_busy_ns >= down.large_busy_ns ? up : down;
    const auto gbps = rate(longer.large_bytes, longer.large_busy_ns);
    if (gbps && (!out || *gbps < *out)) out = gbps;
  });
  return out;
}

std::optional<double> host_link_gbps(const FactInput& in) {
  const Platform* platform = in.gpu.platform;
  if (platform == nullptr || platform->host_link_bytes_per_s == 0) return std::nullopt;
  return static_cast<double>(platform->host_link_bytes_per_s) / 1e9;
}

// Of the device with least room: the GPUs of a run may differ.
std::optional<double> headroom(const FactInput& in) {
  std::optional<double> out;
  for_each_device(in.run, [&](const RankAnalysis&, const DeviceAnalysis& d, const DeviceMeans&) {
    const int64_t bytes = in.platforms.memory_of(d.gpu, d.memory.capacity_bytes);
    if (d.memory.peak_reserved_bytes < 0 || bytes <= 0) return;
    const double room = 1.0 - ratio(d.memory.peak_reserved_bytes, bytes);
    out = std::min(out.value_or(room), room);
  });
  return out;
}

Result<void> write_copies(const Database& db, const RunAnalysis& run) {
  struct Words {
    CopyWay way;
    std::string_view direction;
    std::optional<std::string_view> host_memory;
  };
  static constexpr Words kWords[] = {
      {CopyWay::h2d_pinned, "h2d", "pinned"},     {CopyWay::h2d_pageable, "h2d", "pageable"},
      {CopyWay::h2d_untold, "h2d", std::nullopt}, {CopyWay::d2h_pinned, "d2h", "pinned"},
      {CopyWay::d2h_pageable, "d2h", "pageable"}, {CopyWay::d2h_untold, "d2h", std::nullopt},
      {CopyWay::peer, "peer", std::nullopt}};
  static_assert(std::size(kWords) == kCopyWayCount);
  FactTable table(db, "fact_copy");
  for (const Words& w : kWords) {
    const auto mean = [&](int64_t CopyTotals::*field) {
      return mean_int(run, [&](const DeviceAnalysis& d) {
        return d.memory.copies[static_cast<size_t>(w.way)].*field;
      });
    };
    const int64_t bytes = mean(&CopyTotals::bytes), busy_ns = mean(&CopyTotals::busy_ns);
    if (bytes == 0 && busy_ns == 0) continue;
    table.row(w.direction, w.host_memory, bytes, busy_ns, rate(bytes, busy_ns));
  }
  return table.result();
}

std::optional<int64_t> positive(int64_t v) { return v > 0 ? std::optional(v) : std::nullopt; }

}  // namespace

Result<void> write_host(const Database& db, const FactInput& in) {
  const RunAnalysis& run = in.run;
  const bool devices = !run.means.devices.empty();
  bool calls = false;
  for (const RankAnalysis& rank : run.ranks) calls |= rank.has_api_records;
  // Without recorded API calls their counts are not known; kernels are.
  const auto count = [&](double StepCounts::*field) {
    return calls ? mean_real(run, [&](const DeviceAnalysis& d) { return d.counts.*field; })
                 : std::nullopt;
  };
  const auto time = [&](TimeNs StepCounts::*field) {
    return mean_int(run, [&](const DeviceAnalysis& d) { return d.counts.*field; });
  };
  const auto known_time = [&](TimeNs StepCounts::*field) {
    return calls && devices ? std::optional(time(field)) : std::nullopt;
  };
  FactTable table(db, "fact_host");
  table.row(mean_real(run, [](const DeviceAnalysis& d) { return d.counts.kernels; }),
            count(&StepCounts::launches), count(&StepCounts::graph_launches),
            count(&StepCounts::api_calls), count(&StepCounts::syncs),
            mean_real(run, [](const DeviceAnalysis& d) { return d.counts.small_d2h; }),
            count(&StepCounts::alloc_calls), positive(time(&StepCounts::mean_kernel_ns)),
            positive(time(&StepCounts::launch_spacing_ns)), known_time(&StepCounts::sync_host_ns),
            known_time(&StepCounts::run_ahead_p10_ns), positive(time(&StepCounts::host_marker_ns)),
            devices ? std::optional(largest(
                          run, [](const DeviceAnalysis& d) { return d.counts.steps_with_pause; }))
                    : std::nullopt);
  return table.result();
}

Result<void> write_memory(const Database& db, const FactInput& in) {
  const RunAnalysis& run = in.run;
  const TimeNs step = run.means.step_ns();
  const Breakdown& p = run.means.mean;
  const auto mean = [&](auto MemoryRow::*field) {
    return mean_int(run, [&](const DeviceAnalysis& d) { return d.memory.*field; });
  };
  const auto most = [&](int64_t MemoryRow::*field) {
    return largest(run, [&](const DeviceAnalysis& d) { return d.memory.*field; });
  };
  const int64_t reserved = most(&MemoryRow::peak_reserved_bytes);
  const int64_t allocated = most(&MemoryRow::peak_allocated_bytes);
  double estimated = 0;
  TimeNs staging = 0;
  for_each_device(run, [&](const RankAnalysis&, const DeviceAnalysis& d, const DeviceMeans&) {
    estimated = std::max(estimated, d.memory.recompute_estimated_share);
    staging += d.evidence.staging_ns;
  });
  const auto devices = static_cast<int64_t>(run.means.devices.size());
  if (devices > 0) staging = rounded(staging, devices);
  const bool counted_only = p[Leaf::recompute] == 0 && estimated > 0;
  const double pageable =
      mean_real(run, [](const DeviceAnalysis& d) { return d.counts.pageable_copies; }).value_or(0);
  const TimeNs exposed = p[Leaf::copy_h2d] + p[Leaf::copy_d2h] + staging;
  const TimeNs pageable_ns = mean(&MemoryRow::pageable_ns);
  const TimeNs copies_ns = mean(&MemoryRow::h2d_ns) + mean(&MemoryRow::d2h_ns);
  // Pinned copies beside the pageable ones keep their part of the exposed time.
  const double pageable_part = copies_ns > 0 ? std::min(1.0, ratio(pageable_ns, copies_ns)) : 1.0;
  const int64_t pageable_bytes = mean(&MemoryRow::pageable_bytes);
  const std::optional<double> pinned = pinned_gbps(run), link = host_link_gbps(in);
  FactTable table(db, "fact_memory");
  table.row(
      positive(in.gpu.smallest_bytes), allocated >= 0 ? std::optional(allocated) : std::nullopt,
      reserved >= 0 ? std::optional(reserved) : std::nullopt, headroom(in),
      reserved > 0 && allocated >= 0 ? std::optional(ratio(reserved - allocated, reserved))
                                     : std::nullopt,
      counted_only ? estimated : ratio(p[Leaf::recompute], step), counted_only,
      ratio(p[Leaf::copy_offload], step), ratio(mean(&MemoryRow::offload_idle_ns), step),
      mean(&MemoryRow::offload_bytes), ratio(p[Leaf::idle_alloc], step),
      mean(&MemoryRow::h2d_bytes), mean(&MemoryRow::d2h_bytes), ratio(p[Leaf::copy_h2d], step),
      ratio(p[Leaf::copy_d2h], step), pageable, pageable_bytes,
      pageable > 0 ? pageable_part * ratio(exposed, step) : 0.0, rate(pageable_bytes, pageable_ns),
      pinned, link, pinned && link ? std::optional(*pinned / *link) : std::nullopt);
  if (auto ok = table.result(); !ok) return ok;
  return write_copies(db, run);
}

}  // namespace ws
