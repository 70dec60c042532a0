// Figures beside the partition: idle of an offload round trip, hidden communication and copies.
// Tested by: overlap_test.cpp, partition_test.cpp (scenarios)
#include <algorithm>

#include "analysis/partition.h"

namespace ws {
namespace {

// Disjoint stretches in which an op that `wanted` accepts runs; touching ones are joined.
template <class Wanted>
std::vector<Interval> union_of(const Trace& trace, DeviceId device, Wanted&& wanted) {
  const GpuOps& ops = trace.ops;
  std::vector<Interval> out;
  for (const uint32_t op : trace.ops_by_device[row(device)]) {
    if (ops.end_ns[op] <= ops.begin_ns[op] || !wanted(op)) continue;
    if (out.empty() || ops.begin_ns[op] > out.back().end_ns) {
      out.push_back({ops.begin_ns[op], ops.end_ns[op]});
    } else {
      out.back().end_ns = std::max(out.back().end_ns, ops.end_ns[op]);
    }
  }
  return out;
}

std::vector<Interval> intersection(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> out;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Interval both{std::max(a[i].begin_ns, b[j].begin_ns), std::min(a[i].end_ns, b[j].end_ns)};
    if (both.length() > 0) out.push_back(both);
    if (a[i].end_ns < b[j].end_ns) {
      ++i;
    } else {
      ++j;
    }
  }
  return out;
}

// Time of disjoint sorted stretches inside each window (sorted, not overlapping).
std::vector<TimeNs> inside(const std::vector<Interval>& stretches,
                           std::span<const Interval> windows) {
  std::vector<TimeNs> out(windows.size(), 0);
  size_t w = 0;
  for (const Interval& s : stretches) {
    while (w < windows.size() && windows[w].end_ns <= s.begin_ns) ++w;
    for (size_t i = w; i < windows.size() && windows[i].begin_ns < s.end_ns; ++i) {
      const TimeNs length =
          std::min(s.end_ns, windows[i].end_ns) - std::max(s.begin_ns, windows[i].begin_ns);
      out[i] += std::max<TimeNs>(0, length);
    }
  }
  return out;
}

}  // namespace

std::vector<TimeNs> offload_idle(const Trace& trace, const OpLabels& labels, DeviceId device,
                                 std::span<const Interval> windows) {
  const GpuOps& ops = trace.ops;
  const auto is_offload = [&](uint32_t op, OpClass cls) {
    return labels.cls[op] == cls && (labels.flags[op] & kFlagOffload) != 0;
  };
  std::vector<Interval> gaps;
  Interval gap{INT64_MIN, INT64_MIN};  // the latest one
  bool gap_after_left = false;         // it begins where an offload copy to the host ended
  bool any = false, left = false;      // the same of busy_until
  TimeNs busy_until = 0;
  for (const uint32_t op : trace.ops_by_device[row(device)]) {
    const TimeNs begin = ops.begin_ns[op], end = ops.end_ns[op];
    if (end <= begin) continue;
    if (any && begin > busy_until) {
      gap = {busy_until, begin};
      gap_after_left = left;
    }
    if (gap_after_left && gap.end_ns == begin && is_offload(op, OpClass::h2d)) {
      gaps.push_back(gap);
      gap_after_left = false;  // counted
    }
    if (!any || end > busy_until) {
      left = is_offload(op, OpClass::d2h);
      busy_until = end;
      any = true;
    } else if (end == busy_until) {
      left = left || is_offload(op, OpClass::d2h);
    }
  }
  return inside(gaps, windows);
}

std::vector<Overlap> overlap_of(const Trace& trace, const OpLabels& labels, DeviceId device,
                                std::span<const Interval> windows, bool communication) {
  const auto compute =
      union_of(trace, device, [&](uint32_t op) { return is_compute(labels.cls[op]); });
  const auto moving = union_of(trace, device, [&](uint32_t op) {
    return communication ? is_comm(labels.cls[op]) : is_copy(labels.cls[op]);
  });
  const std::vector<TimeNs> total = inside(moving, windows);
  const std::vector<TimeNs> hidden = inside(intersection(moving, compute), windows);
  std::vector<Overlap> out;
  for (size_t i = 0; i < windows.size(); ++i) out.push_back({total[i], hidden[i]});
  return out;
}

Overlap overlap_of(const Trace& trace, const OpLabels& labels, DeviceId device, Interval window,
                   bool communication) {
  return overlap_of(trace, labels, device, std::span<const Interval>(&window, 1), communication)
      .front();
}

}  // namespace ws
