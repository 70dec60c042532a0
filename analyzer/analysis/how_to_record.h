#pragma once
// The commands that belong to "record ...", for the recorders that know the GPUs of these ranks,
// and the one that recorded them first.
#include <span>
#include <string>

#include "analysis/rank_analysis.h"
#include "base/recorders.h"

namespace ws {

// Of the ranks together; what only some of them say does not count.
Recorders recorders_of(std::span<const RankAnalysis> ranks);

std::string how_to_record_peers(std::span<const RankAnalysis> ranks);
std::string how_to_record_steps(std::span<const RankAnalysis> ranks);
std::string how_to_record_host(std::span<const RankAnalysis> ranks);
// Of work that was launched and did not start.
std::string how_to_record_waits(std::span<const RankAnalysis> ranks);
std::string how_to_record_gpu(std::span<const RankAnalysis> ranks);
std::string how_to_record_graphs(std::span<const RankAnalysis> ranks);

}  // namespace ws
