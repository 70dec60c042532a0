#pragma once
// JSON from outside, read with bounds on size and nesting; keys that come twice are refused.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ws {

// A regular file of at most `limit` bytes.
Result<std::string> read_small_file(const std::string& path, size_t limit);

Result<nlohmann::json> parse_json(std::string_view text, const std::string& place);

inline constexpr size_t kRuleFileLimit = size_t{64} << 10;
inline constexpr size_t kCaseFileLimit = size_t{512} << 10;

}  // namespace ws
