#pragma once
// Forward work that the backward pass repeats (ALGORITHMS 1, recompute flag).
#include "analysis/kernel_classes.h"
#include "analysis/labels.h"
#include "analysis/pass_ranges.h"
#include "model/trace.h"

namespace ws {

struct RecomputeFlags {
  int64_t inferred = 0;  // flags that rest on no range that names recompute
  // Kernels of either pass were launched where their ranges say, so a forward that is repeated is
  // flagged: no flag means no recompute of them.
  bool would_show = false;
  // Backward ops have ranges, and so would the checkpoint of any module.
  bool ranges_would_show = false;
};

// Sets kFlagRecompute by rules (a) ranges open at the launch and (b) forward-only kernels launched
// while a backward phase is open. passes: one hint per StringId.
RecomputeFlags flag_recompute(const Trace& trace, const PassRanges& ranges,
                              const std::vector<PassHint>& passes, OpLabels& labels);

// Rule (c), a bound only: forward-only launches beyond one per backward launch of the same family,
// times their mean duration, as a share of the window (0..1). 0 when no op could tell.
double recompute_estimate(const Trace& trace, const KernelClasses& classes, DeviceId device,
                          Interval window);

}  // namespace ws
