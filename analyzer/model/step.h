#pragma once
#include <array>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/names.h"

namespace ws {

// One step of one device: a window; windows of a device tile (device windows) or are the ranges
// themselves (host windows).
struct Step {
  int64_t index = 0;  // number in the name (ProfilerStep#7 -> 7), else 0, 1, 2 ...
  std::string name;   // "ProfilerStep#7", "step 3"; printable
  Interval window;
  bool complete = true;  // false: cut by the recording or its faults
  bool steady = true;    // counted in the means
  bool outlier = false;
  std::string why_left_out;  // "first of several", "profiler overhead", ... when not steady
  bool warm = false;         // steps before it were recorded but not selected: not a warm-up
};

// Exclusive and exhaustive: the leaves sum to the window, always.
struct Breakdown {
  std::array<TimeNs, kLeafCount> ns{};
  TimeNs& operator[](Leaf l) { return ns[static_cast<size_t>(l)]; }
  TimeNs operator[](Leaf l) const { return ns[static_cast<size_t>(l)]; }
  TimeNs total() const {
    TimeNs sum = 0;
    for (TimeNs v : ns) sum += v;
    return sum;
  }
  void add(const Breakdown& other) {
    for (size_t i = 0; i < ns.size(); ++i) ns[i] += other.ns[i];
  }
};

}  // namespace ws
