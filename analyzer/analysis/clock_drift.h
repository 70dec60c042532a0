#pragma once
// Clocks that do not run at the same speed (ALGORITHMS 5.2): over a long recording a constant
// offset is not enough. Told from common ends, and only where a line explains them much better.
#include <vector>

#include "analysis/comm_record.h"

namespace ws {

struct ClockDrift {
  TimeNs since_ns = 0;  // where own and reference rate are counted from
  double rate = 0;      // by how much the clock is too fast: 1e-6 gains a microsecond per second

  TimeNs gained_ns(TimeNs own) const;
  TimeNs remove(TimeNs own) const { return own - gained_ns(own); }
  TimeNs restore(TimeNs even) const;  // inverse of remove, exact to 1 ns
};

// One per rank of the set, against the first; rate 0 in recordings of up to a minute.
std::vector<ClockDrift> measure_drifts(const CommSet& set);

}  // namespace ws
