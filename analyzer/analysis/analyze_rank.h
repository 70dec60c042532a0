#pragma once
// All analyses of one rank in their order; afterwards the trace is no longer needed.
#include "analysis/kernel_classes.h"
#include "analysis/rank_analysis.h"

namespace ws {

struct RankOptions {
  bool two_threads = false;  // works on a second thread besides the caller's; same result
  // The only device of the run: there is nobody to match with, so only pipeline receives are kept
  // of its communication.
  bool alone = false;
};
RankAnalysis analyze_rank(const Trace& trace, const KernelClasses& classes,
                          const StepOptions& steps, const RankOptions& options = {});

}  // namespace ws
