#pragma once
// What inside a loss group costs most (ALGORITHMS 4; names: DESIGN 5).
#include <string>
#include <vector>

#include "analysis/losses.h"

namespace ws {

struct CauseShare {
  Cause cause = Cause::unknown;
  TimeNs ns = 0;  // per step, mean over devices
};

// Parts of a group, largest first (ties: order of Cause); empty when the group has no time.
std::vector<CauseShare> causes_of(LossGroup group, const std::vector<RankAnalysis>& ranks,
                                  const RunMeans& means);
// Traffic of one parallel dimension.
Cause cause_of_traffic(CommKind kind, CollectiveOp op);
// The first of causes_of, unknown when there is none.
Cause main_cause(LossGroup group, const std::vector<RankAnalysis>& ranks, const RunMeans& means);

}  // namespace ws
