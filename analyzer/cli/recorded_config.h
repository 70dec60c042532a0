#pragma once
// The run configuration that a recording carries without knowing it: the command of its processes.
#include <optional>
#include <vector>

#include "analysis/rank_analysis.h"
#include "config/run_config.h"

namespace ws::cli {

// That of the first rank with one. Notes say that it counts, or that it could not be read; nothing
// of the command itself is shown.
std::optional<RunConfig> recorded_config(const std::vector<RankAnalysis>& ranks, Notes& notes);

}  // namespace ws::cli
