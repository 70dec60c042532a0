#pragma once
#include <span>

#include "analysis/rank_analysis.h"

namespace ws {

// Peaks over the whole recording; times and bytes per counted step, of records that begin in one.
MemoryRow summarize_memory(const Trace& trace, const OpLabels& labels, DeviceId device,
                           std::span<const Interval> windows,
                           std::span<const TimeNs> offload_idle_ns);

}  // namespace ws
