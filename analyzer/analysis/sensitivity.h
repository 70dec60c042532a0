#pragma once
#include <span>

#include "analysis/partition.h"

namespace ws {

// The partition summed over the windows as it would be with Lambda and kappa scaled by
// numerator / denominator (ALGORITHMS 3.4), got by moving the border between the launch phase and
// the rest of each gap. Busy time is left as it is: only ties of blockers depend on Lambda.
Breakdown with_scaled_constants(const Trace& trace, const Timeline& timeline,
                                const Constants& constants, int64_t numerator, int64_t denominator,
                                std::span<const Interval> windows, const Breakdown& sum);

}  // namespace ws
