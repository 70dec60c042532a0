#pragma once
// How work is spread over ranks (ALGORITHMS 5.5): experts, pipeline stages, all ranks.
#include <optional>

#include "analysis/across_ranks.h"

namespace ws {

std::optional<ExpertBalance> expert_balance(const CrossRank& cross,
                                            const std::vector<RankAnalysis>& ranks);
std::optional<PipelineShape> pipeline_shape(const CrossRank& cross,
                                            const std::vector<RankAnalysis>& ranks);
std::optional<Efficiency> efficiency_of(const std::vector<RankAnalysis>& ranks);

}  // namespace ws
