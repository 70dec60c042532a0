#pragma once
// Copies that move training state to the host and back (ALGORITHMS 1, offload flag).
#include "analysis/labels.h"
#include "model/trace.h"

namespace ws {

// Sets kFlagOffload: a range open at the launch says offload; else pinned copies of at least 1 MiB
// whose size goes down and comes back on a device that computes, with counts that differ by at most
// 10 % + 1.
void flag_offload(const Trace& trace, OpLabels& labels);

}  // namespace ws
