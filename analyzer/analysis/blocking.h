#pragma once
#include <span>
#include <vector>

#include "analysis/partition.h"

namespace ws {

// Exposed is not blocking (ALGORITHMS 0.6). Per window: exposed communication during which the host
// had not yet launched the compute that follows because it was busy with something known: loading
// data, collecting garbage, loading code, the profiler. That time would stay if the communication
// took none, so it can not be what the step waits for.
std::vector<TimeNs> not_blocking_communication(const Trace& trace, const HostStates& host,
                                               const Timeline& timeline,
                                               std::span<const Interval> windows);

}  // namespace ws
