#pragma once
// Option values that are more than a word, as plain functions of their text.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace ws::cli {

// "3:7" (both included) or "5".
Result<std::pair<int64_t, int64_t>> parse_steps(const std::string& text);

// The same, or with the name that reports print: "ProfilerStep#15", "ProfilerStep#3:7".
struct StepsAsked {
  std::pair<int64_t, int64_t> steps;
  std::string stem;  // "ProfilerStep#"; empty: by number alone
};
Result<StepsAsked> parse_named_steps(const std::string& text);

// "0,3-5": sorted, each once.
Result<std::vector<int32_t>> parse_ranks(const std::string& text);
// Back again, of sorted ranks: "0,3-5".
std::string ranks_text(const std::vector<int32_t>& ranks);

// "A:B", half-open. Plain numbers are ns of the source's clock, as the reports print them; with a
// unit (ns us ms s, at both ends) the time since the first record.
struct TimeRange {
  Interval span;
  bool since_first_record = false;
};
Result<TimeRange> parse_time(const std::string& text);

}  // namespace ws::cli
