#pragma once
#include <span>
#include <vector>

#include "analysis/rank_analysis.h"

namespace ws {

// Idle time by leaf over the windows; one row per idle leaf, also when there is none of it.
std::vector<IdleRow> summarize_idle(const Trace& trace, const Timeline& timeline,
                                    std::span<const Interval> windows);

// Longest single stretch of idle.host in each window: a pause when it exceeds kPauseNs.
inline constexpr TimeNs kPauseNs = 1'000'000;
std::vector<TimeNs> longest_host_gaps(const Timeline& timeline, std::span<const Interval> windows);

}  // namespace ws
