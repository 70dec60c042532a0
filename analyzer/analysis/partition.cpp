// Busy stretches and idle causes, clipped to windows and added up. The causes were decided on the
// whole recording, so cutting a window anywhere changes nothing.
// Tested by: partition_test.cpp (scenarios), partition_property_test.cpp, oracle_agreement.py
#include "analysis/partition.h"

#include <algorithm>

#include "analysis/busy_time.h"
#include "analysis/idle_causes.h"
#include "base/check.h"

namespace ws {
namespace {

Leaf leaf_of_work(const OpLabels& labels, uint32_t op) {
  const uint8_t flags = labels.flags[op];
  const OpClass cls = labels.cls[op];
  if (is_compute(cls) && (flags & kFlagRecompute) != 0) return Leaf::recompute;
  switch (cls) {
    case OpClass::gemm:
      return Leaf::gemm;
    case OpClass::attention:
      return Leaf::attention;
    case OpClass::membound:
      return Leaf::membound;
    case OpClass::h2d:
      return (flags & kFlagOffload) != 0 ? Leaf::copy_offload : Leaf::copy_h2d;
    case OpClass::d2h:
      return (flags & kFlagOffload) != 0 ? Leaf::copy_offload : Leaf::copy_d2h;
    case OpClass::comm:
    case OpClass::p2p:
      return comm_leaf(cls, labels.kind[op], CommPart::unsplit);
    case OpClass::compute_other:
      break;
  }
  return Leaf::compute_other;
}

Interval clipped(Interval span, Interval window) {
  return {std::max(span.begin_ns, window.begin_ns), std::min(span.end_ns, window.end_ns)};
}

class TimelineBuilder {
 public:
  TimelineBuilder(const OpLabels& labels, std::span<const TimeNs> arrivals, Interval window)
      : labels_(labels), arrivals_(arrivals), window_(window) {}

  void reserve(size_t busy, size_t idle) {  // pages that are never written cost nothing
    timeline.busy.reserve(busy);
    timeline.idle.reserve(idle);
  }
  void add_busy(Interval span, uint32_t op) {
    const OpClass cls = labels_.cls[op];
    if (!is_comm(cls) || arrivals_.empty() || arrivals_[op] == kNoArrival) {
      put_busy(span, leaf_of_work(labels_, op), op);
      return;
    }
    const TimeNs all_there = std::clamp(arrivals_[op], span.begin_ns, span.end_ns);
    const CommKind kind = labels_.kind[op];
    put_busy({span.begin_ns, all_there}, comm_leaf(cls, kind, CommPart::wait), op);
    put_busy({all_there, span.end_ns}, comm_leaf(cls, kind, CommPart::transfer), op);
  }
  void add_unknown(Interval span) {
    const Interval c = clipped(span, window_);
    if (c.length() > 0) timeline.idle.push_back({c, Leaf::idle_unknown, kNoRow, kNoRow});
  }
  void add_gap(const Stretch& gap, IdleCauses& causes) {
    if (clipped(gap.span, window_).length() <= 0) return;
    const size_t first = timeline.idle.size();
    causes.explain(gap, timeline.idle);
    if (gap.span.begin_ns >= window_.begin_ns && gap.span.end_ns <= window_.end_ns) return;
    const auto outside = [&](IdlePart& part) {
      part.span = clipped(part.span, window_);
      return part.span.length() <= 0;
    };
    const auto begin = timeline.idle.begin() + static_cast<ptrdiff_t>(first);
    timeline.idle.erase(std::remove_if(begin, timeline.idle.end(), outside), timeline.idle.end());
  }

  Timeline timeline;

 private:
  void put_busy(Interval span, Leaf leaf, uint32_t op) {
    const Interval c = clipped(span, window_);
    if (c.length() > 0) timeline.busy.push_back({c, leaf, op});
  }
  const OpLabels& labels_;
  std::span<const TimeNs> arrivals_;
  Interval window_;
};

size_t count_gaps(const Trace& trace, DeviceId device) {
  const GpuOps& ops = trace.ops;
  size_t gaps = 0;
  TimeNs busy_until = INT64_MIN;
  for (const uint32_t op : trace.ops_by_device[row(device)]) {
    if (ops.begin_ns[op] > busy_until) ++gaps;
    busy_until = std::max(busy_until, ops.end_ns[op]);
  }
  return gaps;
}

}  // namespace

Timeline build_timeline(const Trace& trace, const OpLabels& labels, const HostStates& host,
                        DeviceId device, const Constants& constants, Interval window,
                        std::span<const TimeNs> arrivals) {
  TimelineBuilder out(labels, arrivals, window);
  out.reserve(2 * trace.ops_by_device[row(device)].size(), 3 * (count_gaps(trace, device) + 2));
  BusyTime busy(trace, labels, device, constants.launch_latency_ns);
  IdleCauses causes(trace, host, constants);
  const uint32_t first = busy.first_op();
  const TimeNs first_ns = first == kNoRow ? INT64_MAX : trace.ops.begin_ns[first];
  const TimeNs known_ns = std::min(first_ns, host.first_event_ns());
  out.add_unknown({window.begin_ns, known_ns});  // before the first record
  TimeNs at = first == kNoRow ? std::max(window.begin_ns, known_ns) : first_ns;
  if (first != kNoRow) {
    if (known_ns < first_ns) out.add_gap({{known_ns, first_ns}, kNoRow, kNoRow, first}, causes);
    for (Stretch s; busy.next(s) && s.span.begin_ns < window.end_ns;) {
      if (s.op == kNoRow) {
        out.add_gap(s, causes);
      } else {
        out.add_busy(s.span, s.op);
      }
      at = s.span.end_ns;
    }
  }
  if (at < window.end_ns) {
    out.add_gap({{at, window.end_ns}, kNoRow, busy.last_op(), kNoRow}, causes);
  }
  return std::move(out.timeline);
}

std::vector<Breakdown> partition(const Timeline& timeline, std::span<const Interval> windows) {
  std::vector<Breakdown> out(windows.size());
  const auto add_all = [&](const auto& parts) {
    size_t w = 0;
    for (const auto& part : parts) {
      while (w < windows.size() && windows[w].end_ns <= part.span.begin_ns) ++w;
      for (size_t i = w; i < windows.size() && windows[i].begin_ns < part.span.end_ns; ++i)
        out[i][part.leaf] += std::max<TimeNs>(0, clipped(part.span, windows[i]).length());
    }
  };
  add_all(timeline.busy);
  add_all(timeline.idle);
  for (size_t i = 0; i < windows.size(); ++i) WS_CHECK(out[i].total() == windows[i].length());
  return out;
}

}  // namespace ws
