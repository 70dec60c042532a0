#pragma once
// Which loss wins: pure arithmetic on intervals (ALGORITHMS 4, oracle/walls.py).
#include "analysis/losses.h"

namespace ws {

inline constexpr double kFloor = 0.10;  // below it a loss is no wall
inline constexpr double kAhead = 1.25;  // how far a winner must be ahead
inline constexpr double kSeen = 0.005;  // widths below it decide nothing

struct Decision {
  enum class Kind : uint8_t {
    none,      // no loss can reach the floor
    only_hi,   // the best reaches the floor only in its optimistic price
    dominant,  // ahead of every rival even at its lowest
    mixed,     // two losses near each other, both above the floor
    best,      // the best, but not far enough ahead to be sure
    undecided  // missing evidence could change the winner; `second` needs it
  };
  Kind kind = Kind::none;
  LossGroup best = LossGroup::useful;
  LossGroup second = LossGroup::useful;  // rival, second or undecided group
  bool by_dependent_host = false;        // host was no rival: it is the late rank's host
};

Decision decide(const PerGroup<LossShare>& shares, const std::optional<Prices>& prices = {});

}  // namespace ws
