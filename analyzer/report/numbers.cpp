// Tested by: report_test (numbers_test.cpp).
#include "report/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace ws {
namespace {

int64_t power_of_ten(int n) {
  int64_t p = 1;
  for (int i = 0; i < n; ++i) p *= 10;
  return p;
}

}  // namespace

std::vector<int64_t> rounded_parts(const std::vector<int64_t>& values, int64_t total,
                                   const std::vector<bool>& keep, int64_t digit) {
  double sum = 0;
  for (const int64_t v : values) sum += static_cast<double>(v);
  std::vector<int64_t> out(values.size(), 0);
  if (sum <= 0) return out;
  std::vector<double> error(values.size());  // in the last digit; positive: rounded up
  int64_t left = total;
  for (size_t i = 0; i < values.size(); ++i) {
    const double exact = digit > 0
                             ? static_cast<double>(values[i]) / static_cast<double>(digit)
                             : static_cast<double>(values[i]) / sum * static_cast<double>(total);
    out[i] = std::llround(exact);
    error[i] = static_cast<double>(out[i]) - exact;
    left -= out[i];
  }
  const int64_t step = left > 0 ? 1 : -1;
  const auto burden = [&](size_t i) {
    return std::tuple(bool{keep[i]}, out[i] + step == 0, static_cast<double>(step) * error[i]);
  };
  for (; left != 0; left -= step) {
    size_t best = values.size();
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] == 0 || out[i] + step < 0) continue;
      if (best == values.size() || burden(i) < burden(best)) best = i;
    }
    if (best == values.size()) break;
    out[best] += step;
    error[best] += static_cast<double>(step);
  }
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

std::string gbps_text(double v) {
  if (v < 0.005) return "below 0.01 GB/s";
  return v < 1 ? fmt::format("{:.2f} GB/s", v) : fmt::format("{:.1f} GB/s", v);
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
