#pragma once
// How much of a span the device computes inside the windows. The times that will be asked are given
// beforehand, so that memory is in proportion to them and not to the timeline.
#include <algorithm>
#include <span>
#include <vector>

#include "analysis/counted_steps.h"
#include "analysis/partition.h"

namespace ws {

constexpr bool is_compute(Leaf l) { return l <= Leaf::recompute; }
constexpr bool is_copy(Leaf l) { return l >= Leaf::copy_h2d && l <= Leaf::copy_offload; }

class ComputeCover {
 public:
  ComputeCover(const Timeline& timeline, std::span<const Interval> windows,
               std::vector<TimeNs> times)
      : times_(std::move(times)) {
    std::sort(times_.begin(), times_.end());
    times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
    before_ns_.reserve(times_.size());
    TimeNs sum = 0;
    for (const BusyPart& part : timeline.busy) {
      if (!is_compute(part.leaf) || before_ns_.size() == times_.size()) continue;
      for_each_clip(windows, part.span, [&](size_t, Interval clip) {
        answer(clip, sum);
        sum += clip.length();
      });
    }
    before_ns_.resize(times_.size(), sum);
  }
  // Both ends must be among the times.
  TimeNs covered(Interval span) const { return until(span.end_ns) - until(span.begin_ns); }

 private:
  // Times up to the end of the next stretch of compute; sum: compute before it.
  void answer(Interval stretch, TimeNs sum) {
    for (size_t i = before_ns_.size(); i < times_.size() && times_[i] <= stretch.end_ns; ++i)
      before_ns_.push_back(sum + std::max<TimeNs>(0, times_[i] - stretch.begin_ns));
  }
  TimeNs until(TimeNs t) const {
    const auto at = std::lower_bound(times_.begin(), times_.end(), t) - times_.begin();
    return before_ns_[static_cast<size_t>(at)];
  }
  std::vector<TimeNs> times_, before_ns_;
};

}  // namespace ws
