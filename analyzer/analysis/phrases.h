#pragma once
// Numbers as the verdict's sentences print them.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "model/names.h"

namespace ws {

std::string duration(TimeNs ns);        // "8.0 us", "44.1 ms", "1.56 s"
std::string percent(double share);      // 0.6252 -> "62.5 %"
std::string byte_count(int64_t bytes);  // "128.0 MiB", as in the report's tables
std::string number(double value);       // "600", "2.5"

// Names as a sentence says them: "input pipeline", "pipeline bubble", "all-reduce".
std::string_view words_of(Cause cause);
std::string_view words_of(LossGroup loss);
std::string words_of(CollectiveOp op);

constexpr double ratio(int64_t a, int64_t b) {
  return b == 0 ? 0.0 : static_cast<double>(a) / static_cast<double>(b);
}

}  // namespace ws
