#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/rank_analysis.h"
#include "base/result.h"

namespace ws {

// An error that lists the runs where the files can not be the ranks of one: other world sizes,
// other times, the same ranks in several folders, or other GPUs or formats in files that name no
// rank.
std::optional<Error> check_one_run(const std::vector<RankAnalysis>& ranks);

// The last part of a path, fit to print.
std::string file_of(std::string_view path);

}  // namespace ws
