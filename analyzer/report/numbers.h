#pragma once
// Numbers as printed. Integers decide, so that columns add up and no locale can interfere.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/report.h"

namespace ws {

// Splits `total` over the values in proportion, each rounded to the nearest as percent_text and
// in_unit do. Where the parts do not sum to the total, those nearest to the other side give way,
// one each, and those to `keep` or with nothing left last. A value of 0 stays 0; all 0 when the
// values sum to 0. digit: what one of the total is worth, where the total is itself rounded; 0: the
// sum's share.
std::vector<int64_t> rounded_parts(const std::vector<int64_t>& values, int64_t total,
                                   const std::vector<bool>& keep, int64_t digit = 0);

std::string percent_text(double share);           // 0.4862 -> "48.6 %"
std::string percent_range(double lo, double hi);  // "31.0 to 44.5 %", or one number
std::string tenths(int64_t v);                    // 505 -> "50.5"

// Unit that shows a time of this size with three or four digits.
TimeUnit unit_for(int64_t ns);
std::string in_unit(int64_t ns, const TimeUnit& unit);         // "46.6", rounded half up
std::string shown(int64_t last_digits, const TimeUnit& unit);  // 466 -> "46.6"
std::string duration_text(int64_t ns);                         // "46.6 ms" in its own unit
std::string bytes_text(int64_t bytes);                         // "80.0 GiB", "512 B"
std::string gbps_text(double v);                               // "55.1 GB/s", "0.04 GB/s"
std::string count_text(double v);                              // "12", "0.4", "1834"

}  // namespace ws
