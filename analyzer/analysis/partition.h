#pragma once
// The exclusive partition of a device's time (ALGORITHMS 3): every nanosecond of every window gets
// exactly one leaf. Causes are decided on whole gaps and whole ops, then clipped to the windows, so
// that cutting a window anywhere and adding the parts gives the same integers.
#include <span>
#include <vector>

#include "analysis/host_states.h"
#include "analysis/labels.h"
#include "model/step.h"
#include "model/trace.h"

namespace ws {

// Constants of one rank (ALGORITHMS 3.4).
struct Constants {
  TimeNs launch_latency_ns = 5000;  // Lambda
  TimeNs kernel_gap_ns = 2000;      // kappa
  TimeNs straddle_eps_ns = 1000;    // eps: clock noise between host and device
  bool launch_latency_measured = false, kernel_gap_measured = false;
};

// Lambda and kappa of one device from its own launches; defaults below 20 samples.
Constants calibrate(const Trace& trace, const OpLabels& labels, const HostStates& host,
                    DeviceId device);

inline constexpr TimeNs kNoArrival = INT64_MIN;

// A maximal stretch without any op on the device, or the part of it with one cause.
struct IdlePart {
  Interval span;
  Leaf leaf{};
  uint32_t before = kNoRow, after = kNoRow;  // ops around the whole gap
};

// One stretch of charged busy time; op is what is charged.
struct BusyPart {
  Interval span;
  Leaf leaf{};
  uint32_t op = kNoRow;
};

struct Timeline {              // tiles [window.begin, window.end) of one device
  std::vector<BusyPart> busy;  // in time order
  std::vector<IdlePart> idle;  // in time order
};

// arrivals: per op the time when the last member arrived, kNoArrival: not matched; empty: none.
Timeline build_timeline(const Trace& trace, const OpLabels& labels, const HostStates& host,
                        DeviceId device, const Constants& constants, Interval window,
                        std::span<const TimeNs> arrivals = {});

// windows: sorted, not overlapping, inside the timeline's window. One breakdown per window, each
// summing to its length.
std::vector<Breakdown> partition(const Timeline& timeline, std::span<const Interval> windows);

// Idle between an offload copy to the host and the offload copy back (ALGORITHMS 4): belongs to the
// memory group though its leaves are host states. One value per window.
std::vector<TimeNs> offload_idle(const Trace& trace, const OpLabels& labels, DeviceId device,
                                 std::span<const Interval> windows);

// Not part of the partition: union of an op class, and how much of it compute hides.
struct Overlap {
  TimeNs total_ns = 0, hidden_ns = 0;
};
// One value per window (sorted, not overlapping) in one pass.
std::vector<Overlap> overlap_of(const Trace& trace, const OpLabels& labels, DeviceId device,
                                std::span<const Interval> windows,
                                bool communication /* else copies */);
Overlap overlap_of(const Trace& trace, const OpLabels& labels, DeviceId device, Interval window,
                   bool communication /* else copies */);

}  // namespace ws
