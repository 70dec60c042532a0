#pragma once
// Monospace layout: widths in columns of a terminal, words wrapped at a column.
#include <string>
#include <string_view>
#include <vector>

namespace ws {

inline constexpr size_t kReportColumns = 100;

size_t width_of(std::string_view utf8);  // columns
std::string pad_right(std::string_view s, size_t width);
std::string pad_left(std::string_view s, size_t width);
// Lines of at most `width` columns, broken at blanks; longer words are broken at punctuation if
// they have any. Never empty.
std::vector<std::string> wrap(std::string_view s, size_t width);
// Cells of one column at most `width` wide, so that different ones stay different wherever that can
// be: what they have in common gives way first.
std::vector<std::string> shorten_distinct(const std::vector<std::string>& cells, size_t width);
// The same with pieces that are never broken, one blank apart.
std::vector<std::string> wrap_pieces(const std::vector<std::string>& pieces, size_t width);
// `first` then s, wrapped so that following lines start below s. Ends with a newline.
std::string hanging(std::string_view first, std::string_view s, size_t columns = kReportColumns);
std::string hanging_pieces(std::string_view first, const std::vector<std::string>& pieces,
                           size_t columns = kReportColumns);

}  // namespace ws
