#pragma once
// The verdict of a run (ALGORITHMS 4, DESIGN 5): which loss, which wall, why, how sure, and what to
// record when the evidence does not suffice.
#include <optional>
#include <string>
#include <vector>

#include "analysis/across_ranks.h"
#include "analysis/losses.h"

namespace ws {

struct LossRow {
  LossNs ns;  // per steady step
  double lo_share = 0, hi_share = 0;
  std::optional<Price> price;
  Cause cause = Cause::unknown;
};

struct RunVerdict {
  VerdictKind kind = VerdictKind::insufficient;
  std::optional<LossGroup> loss;  // nullopt: insufficient
  std::optional<Wall> wall;
  Cause cause = Cause::unknown;
  Confidence confidence = Confidence::low;
  double share_lo = 0, share_hi = 0;
  std::optional<Price> price;
  std::optional<LossGroup> also;
  Cause also_cause = Cause::unknown;
  std::vector<int32_t> where_ranks;      // empty: everybody
  std::vector<std::string> where_steps;  // empty: all
  std::vector<std::string> why, missing;
  PerGroup<LossRow> losses;
  std::optional<bool> latent_memory_wall;  // nullopt: could not be judged
  bool single_rank_of_job = false;
};

// ranks sorted by rank; means = means_of(ranks), with the causes of lateness where ranks were
// matched. some_chosen: the input has more ranks than these.
RunVerdict judge(const std::vector<RankAnalysis>& ranks, const RunMeans& means,
                 const std::optional<Prices>& prices = {}, const AcrossRanks& across = {},
                 bool some_chosen = false);

Wall wall_of(LossGroup loss);

// The loss that leads by shares alone, and its cause: useful when none reaches the floor.
struct LeadingLoss {
  LossGroup loss = LossGroup::useful;
  Cause cause = Cause::unknown;
};
LeadingLoss leading_loss(const std::vector<RankAnalysis>& ranks, const RunMeans& means);

}  // namespace ws
