#pragma once
// Why a rank arrived last: what it did more of than the others since they last met, followed to
// other communicators when that was waiting itself (ALGORITHMS 5.4; the idea of Scalasca's delay
// analysis: wait states are charged to their first cause).
#include <optional>
#include <vector>

#include "analysis/cross_rank.h"

namespace ws {

struct LateRoot {
  uint32_t participant = 0;
  LateCategory category = LateCategory::unknown;
  std::optional<CommKind> transfer;  // its transfers were slower
};

// Members that wait for each other and were split, late member first; empty: not such an instance.
struct Arrival {
  Member member;
  TimeNs begin_ns = 0;  // reference clock
};
std::vector<Arrival> by_arrival(const CrossRank& cross, const Instance& instance);

LateRoot root_of(const CrossRank& cross, const std::vector<RankAnalysis>& ranks, uint32_t instance);

}  // namespace ws
