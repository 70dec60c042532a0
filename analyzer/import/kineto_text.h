#pragma once
// What the texts of a trace mean: times, whole numbers, strings with escapes, ranks in file names.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "import/kineto_scan.h"

namespace ws::kineto {

struct Ids {  // as an event names its process and thread
  std::optional<int64_t> pid, tid;
};

// Decimal microseconds to whole nanoseconds, never through double: digits beyond the third are
// dropped. Exponents are read. Nothing when the text is no finite number or beyond +-2^62 ns.
// `finer` is set when the text shows a resolution below 1 us: a digit other than 0 behind the
// point, or more than one digit there (12.0 is how Python prints 12).
// A number all right, which ns_from_us can not hold.
bool is_too_large(std::string_view text);
std::optional<TimeNs> ns_from_us(std::string_view text, bool* finer = nullptr);

// A whole number, also as a string ("41000", "stream 7": the digits at its end). A fraction is
// cut off. Nothing for other texts and beyond int64; 2^63..2^64-1 wrap (thread ids of pthreads).
std::optional<int64_t> whole_number(const Token& token);

// "[0, 1, 2]", "0,1,2" or a JSON array; nothing when an entry is no number ("...").
std::optional<std::vector<int64_t>> number_list(std::string_view text);

// The string with its escapes resolved, as valid UTF-8. An invalid escape keeps its backslash.
// `repaired` is set for those, for raw control bytes and for invalid UTF-8.
std::string unescaped(const Token& token, bool* repaired = nullptr);

// rank12, rank_12, rank-12, worker3, _w0, or a number of up to three digits that stands apart right
// before .pt.trace.json, .json or .json.gz, in the base name.
std::optional<int32_t> rank_in_file_name(std::string_view path);

}  // namespace ws::kineto
