// Tested by: report_test (escape_test.cpp), tests/cli (hostile names end to end).
#include "report/escape.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"

namespace ws {
namespace {

// What has no width, or turns the direction of what follows, or breaks lines: a name could look
// like another one. The format characters of Unicode and its invisible fillers.
struct Unseen {
  char32_t first, last;
};
constexpr Unseen kUnseen[] = {
    {0xad, 0xad},     {0x34f, 0x34f},   {0x61c, 0x61c},     {0x115f, 0x1160},
    {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
    {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};

// One code point of valid UTF-8 and its bytes.
std::pair<char32_t, size_t> code_point(std::string_view s) {
  const auto first = static_cast<unsigned char>(s[0]);
  const size_t bytes = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  char32_t out = bytes == 1 ? first : first & (0xffU >> (bytes + 1));
  for (size_t i = 1; i < bytes && i < s.size(); ++i)
    out = out << 6 | (static_cast<unsigned char>(s[i]) & 0x3fU);
  return {out, std::min(bytes, s.size())};
}

bool is_unseen(char32_t c) {
  return std::any_of(std::begin(kUnseen), std::end(kUnseen),
                     [&](const Unseen& u) { return c >= u.first && c <= u.last; });
}

}  // namespace

std::string escape_text(std::string_view s) {
  const std::string line = one_line(to_utf8(s));
  std::string out;
  out.reserve(line.size());
  for (size_t i = 0; i < line.size();) {
    const auto [point, bytes] = code_point(std::string_view(line).substr(i));
    if (is_unseen(point)) {
      out += '?';
    } else {
      out.append(line, i, bytes);
    }
    i += bytes;
  }
  return out;
}

std::string escape_markdown(std::string_view s) {
  std::string out;
  for (const char c : escape_text(s)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '|':
      case '`':
      case '\\':
      case '*':
      case '_':
      case '[':
      case ']':
      case '~':
      case '#':
      case '!':
        out += '\\';
        [[fallthrough]];
      default:
        out += c;
    }
  }
  return out;
}

std::string markdown_code(std::string_view s) {
  const std::string text = escape_text(s);
  if (text.empty() || text.find_first_of("`|\\") != std::string::npos) return escape_markdown(text);
  return '`' + text + '`';
}

}  // namespace ws
