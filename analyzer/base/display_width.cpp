// Tested by: text_test.cpp
#include "base/display_width.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace ws {
namespace {

struct Range {
  uint32_t first, last;
};
constexpr Range kWide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},
    {0x23f0, 0x23f0},   {0x23f3, 0x23f3},   {0x25fd, 0x25fe},   {0x2614, 0x2615},
    {0x2648, 0x2653},   {0x267f, 0x267f},   {0x2693, 0x2693},   {0x26a1, 0x26a1},
    {0x26aa, 0x26ab},   {0x26bd, 0x26be},   {0x26c4, 0x26c5},   {0x26ce, 0x26ce},
    {0x26d4, 0x26d4},   {0x26ea, 0x26ea},   {0x26f2, 0x26f3},   {0x26f5, 0x26f5},
    {0x26fa, 0x26fa},   {0x26fd, 0x26fd},   {0x2705, 0x2705},   {0x270a, 0x270b},
    {0x2728, 0x2728},   {0x274c, 0x274c},   {0x274e, 0x274e},   {0x2753, 0x2755},
    {0x2757, 0x2757},   {0x2795, 0x2797},   {0x27b0, 0x27b0},   {0x27bf, 0x27bf},
    {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2b55, 0x2b55},   {0x2e80, 0x303e},
    {0x3041, 0x3247},   {0x3250, 0x4dbf},   {0x4e00, 0xa4c6},   {0xa960, 0xa97c},
    {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6b},
    {0xff01, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18d08}, {0x1aff0, 0x1b2fb},
    {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a},
    {0x1f200, 0x1f320}, {0x1f32d, 0x1f335}, {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393},
    {0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3}, {0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4},
    {0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440}, {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d},
    {0x1f54b, 0x1f54e}, {0x1f550, 0x1f567}, {0x1f57a, 0x1f57a}, {0x1f595, 0x1f596},
    {0x1f5a4, 0x1f5a4}, {0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f6cc, 0x1f6cc},
    {0x1f6d0, 0x1f6d2}, {0x1f6d5, 0x1f6df}, {0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc},
    {0x1f7e0, 0x1f7f0}, {0x1f90c, 0x1f93a}, {0x1f93c, 0x1f945}, {0x1f947, 0x1f9ff},
    {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};
constexpr Range kNone[] = {  // combining marks, variation selectors, joiners
    {0x300, 0x36f},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x20d0, 0x20ff},
    {0x302a, 0x302d}, {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef}};

template <size_t N>
bool is_in(const Range (&table)[N], uint32_t point) {
  const auto* after = std::upper_bound(std::begin(table), std::end(table), point,
                                       [](uint32_t p, const Range& r) { return p < r.first; });
  return after != std::begin(table) && point <= std::prev(after)->last;
}

struct Character {
  size_t bytes = 1, columns = 1;
};

// At s[i], a byte of valid UTF-8; other bytes count as one each.
Character character_at(std::string_view s, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(s[k]); };
  const unsigned char c = byte(i);
  if (c < 0xc2) return {};
  const size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
  if (i + n > s.size()) return {};
  uint32_t point = c & (0xffu >> (n + 1));
  for (size_t k = 1; k < n; ++k) {
    if ((byte(i + k) & 0xc0) != 0x80) return {};
    point = (point << 6) | (byte(i + k) & 0x3f);
  }
  if (point < kNone[0].first) return {n, 1};
  return {n, is_in(kNone, point) ? size_t{0} : is_in(kWide, point) ? size_t{2} : size_t{1}};
}

}  // namespace

size_t display_width(std::string_view utf8) {
  size_t columns = 0;
  for (size_t i = 0; i < utf8.size();) {
    const Character c = character_at(utf8, i);
    columns += c.columns;
    i += c.bytes;
  }
  return columns;
}

size_t bytes_within(std::string_view utf8, size_t columns) {
  size_t i = 0;
  for (size_t used = 0; i < utf8.size();) {
    const Character c = character_at(utf8, i);
    if (used + c.columns > columns) break;
    used += c.columns;
    i += c.bytes;
  }
  return i;
}

size_t bytes_before_last(std::string_view utf8, size_t columns) {
  const size_t all = display_width(utf8);
  if (all <= columns) return 0;
  size_t i = 0;
  for (size_t used = 0; i < utf8.size() && all - used > columns;) {
    const Character c = character_at(utf8, i);
    used += c.columns;
    i += c.bytes;
  }
  return i;
}

}  // namespace ws
