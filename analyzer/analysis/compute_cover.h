#pragma once
// How much of a span the device computes: prefix sums over the stretches of compute of a timeline.
#include <algorithm>
#include <vector>

#include "analysis/partition.h"

namespace ws {

constexpr bool is_compute(Leaf l) { return l <= Leaf::recompute; }
constexpr bool is_copy(Leaf l) { return l >= Leaf::copy_h2d && l <= Leaf::copy_offload; }

class ComputeCover {
 public:
  explicit ComputeCover(const Timeline& timeline) {
    TimeNs sum = 0;
    for (const BusyPart& part : timeline.busy) {
      if (!is_compute(part.leaf)) continue;
      if (!stretches_.empty() && stretches_.back().span.end_ns == part.span.begin_ns)
        stretches_.back().span.end_ns = part.span.end_ns;
      else
        stretches_.push_back({part.span, sum});
      sum += part.span.length();
    }
  }
  TimeNs covered(Interval span) const { return until(span.end_ns) - until(span.begin_ns); }

 private:
  struct Stretch {
    Interval span;
    TimeNs before_ns;  // compute before it
  };
  TimeNs until(TimeNs t) const {
    auto after = std::upper_bound(stretches_.begin(), stretches_.end(), t,
                                  [](TimeNs v, const Stretch& s) { return v < s.span.begin_ns; });
    if (after == stretches_.begin()) return 0;
    const Stretch& s = *(after - 1);
    return s.before_ns + std::min(t, s.span.end_ns) - s.span.begin_ns;
  }
  std::vector<Stretch> stretches_;
};

}  // namespace ws
