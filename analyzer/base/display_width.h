#pragma once
// Columns that text takes on a terminal: two for East Asian wide characters and most emoji, none
// for marks that stand on the character before them.
// source: Unicode 15, EastAsianWidth.txt (W and F); ranges over unassigned code points are joined
#include <cstddef>
#include <string_view>

namespace ws {

size_t display_width(std::string_view utf8);
// Bytes of the longest beginning of at most `columns`, in whole characters.
size_t bytes_within(std::string_view utf8, size_t columns);
// Bytes before the longest end of at most `columns`.
size_t bytes_before_last(std::string_view utf8, size_t columns);

}  // namespace ws
