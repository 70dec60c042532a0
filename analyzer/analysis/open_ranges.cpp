// Tested by: recompute_test.cpp, offload_test.cpp
#include "analysis/open_ranges.h"

#include <algorithm>

namespace ws {

void Stretches::append(TimeNs begin_ns, TimeNs end_ns) {
  if (end_ns <= begin_ns) return;
  if (!spans_.empty() && spans_.back().end_ns >= begin_ns) {
    spans_.back().end_ns = std::max(spans_.back().end_ns, end_ns);
  } else {
    spans_.push_back({begin_ns, end_ns});
  }
}

bool Stretches::contains(TimeNs t) const {
  const auto after = std::upper_bound(spans_.begin(), spans_.end(), t,
                                      [](TimeNs v, const Interval& s) { return v < s.begin_ns; });
  return after != spans_.begin() && t < std::prev(after)->end_ns;
}

Stretches Stretches::union_of(std::vector<Interval> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
  Stretches out;
  for (const Interval& s : spans) out.append(s.begin_ns, s.end_ns);
  return out;
}

}  // namespace ws
