// Tested by: summaries_test.cpp
#include "analysis/memory_summary.h"

#include <algorithm>

#include "analysis/counted_steps.h"

namespace ws {
namespace {

// Below this a copy's time is mostly latency.
constexpr int64_t kLargeCopyBytes = int64_t{1} << 20;

CopyWay way_of(OpKind kind, const Copy& copy) {
  if (kind == OpKind::p2p) return CopyWay::peer;
  const bool up = kind == OpKind::h2d;
  if (copy.pageable) return up ? CopyWay::h2d_pageable : CopyWay::d2h_pageable;
  if (copy.pinned) return up ? CopyWay::h2d_pinned : CopyWay::d2h_pinned;
  return up ? CopyWay::h2d_untold : CopyWay::d2h_untold;
}

// Adds copies in the order of their begin; keeps where each way is busy until.
class CopyRates {
 public:
  void add(const Interval& span, CopyWay way, int64_t bytes) {
    const auto row = static_cast<size_t>(way);
    CopyTotals& totals = totals_[row];
    totals.bytes += bytes;
    totals.busy_ns += extend(until_[row], span);
    if (bytes < kLargeCopyBytes) return;
    totals.large_bytes += bytes;
    totals.large_busy_ns += extend(large_until_[row], span);
  }
  const std::array<CopyTotals, kCopyWayCount>& totals() const { return totals_; }

 private:
  static TimeNs extend(TimeNs& until, const Interval& span) {
    const TimeNs more = std::max<TimeNs>(0, span.end_ns - std::max(until, span.begin_ns));
    until = std::max(until, span.end_ns);
    return more;
  }
  std::array<CopyTotals, kCopyWayCount> totals_{};
  std::array<TimeNs, kCopyWayCount> until_ = never(), large_until_ = never();
  static constexpr std::array<TimeNs, kCopyWayCount> never() {
    std::array<TimeNs, kCopyWayCount> out{};
    out.fill(INT64_MIN);
    return out;
  }
};

void add_copy(MemoryRow& out, const Trace& trace, const OpLabels& labels, uint32_t op) {
  const TimeNs length = trace.ops.end_ns[op] - trace.ops.begin_ns[op];
  const uint32_t copy = trace.ops.copy[op];
  const int64_t bytes = copy == kNoRow ? 0 : trace.copies[copy].bytes;
  const OpKind kind = trace.ops.kind[op];
  if (kind != OpKind::h2d && kind != OpKind::d2h) return;
  (kind == OpKind::h2d ? out.h2d_bytes : out.d2h_bytes) += bytes;
  (kind == OpKind::h2d ? out.h2d_ns : out.d2h_ns) += length;
  if ((labels.flags[op] & kFlagOffload) != 0) out.offload_bytes += bytes;
  if (copy != kNoRow && trace.copies[copy].pageable) {
    out.pageable_bytes += bytes;
    out.pageable_ns += length;
  }
}

}  // namespace

MemoryRow summarize_memory(const Trace& trace, const OpLabels& labels, DeviceId device,
                           std::span<const Interval> windows,
                           std::span<const TimeNs> offload_idle_ns) {
  MemoryRow out;
  out.capacity_bytes = trace.devices[row(device)].memory_bytes;
  for (const MemoryEvent& event : trace.memory) {
    if (event.device != device) continue;
    out.peak_allocated_bytes = std::max(out.peak_allocated_bytes, event.allocated_bytes);
    out.peak_reserved_bytes = std::max(out.peak_reserved_bytes, event.reserved_bytes);
  }
  if (windows.empty()) return out;
  WindowWalk walk(windows);
  CopyRates rates;
  for_each_op(trace, device, [&](uint32_t op) {
    if (walk.at(trace.ops.begin_ns[op]) == kNoWindow) return;
    if ((labels.flags[op] & kFlagRecompute) != 0)
      out.recompute_ns += trace.ops.end_ns[op] - trace.ops.begin_ns[op];
    add_copy(out, trace, labels, op);
    const OpKind kind = trace.ops.kind[op];
    const bool told = kind == OpKind::h2d || kind == OpKind::d2h || kind == OpKind::p2p;
    if (told && trace.ops.copy[op] != kNoRow) {
      const Copy& copy = trace.copies[trace.ops.copy[op]];
      rates.add({trace.ops.begin_ns[op], trace.ops.end_ns[op]}, way_of(kind, copy), copy.bytes);
    }
  });
  for (TimeNs ns : offload_idle_ns) out.offload_idle_ns += ns;
  const auto steps = static_cast<int64_t>(windows.size());
  for (int64_t* sum :
       {&out.recompute_ns, &out.offload_idle_ns, &out.offload_bytes, &out.h2d_bytes, &out.d2h_bytes,
        &out.pageable_bytes, &out.h2d_ns, &out.d2h_ns, &out.pageable_ns})
    *sum = rounded(*sum, steps);
  out.copies = rates.totals();
  for (CopyTotals& c : out.copies) {
    for (int64_t* sum : {&c.bytes, &c.large_bytes, &c.busy_ns, &c.large_busy_ns})
      *sum = rounded(*sum, steps);
  }
  return out;
}

}  // namespace ws
