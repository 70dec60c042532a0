#include "analysis/phrases.h"

#include <fmt/format.h>

#include <cmath>

namespace ws {

std::string duration(TimeNs ns) {
  const auto v = static_cast<double>(ns);
  if (std::llabs(ns) < 1000) return fmt::format("{} ns", ns);
  if (std::llabs(ns) < 1'000'000) return fmt::format("{:.1f} us", v / 1e3);
  if (std::llabs(ns) < 1'000'000'000) return fmt::format("{:.1f} ms", v / 1e6);
  return fmt::format("{:.2f} s", v / 1e9);
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string byte_count(int64_t bytes) {
  const auto v = static_cast<double>(bytes);
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", v / 1e3);
  if (bytes < 1'000'000'000) return fmt::format("{:.1f} MB", v / 1e6);
  return fmt::format("{:.1f} GB", v / 1e9);
}

std::string number(double value) {
  const double whole = std::round(value);
  if (std::abs(value - whole) < 0.05) return fmt::format("{:.0f}", whole);
  return fmt::format("{:.1f}", value);
}

}  // namespace ws
