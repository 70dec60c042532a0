#pragma once
// The verdict's sentences: numbers that prove it, and what to record.
#include "analysis/run_evidence.h"
#include "analysis/verdict.h"

namespace ws {

void explain(const std::vector<RankAnalysis>& ranks, const RunMeans& means,
             const RunEvidence& evidence, const AcrossRanks& across, RunVerdict& verdict);
// open: the group whose interval is too wide.
void explain_undecided(const std::vector<RankAnalysis>& ranks, const RunMeans& means,
                       LossGroup open, RunVerdict& verdict);

// One sentence for a cause; empty when there is nothing to say.
std::string why_cause(Cause cause, const std::vector<RankAnalysis>& ranks, const RunMeans& means,
                      const RunVerdict& verdict);

// Who waits for whom and why, how the clocks were joined, how experts and stages are balanced.
void explain_across(const AcrossRanks& across, const std::vector<RankAnalysis>& ranks,
                    const RunMeans& means, RunVerdict& verdict);

}  // namespace ws
