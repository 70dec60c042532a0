#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "base/time.h"

namespace ws {

// Middle value, for an even count the midpoint of the two middles; reorders values, not empty.
inline TimeNs median_of(std::vector<TimeNs>& values) {
  const auto mid = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), mid, values.end());
  if (values.size() % 2 == 1) return *mid;
  return std::midpoint(*std::max_element(values.begin(), mid), *mid);
}

}  // namespace ws
