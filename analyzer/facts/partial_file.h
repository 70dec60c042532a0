#pragma once
// The frame around the message of a partial: magic, version, sizes, checksums, zstd. The layout is
// at the top of schemas/partial.proto.
// Tested by: partial_test.cpp, partial_damage_test.cpp
#include <string>
#include <string_view>

#include "base/result.h"

namespace ws::partial {

inline constexpr std::string_view kMagic = "WSP\xA7";
inline constexpr unsigned char kVersion = 1;
inline constexpr size_t kHeaderBytes = 32;
inline constexpr uint64_t kLargestBody = uint64_t{1} << 30;
inline constexpr uint64_t kLargestRatio = 64;  // what compresses further is stored as it is

// "" when the message is larger than kLargestBody.
std::string framed(std::string_view message);
// The message. Errors begin with `place`.
Result<std::string> unframed(std::string_view file, const std::string& place);

// With right checksums and sizes whatever the message is.
std::string stored(std::string_view message);

}  // namespace ws::partial
