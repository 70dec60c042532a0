#pragma once
#include <span>

#include "analysis/kernel_classes.h"
#include "analysis/rank_analysis.h"

namespace ws {

// How far the records can be trusted: launches and records that miss each other, records longer
// than steps, whole graphs. Fills the counts of DeviceAnalysis whose name starts with ops,
// launches or expected, and Evidence. steps, constants and breakdowns are there already.
void gather_evidence(const Trace& trace, const HostStates& host, DeviceId device,
                     const Timeline& timeline, std::span<const Interval> windows,
                     DeviceAnalysis& out);

// What kernels and collectives show of the run's configuration.
ConfigSeen config_seen(const Trace& trace, const Labels& labels, const KernelClasses& classes);

}  // namespace ws
