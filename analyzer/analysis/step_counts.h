#pragma once
#include <span>
#include <string>
#include <vector>

#include "analysis/rank_analysis.h"

namespace ws {

// What host and device did per counted step. Device records count where they begin, launches with
// the records they launched, other calls where they begin.
StepCounts count_steps(const Trace& trace, const OpLabels& labels, const HostStates& host,
                       DeviceId device, std::span<const Interval> windows);

// Mean length of the host ranges that carry the names of the steps; 0 when there are none.
TimeNs host_marker_length(const Trace& trace, const std::vector<Step>& steps,
                          const std::vector<size_t>& counted);

}  // namespace ws
