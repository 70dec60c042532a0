#pragma once
// Steps as the host announces them: anchors 1 to 4 of ALGORITHMS 2.
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/labels.h"
#include "model/trace.h"

namespace ws {

struct HostStep {
  TimeNs begin_ns = 0, end_ns = 0;
  int64_t number = -1;  // in the name, -1: none
  StringId name{};      // "" for steps between optimizer ranges
};

struct AnnouncedSteps {  // of one thread: in order, not overlapping
  ThreadId thread = kNoThread;
  std::vector<HostStep> steps;
};

struct HostAnchor {
  StepOrigin origin = StepOrigin::whole;
  std::vector<AnnouncedSteps> threads;
  // A number is missing between two steps: they were not recorded, the windows do not touch.
  static bool gap_after(const std::vector<HostStep>& steps, size_t i);
};

// First to last record of the host or the device; the profiler's own rows and waits in the C
// library do not count. Empty when nothing was recorded.
Interval recorded_span(const Trace& trace);

// The first anchor that gives enough steps. range_name: "" or the name the user gave.
std::optional<HostAnchor> find_host_anchor(const Trace& trace, const OpLabels& labels,
                                           std::string_view range_name);

// Ranges named like steps (or as the user said) that have no length, so that they mark no time.
int64_t empty_step_marks(const Trace& trace, std::string_view range_name);

// The thread whose steps a device takes: of those that announce, the one that launches most of its
// ops (then: most steps, then the first).
const AnnouncedSteps& thread_of_device(const Trace& trace, const HostAnchor& anchor,
                                       DeviceId device);

// Device windows by the boundary rule: b = max(host begin, end of compute launched before it), one
// window per step; the last one, and one before a gap, ends by its range's end.
std::vector<Interval> device_windows(const Trace& trace, const OpLabels& labels, DeviceId device,
                                     const std::vector<HostStep>& steps);

}  // namespace ws
