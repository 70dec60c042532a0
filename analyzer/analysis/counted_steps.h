#pragma once
// The steps that means and counts are taken over, and the one way to walk records against them.
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/ids.h"
#include "model/step.h"
#include "model/trace.h"

namespace ws {

// Rows of the steady steps; without any the complete ones, without these all of them.
std::vector<size_t> counted_steps(const std::vector<Step>& steps);
std::vector<Interval> windows_of(const std::vector<Step>& steps, const std::vector<size_t>& rows);

inline constexpr size_t kNoWindow = static_cast<size_t>(-1);

// Which window holds t; asked with times that do not decrease, so a whole walk is linear.
class WindowWalk {
 public:
  explicit WindowWalk(std::span<const Interval> windows) : windows_(windows) {}
  size_t at(TimeNs t) {
    while (next_ < windows_.size() && windows_[next_].end_ns <= t) ++next_;
    return next_ < windows_.size() && windows_[next_].begin_ns <= t ? next_ : kNoWindow;
  }

 private:
  std::span<const Interval> windows_;
  size_t next_ = 0;
};

// f(window row, part) for what of span lies in windows (sorted, not overlapping).
template <class F>
void for_each_clip(std::span<const Interval> windows, Interval span, F f) {
  size_t lo = 0, hi = windows.size();
  while (lo < hi) {  // first window that ends after span begins
    const size_t mid = (lo + hi) / 2;
    if (windows[mid].end_ns <= span.begin_ns)
      lo = mid + 1;
    else
      hi = mid;
  }
  for (; lo < windows.size() && windows[lo].begin_ns < span.end_ns; ++lo) {
    const Interval part{std::max(span.begin_ns, windows[lo].begin_ns),
                        std::min(span.end_ns, windows[lo].end_ns)};
    if (part.length() > 0) f(lo, part);
  }
}

template <class F>
void for_each_op(const Trace& trace, DeviceId device, F f) {
  for (uint32_t op : trace.ops_by_device[row(device)]) f(op);
}

// Nearest-rank quantile, exact; reorders values. 0 for none.
TimeNs quantile(std::vector<TimeNs>& values, int64_t numerator, int64_t denominator);

// a / b to the nearest integer, halves away from zero.
constexpr int64_t rounded(int64_t a, int64_t b) {
  return a >= 0 ? (a + b / 2) / b : -((-a + b / 2) / b);
}

}  // namespace ws
