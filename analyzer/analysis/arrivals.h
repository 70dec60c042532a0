#pragma once
// When the last member arrived (ALGORITHMS 5.3), and who was late (5.4).
#include <map>
#include <vector>

#include "analysis/clock_offsets.h"

namespace ws {

inline constexpr TimeNs kNotMatched = INT64_MIN;

// Per rank row and record: the time, in that rank's own clock, before which it could not progress;
// kNotMatched: incomplete, inconsistent or unknown.
std::vector<std::vector<TimeNs>> find_arrivals(const CommSet& set, const Offsets& offsets,
                                               const std::vector<Instance>& instances);

struct Lateness {
  std::vector<TimeNs>
      marginal_ns;  // per rank row: last minus second-last arrival, where it was last
  std::vector<int64_t> times_last;
  std::vector<TimeNs> wait_ns;  // per rank row: time spent waiting inside collectives
};
Lateness find_lateness(const CommSet& set, const Offsets& offsets,
                       const std::vector<Instance>& instances);

// Rank rows that cause at least a tenth of all marginal delay.
std::vector<uint32_t> late_rank_rows(const Lateness& lateness);

// seldom: always the same rank, in fewer steps than it takes to call that a habit.
enum class StragglerKind : uint8_t { none, persistent, transient, rotating, seldom };
struct Straggler {
  StragglerKind kind = StragglerKind::none;
  int32_t rank = -1;  // -1: rotating and none
  size_t step = 0;    // transient: row of the step that holds most of it
};
// marginal: per counted step, rank -> ns of marginal delay; empty where nobody was late.
Straggler straggler_kind(const std::vector<std::map<int32_t, TimeNs>>& marginal);

}  // namespace ws
