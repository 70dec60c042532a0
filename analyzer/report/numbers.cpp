// Tested by: report_test (numbers_test.cpp).
#include "report/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ws {
namespace {

int64_t power_of_ten(int n) {
  int64_t p = 1;
  for (int i = 0; i < n; ++i) p *= 10;
  return p;
}

}  // namespace

std::vector<int64_t> proportional(const std::vector<int64_t>& values, int64_t total) {
  __extension__ typedef __int128 Wide;
  std::vector<int64_t> out(values.size(), 0);
  Wide sum = 0;
  for (int64_t v : values) sum += v;
  if (sum <= 0) return out;
  std::vector<Wide> rest(values.size());
  int64_t left = total;
  for (size_t i = 0; i < values.size(); ++i) {
    const Wide product = Wide{values[i]} * total;
    out[i] = static_cast<int64_t>(product / sum);
    rest[i] = product % sum;
    left -= out[i];
  }
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return rest[a] > rest[b]; });
  for (size_t i = 0; i < order.size() && left > 0; ++i, --left) ++out[order[i]];
  return out;
}

std::string tenths(int64_t v) {
  return fmt::format("{}{}.{}", v < 0 ? "-" : "", std::abs(v) / 10, std::abs(v) % 10);
}

std::string percent_text(double share) { return tenths(std::llround(share * 1000)) + " %"; }

std::string percent_range(double lo, double hi) {
  const int64_t a = std::llround(lo * 1000), b = std::llround(hi * 1000);
  if (a == b) return tenths(a) + " %";
  return tenths(a) + " to " + tenths(b) + " %";
}

TimeUnit unit_for(int64_t ns) {
  const int64_t size = std::abs(ns);
  if (size >= 100'000'000'000) return {"s", 1'000'000'000, 1};
  if (size >= 1'000'000'000) return {"s", 1'000'000'000, 3};
  if (size >= 10'000'000) return {"ms", 1'000'000, 1};
  if (size >= 1'000'000) return {"ms", 1'000'000, 2};
  if (size >= 100'000) return {"us", 1'000, 0};
  if (size >= 1'000) return {"us", 1'000, 1};
  return {"ns", 1, 0};
}

std::string shown(int64_t last_digits, const TimeUnit& unit) {
  const int64_t scale = power_of_ten(unit.decimals);
  const int64_t v = std::abs(last_digits);
  const std::string sign = last_digits < 0 ? "-" : "";
  if (unit.decimals == 0) return fmt::format("{}{}", sign, v);
  return fmt::format("{}{}.{:0{}}", sign, v / scale, v % scale, unit.decimals);
}

std::string in_unit(int64_t ns, const TimeUnit& unit) {
  const int64_t digit_ns = unit.ns / power_of_ten(unit.decimals);
  const int64_t half = ns < 0 ? -digit_ns / 2 : digit_ns / 2;
  return shown((ns + half) / digit_ns, unit);
}

std::string duration_text(int64_t ns) {
  const TimeUnit unit = unit_for(ns);
  return in_unit(ns, unit) + ' ' + unit.name;
}

std::string bytes_text(int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  if (std::abs(bytes) < 1024) return fmt::format("{} B", bytes);
  auto v = static_cast<double>(bytes);
  size_t i = 0;
  while (std::abs(v) >= 1024 && i + 1 < std::size(kUnits)) {
    v /= 1024;
    ++i;
  }
  return fmt::format("{:.1f} {}", v, kUnits[i]);
}

std::string count_text(double v) {
  if (std::abs(v) >= 100 || v == std::floor(v)) return fmt::format("{:.0f}", v);
  return fmt::format("{:.1f}", v);
}

}  // namespace ws
