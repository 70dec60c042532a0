#pragma once
// The verdict's sentences: numbers that prove it, and what to record.
#include "analysis/run_evidence.h"
#include "analysis/verdict.h"

namespace ws {

void explain(const std::vector<RankAnalysis>& ranks, const RunMeans& means,
             const RunEvidence& evidence, RunVerdict& verdict);
// open: the group whose interval is too wide.
void explain_undecided(const std::vector<RankAnalysis>& ranks, const RunMeans& means,
                       LossGroup open, RunVerdict& verdict);

// One sentence for a cause; empty when there is nothing to say.
std::string why_cause(Cause cause, const std::vector<RankAnalysis>& ranks, const RunMeans& means,
                      const RunVerdict& verdict);

}  // namespace ws
