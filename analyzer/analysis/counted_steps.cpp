#include "analysis/counted_steps.h"

namespace ws {

std::vector<size_t> counted_steps(const std::vector<Step>& steps) {
  std::vector<size_t> steady, complete, all;
  for (size_t i = 0; i < steps.size(); ++i) {
    all.push_back(i);
    if (steps[i].complete) complete.push_back(i);
    if (steps[i].complete && steps[i].steady) steady.push_back(i);
  }
  return !steady.empty() ? steady : !complete.empty() ? complete : all;
}

std::vector<Interval> windows_of(const std::vector<Step>& steps, const std::vector<size_t>& rows) {
  std::vector<Interval> out;
  out.reserve(rows.size());
  for (size_t row : rows) out.push_back(steps[row].window);
  return out;
}

TimeNs quantile(std::vector<TimeNs>& values, int64_t numerator, int64_t denominator) {
  if (values.empty()) return 0;
  const auto n = static_cast<int64_t>(values.size());
  // Written so that n * numerator can not overflow for any vector that fits in memory.
  const int64_t place = std::max<int64_t>(1, (n * numerator + denominator - 1) / denominator);
  const auto at = values.begin() + (place - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace ws
