// Tested by: report_test (layout_test.cpp).
#include "report/layout.h"

#include <algorithm>
#include <map>

#include "base/display_width.h"
#include "base/text.h"

namespace ws {
namespace {

bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// What stands between two columns, in whole characters.
std::string_view points(std::string_view s, size_t from, size_t to) {
  const size_t a = bytes_before_last(s, width_of(s) - std::min(from, width_of(s)));
  return s.substr(a, std::max(bytes_within(s, to), a) - a);
}

// Where to break a word that is longer than a line: behind punctuation in its second half.
size_t break_in(std::string_view word, size_t width) {
  size_t most = bytes_within(word, width);
  if (most == 0) most = bytes_within(word, 2);  // one character is wider than the line
  if (most == 0) most = word.size();
  for (size_t cut = most; cut > most / 2; --cut)
    if (std::string_view("(,=/;:|&.-_").find(word[cut - 1]) != std::string_view::npos) return cut;
  return most;
}

size_t common_points(const std::vector<std::string_view>& cells) {
  size_t bytes = cells.front().size();
  for (const std::string_view c : cells) {
    const auto end =
        std::mismatch(c.begin(), c.begin() + static_cast<std::ptrdiff_t>(std::min(bytes, c.size())),
                      cells.front().begin())
            .first;
    bytes = static_cast<size_t>(end - c.begin());
  }
  while (bytes > 0 && bytes < cells.front().size() && !starts_code_point(cells.front()[bytes]))
    --bytes;
  return width_of(cells.front().substr(0, bytes));
}

// The beginning, and what stands around the code point `at`.
std::string shorten_around(std::string_view s, size_t at, size_t width) {
  constexpr size_t kContext = 12;
  const size_t count = width_of(s), head = width / 3;
  if (count <= width || width < 12) return shorten_middle(s, width);
  if (at + 7 <= width) return shorten(s, width);
  const size_t room = width - head - 3;
  size_t start = at;  // the word in which they differ, as far as there is room for it
  while (start > 0 && at - start < std::min(kContext, room / 3) &&
         std::string_view("_:<(, ").find(points(s, start - 1, start)) == std::string_view::npos)
    --start;
  start = std::min(start, count - room);
  const bool cut = start + room < count;
  const bool joined = start <= head + 3;
  std::string out(points(s, 0, joined ? start : head));
  if (!joined) out += "...";
  const size_t used = width_of(out);
  if (!cut && count - start + used <= width) return out + std::string(points(s, start, count));
  return out + std::string(points(s, start, start + width - used - 3)) + "...";
}

}  // namespace

size_t width_of(std::string_view utf8) { return display_width(utf8); }

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
      const size_t cut = break_in(piece, width);
      lines.back() = piece.substr(0, cut);
      lines.emplace_back();
      piece.remove_prefix(cut);
    }
    lines.back() = piece;
  }
  return lines;
}

std::vector<std::string> shorten_distinct(const std::vector<std::string>& cells, size_t width) {
  constexpr int kPasses = 4;  // one per place at which names that look alike differ
  std::vector<std::string> out;
  out.reserve(cells.size());
  for (const std::string& c : cells) out.push_back(shorten_middle(c, width));
  for (int pass = 0; pass < kPasses; ++pass) {
    std::map<std::string, std::vector<size_t>> alike;
    for (size_t i = 0; i < cells.size(); ++i) alike[out[i]].push_back(i);
    for (const auto& [text, rows] : alike) {
      std::vector<std::string_view> names;
      for (const size_t i : rows) names.emplace_back(cells[i]);
      const size_t at = common_points(names);
      if (std::all_of(names.begin(), names.end(), [&](auto n) { return n == names.front(); }))
        continue;
      for (const size_t i : rows) out[i] = shorten_around(cells[i], at, width);
    }
  }
  return out;
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
