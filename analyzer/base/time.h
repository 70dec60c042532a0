#pragma once
// Time is int64 nanoseconds everywhere; intervals are half-open [begin_ns, end_ns).
#include <cstdint>

namespace ws {
using TimeNs = int64_t;

struct Interval {
  TimeNs begin_ns = 0;
  TimeNs end_ns = 0;
  TimeNs length() const { return end_ns - begin_ns; }
  friend bool operator==(const Interval&, const Interval&) = default;
};
}  // namespace ws
