#include "analysis/phrases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

namespace ws {
namespace {

// In the order of Cause; phrases_test holds them against the report's own table.
constexpr std::string_view kCauseWords[] = {"launching kernels one by one",
                                            "host synchronisation",
                                            "input pipeline",
                                            "host pauses (garbage collection)",
                                            "allocator stalls",
                                            "activation recompute",
                                            "offloading to host memory",
                                            "copies of pageable memory",
                                            "EP all-to-all",
                                            "TP collectives",
                                            "DP gradient reduction",
                                            "DP parameter gathering",
                                            "CP exchange",
                                            "PP transfers",
                                            "kernels slowed by communication beside them",
                                            "a slow GPU",
                                            "a slow host",
                                            "uneven expert load",
                                            "pipeline bubble",
                                            "memory-bound kernels",
                                            "matrix multiplication",
                                            "attention",
                                            "kernels of several classes",
                                            "only warm-up was recorded",
                                            "too few steps",
                                            "records were lost",
                                            "CUDA graphs were recorded as a whole",
                                            "the other ranks were not recorded",
                                            "no GPU activity was recorded",
                                            "no single cause"};
static_assert(std::size(kCauseWords) == kCauseCount);

}  // namespace

std::string duration(TimeNs ns) {
  const TimeNs size = std::llabs(ns);
  if (size < 1000) return fmt::format("{} ns", ns);
  // Half goes up, in integers, as in the report's tables.
  const auto shown = [ns](TimeNs unit, TimeNs digits) {
    const TimeNs last = unit / digits;
    const TimeNs v = (std::llabs(ns) + last / 2) / last;
    return fmt::format("{}{}.{:0{}}", ns < 0 ? "-" : "", v / digits, v % digits,
                       digits == 10 ? 1 : 2);
  };
  if (size < 1'000'000) return shown(1'000, 10) + " us";
  if (size < 1'000'000'000) return shown(1'000'000, 10) + " ms";
  return shown(1'000'000'000, 100) + " s";
}

std::string percent(double share) {
  const int64_t v = std::llround(share * 1000);
  return fmt::format("{}{}.{} %", v < 0 ? "-" : "", std::llabs(v) / 10, std::llabs(v) % 10);
}

std::string byte_count(int64_t bytes) {
  const auto v = static_cast<double>(bytes);
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1 << 20) return fmt::format("{:.1f} KiB", v / 1024);
  if (bytes < 1 << 30) return fmt::format("{:.1f} MiB", v / (1 << 20));
  return fmt::format("{:.1f} GiB", v / (1 << 30));
}

std::string_view words_of(Cause cause) { return kCauseWords[static_cast<size_t>(cause)]; }

std::string_view words_of(LossGroup loss) {
  if (loss == LossGroup::useful) return "compute";
  return loss == LossGroup::bubble ? "pipeline bubble" : name_of(loss);
}

std::string words_of(CollectiveOp op) {
  if (op == CollectiveOp::unknown) return "operations not named";
  std::string out(name_of(op));
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

std::string number(double value) {
  const double whole = std::round(value);
  if (std::abs(value - whole) < 0.05) return fmt::format("{:.0f}", whole);
  return fmt::format("{:.1f}", value);
}

}  // namespace ws
