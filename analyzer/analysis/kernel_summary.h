#pragma once
#include <span>
#include <vector>

#include "analysis/rank_analysis.h"

namespace ws {

// Device records that begin in the windows, by name and class: counts, sums and exact quantiles of
// durations, largest total first. Time is linear in the records; beyond kKernelRows names the rest
// is folded into one row per class.
inline constexpr size_t kKernelRows = 1000;
std::vector<KernelRow> summarize_kernels(const Trace& trace, const OpLabels& labels,
                                         DeviceId device, std::span<const Interval> windows);

// Counts the names that no row of the kernel table matched and that take over 1 % of span_ns.
void note_unclassified(const std::vector<KernelRow>& kernels, TimeNs span_ns, Notes& notes);

}  // namespace ws
