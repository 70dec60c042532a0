#pragma once
// Monospace layout: widths in code points, words wrapped at a column.
#include <string>
#include <string_view>
#include <vector>

namespace ws {

inline constexpr size_t kReportColumns = 100;

size_t width_of(std::string_view utf8);  // code points
std::string pad_right(std::string_view s, size_t width);
std::string pad_left(std::string_view s, size_t width);
// Lines of at most `width` columns, broken at blanks; longer words are cut. Never empty.
std::vector<std::string> wrap(std::string_view s, size_t width);
// The same with pieces that are never broken, one blank apart.
std::vector<std::string> wrap_pieces(const std::vector<std::string>& pieces, size_t width);
// `first` then s, wrapped so that following lines start below s. Ends with a newline.
std::string hanging(std::string_view first, std::string_view s, size_t columns = kReportColumns);
std::string hanging_pieces(std::string_view first, const std::vector<std::string>& pieces,
                           size_t columns = kReportColumns);

}  // namespace ws
