#pragma once
// All analyses of one rank in their order; afterwards the trace is no longer needed.
#include "analysis/kernel_classes.h"
#include "analysis/rank_analysis.h"

namespace ws {

// two_threads: works on a second thread besides the caller's; the result is the same.
RankAnalysis analyze_rank(const Trace& trace, const KernelClasses& classes,
                          const StepOptions& options, bool two_threads = false);

}  // namespace ws
