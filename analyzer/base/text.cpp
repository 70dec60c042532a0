#include "base/text.h"

#include <algorithm>

#include "base/display_width.h"

namespace ws {
namespace {

// Length of the valid UTF-8 sequence at s[i], 0 when invalid (overlong, surrogate, cut, >
// U+10FFFF).
size_t sequence_length(std::string_view s, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(s[k]); };
  const unsigned char c = byte(i);
  if (c < 0x80) return 1;
  const size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
  if (c < 0xc2 || c > 0xf4 || i + n > s.size()) return 0;
  for (size_t k = 1; k < n; ++k) {
    if ((byte(i + k) & 0xc0) != 0x80) return 0;
  }
  const unsigned char d = byte(i + 1);
  if ((c == 0xe0 && d < 0xa0) || (c == 0xed && d > 0x9f) || (c == 0xf0 && d < 0x90) ||
      (c == 0xf4 && d > 0x8f)) {
    return 0;
  }
  return n;
}

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

}  // namespace

std::string to_utf8(std::string_view bytes, int64_t* repaired) {
  std::string out;
  out.reserve(bytes.size());
  bool changed = false;
  for (size_t i = 0; i < bytes.size();) {
    const size_t n = sequence_length(bytes, i);
    if (n == 0) {
      out += "\xef\xbf\xbd";
      changed = true;
      ++i;
    } else if (bytes[i] == '\0') {
      changed = true;
      ++i;
    } else {
      out.append(bytes, i, n);
      i += n;
    }
  }
  if (changed && repaired != nullptr) ++*repaired;
  return out;
}

std::string one_line(std::string_view utf8) {
  std::string out;
  out.reserve(utf8.size());
  for (size_t i = 0; i < utf8.size(); ++i) {
    const auto c = static_cast<unsigned char>(utf8[i]);
    if (c == '\n' || c == '\t' || c == '\r' || c == ' ') {
      if (out.empty() || out.back() != ' ') out += ' ';
    } else if (c < 0x20 || c == 0x7f) {
      out += '?';
    } else if (c == 0xc2 && i + 1 < utf8.size() && static_cast<unsigned char>(utf8[i + 1]) < 0xa0) {
      out += '?';  // C1 control characters
      ++i;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out;
}

std::string shorten(std::string_view utf8, size_t columns) {
  if (display_width(utf8) <= columns) return std::string(utf8);
  return std::string(utf8.substr(0, bytes_within(utf8, columns > 3 ? columns - 3 : 0))) + "...";
}

std::string shorten_middle(std::string_view utf8, size_t columns) {
  if (display_width(utf8) <= columns) return std::string(utf8);
  const size_t kept = columns > 3 ? columns - 3 : 0;
  const size_t tail = kept / 3;
  return std::string(utf8.substr(0, bytes_within(utf8, kept - tail))) + "..." +
         std::string(utf8.substr(bytes_before_last(utf8, tail)));
}

std::string lower_ascii(std::string_view s) {
  std::string out(s);
  std::transform(out.begin(), out.end(), out.begin(), small);
  return out;
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return small(x) == small(y); });
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

}  // namespace ws
