// Tested by: report_test (layout_test.cpp).
#include "report/layout.h"

#include <algorithm>

namespace ws {
namespace {

bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// Bytes of the first `columns` code points.
size_t bytes_of(std::string_view s, size_t columns) {
  size_t i = 0;
  for (size_t seen = 0; i < s.size(); ++i) {
    if (starts_code_point(s[i]) && seen++ == columns) break;
  }
  return i;
}

std::vector<std::string> words_of(std::string_view s) {
  std::vector<std::string> words;
  for (size_t i = 0; i < s.size();) {
    const size_t end = std::min(s.find(' ', i), s.size());
    if (end > i) words.emplace_back(s.substr(i, end - i));
    i = end + 1;
  }
  return words;
}

}  // namespace

size_t width_of(std::string_view utf8) {
  size_t n = 0;
  for (const char c : utf8) n += starts_code_point(c) ? 1 : 0;
  return n;
}

std::string pad_right(std::string_view s, size_t width) {
  std::string out(s);
  const size_t w = width_of(s);
  if (w < width) out.append(width - w, ' ');
  return out;
}

std::string pad_left(std::string_view s, size_t width) {
  const size_t w = width_of(s);
  return std::string(w < width ? width - w : 0, ' ').append(s);
}

std::vector<std::string> wrap_pieces(const std::vector<std::string>& pieces, size_t width) {
  std::vector<std::string> lines(1);
  for (std::string_view piece : pieces) {
    const size_t used = width_of(lines.back());
    const size_t need = width_of(piece) + (used > 0 ? 1 : 0);
    if (used + need <= width) {
      if (used > 0) lines.back() += ' ';
      lines.back() += piece;
      continue;
    }
    if (used > 0) lines.emplace_back();
    while (width_of(piece) > width) {
      const size_t cut = bytes_of(piece, width);
      lines.back() = piece.substr(0, cut);
      lines.emplace_back();
      piece.remove_prefix(cut);
    }
    lines.back() = piece;
  }
  return lines;
}

std::vector<std::string> wrap(std::string_view s, size_t width) {
  return wrap_pieces(words_of(s), width);
}

std::string hanging_pieces(std::string_view first, const std::vector<std::string>& pieces,
                           size_t columns) {
  const size_t indent = width_of(first);
  std::string out;
  for (const std::string& line :
       wrap_pieces(pieces, columns > indent + 20 ? columns - indent : 20)) {
    std::string whole = (out.empty() ? std::string(first) : std::string(indent, ' ')) + line;
    whole.erase(whole.find_last_not_of(' ') + 1);
    out += whole + '\n';
  }
  return out;
}

std::string hanging(std::string_view first, std::string_view s, size_t columns) {
  return hanging_pieces(first, words_of(s), columns);
}

}  // namespace ws
