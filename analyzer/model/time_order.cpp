// Rows come as a few sorted tables one after the other (kernels, copies, fills), so the order is
// made by merging the runs that are there: linear for sorted input, n log(runs) else.
// Tested by: time_order_test.cpp
#include "model/time_order.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace ws {

std::vector<uint32_t> time_order(const std::vector<TimeNs>& begin_ns,
                                 const std::vector<TimeNs>& end_ns, bool nested) {
  const auto less = [&](uint32_t a, uint32_t b) {
    if (begin_ns[a] != begin_ns[b]) return begin_ns[a] < begin_ns[b];
    if (nested && end_ns[a] != end_ns[b]) return end_ns[a] > end_ns[b];
    return a < b;
  };
  std::vector<size_t> runs = {0};  // first row of each, and one past the last
  for (uint32_t i = 1; i < begin_ns.size(); ++i) {
    if (less(i, i - 1)) runs.push_back(i);
  }
  if (runs.size() == 1) return {};
  runs.push_back(begin_ns.size());
  std::vector<uint32_t> order(begin_ns.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto at = [&](size_t run) {
    return order.begin() + static_cast<std::ptrdiff_t>(runs[run]);
  };
  if (runs.size() > order.size() / 16 + 3) {  // hardly any order: sorting is cheaper
    std::sort(order.begin(), order.end(), less);
    return order;
  }
  while (runs.size() > 2) {  // neighbours in pairs
    std::vector<size_t> merged;
    for (size_t run = 0; run + 1 < runs.size(); run += 2) {
      merged.push_back(runs[run]);
      if (run + 2 < runs.size()) std::inplace_merge(at(run), at(run + 1), at(run + 2), less);
    }
    merged.push_back(runs.back());
    runs = std::move(merged);
  }
  return order;
}

}  // namespace ws
