#pragma once
// Dependencies between streams as the source recorded them: which event a wait was for, and which
// call recorded it.
#include <vector>

#include "analysis/replay_input.h"

namespace ws {

// Fills waits and host_waits, and marks the calls whose waits are known. call_of: row of out.calls
// per call of the trace, kNoRow outside the window. out holds its ops and calls already.
void add_recorded_waits(const Trace& trace, const std::vector<uint32_t>& call_of, ReplayRank& out);

}  // namespace ws
