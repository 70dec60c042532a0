// Tested by: kineto_text_test.cpp
#include "import/kineto_text.h"

#include <algorithm>

#include "base/text.h"

namespace ws::kineto {
namespace {

constexpr TimeNs kTimeLimit = (TimeNs{1} << 62) - 1;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Appends one digit; false when the value leaves the range of times.
bool push_digit(int64_t& value, char digit) {
  const int64_t n = digit - '0';
  if (value > (kTimeLimit - n) / 10) return false;
  value = value * 10 + n;
  return true;
}

// "12.34e5": digits with the point moved. Slow, and rare in real files.
std::optional<int64_t> shifted_decimal(std::string_view mantissa, int64_t shift) {
  int64_t value = 0;
  bool point = false;
  for (char c : mantissa) {
    if (c == '.') {
      point = true;
      continue;
    }
    if (point && shift <= 0) break;  // below 1 ns
    shift -= point ? 1 : 0;
    if (!push_digit(value, c)) return std::nullopt;
  }
  for (; shift < 0 && value > 0; ++shift) value /= 10;
  if (value == 0) return 0;
  for (; shift > 0; --shift) {
    if (!push_digit(value, '0')) return std::nullopt;
  }
  return value;
}

std::optional<int64_t> exponent_of(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.empty() || text.size() > 4) return std::nullopt;
  int64_t value = 0;
  for (char c : text) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

void append_utf8(std::string& out, uint32_t code) {
  const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6)), put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12)), put(0x80 | ((code >> 6) & 0x3f)), put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | (code >> 18)), put(0x80 | ((code >> 12) & 0x3f));
    put(0x80 | ((code >> 6) & 0x3f)), put(0x80 | (code & 0x3f));
  }
}

std::optional<uint32_t> four_hex_digits(std::string_view s) {
  if (s.size() < 4) return std::nullopt;
  uint32_t value = 0;
  for (char c : s.substr(0, 4)) {
    const char l = static_cast<char>(c | 0x20);
    if (!is_digit(c) && (l < 'a' || l > 'f')) return std::nullopt;
    value = value * 16 + static_cast<uint32_t>(is_digit(c) ? c - '0' : l - 'a' + 10);
  }
  return value;
}

// One escape at s[0] == '\\'; returns the length of its text, 0 when it is none.
size_t resolve_escape(std::string_view s, std::string& out) {
  if (s.size() < 2) return 0;
  switch (s[1]) {
    case '"':
    case '\\':
    case '/':
      out += s[1];
      return 2;
    case 'b':
      out += '\b';
      return 2;
    case 'f':
      out += '\f';
      return 2;
    case 'n':
      out += '\n';
      return 2;
    case 'r':
      out += '\r';
      return 2;
    case 't':
      out += '\t';
      return 2;
    default:
      break;
  }
  if (s[1] != 'u') return 0;
  const std::optional<uint32_t> first = four_hex_digits(s.substr(2));
  if (!first) return 0;
  if (*first >= 0xd800 && *first < 0xdc00 && s.size() >= 12 && s[6] == '\\' && s[7] == 'u') {
    const std::optional<uint32_t> second = four_hex_digits(s.substr(8));
    if (second && *second >= 0xdc00 && *second < 0xe000) {
      append_utf8(out, 0x10000 + ((*first - 0xd800) << 10) + (*second - 0xdc00));
      return 12;
    }
  }
  append_utf8(out, *first);  // a lone surrogate: to_utf8 replaces it
  return 6;
}

// The number that starts at s[at], when it has one to five digits.
std::optional<int32_t> number_at(std::string_view s, size_t at) {
  size_t end = at;
  int32_t value = 0;
  while (end < s.size() && is_digit(s[end]) && end - at < 6) value = value * 10 + (s[end++] - '0');
  if (end == at || end - at > 5) return std::nullopt;
  return value;
}

std::optional<int32_t> number_behind(std::string_view name, std::string_view word) {
  for (size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    const bool inside_word = at > 0 && name[at - 1] >= 'a' && name[at - 1] <= 'z' && word[0] != '_';
    size_t digits = at + word.size();
    if (digits < name.size() && (name[digits] == '_' || name[digits] == '-')) ++digits;
    if (const auto n = number_at(name, digits); n && !inside_word) return n;
  }
  return std::nullopt;
}

}  // namespace

std::optional<TimeNs> ns_from_us(std::string_view text, bool* finer) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  int64_t value = 0;
  size_t i = 0;
  for (; i < text.size() && is_digit(text[i]); ++i) {
    if (!push_digit(value, text[i])) break;
  }
  if (i == 0) return std::nullopt;
  size_t fraction_end = i;
  int kept = 0;
  if (i < text.size() && text[i] == '.') {
    bool nonzero = false;
    for (fraction_end = i + 1; fraction_end < text.size() && is_digit(text[fraction_end]);
         ++fraction_end) {
      nonzero = nonzero || text[fraction_end] != '0';
    }
    if (finer != nullptr && (nonzero || fraction_end - i > 2)) *finer = true;
    for (size_t k = i + 1; k < fraction_end && kept < 3; ++k, ++kept) {
      if (!push_digit(value, text[k])) return std::nullopt;
    }
  }
  if (fraction_end < text.size()) {  // an exponent, or more digits than fit
    const size_t e = text.find_first_of("eE");
    if (e == std::string_view::npos || e == 0) return std::nullopt;
    for (char c : text.substr(0, e)) {
      if (!is_digit(c) && c != '.') return std::nullopt;
    }
    const auto exponent = exponent_of(text.substr(e + 1));
    if (!exponent) return std::nullopt;
    const auto shifted = shifted_decimal(text.substr(0, e), *exponent + 3);
    if (!shifted) return std::nullopt;
    return negative ? -*shifted : *shifted;
  }
  for (; kept < 3; ++kept) {
    if (!push_digit(value, '0')) return std::nullopt;
  }
  return negative ? -value : value;
}

bool is_too_large(std::string_view text) {
  if (!text.empty() && text[0] == '-') text.remove_prefix(1);
  const size_t e = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, e);
  if (mantissa.empty() || !is_digit(mantissa[0]) ||
      mantissa.find_first_not_of("0123456789.") != std::string_view::npos ||
      std::count(mantissa.begin(), mantissa.end(), '.') > 1)
    return false;
  if (e < text.size() && text.size() - e <= 5 && !exponent_of(text.substr(e + 1))) return false;
  return !ns_from_us(text, nullptr);
}

std::optional<int64_t> whole_number(const Token& token) {
  if (token.kind != Token::Kind::word && token.kind != Token::Kind::string) return std::nullopt;
  std::string_view text = token.text();
  bool negative = false;
  if (token.kind == Token::Kind::string) {
    size_t begin = text.size();
    while (begin > 0 && is_digit(text[begin - 1])) --begin;
    negative = begin == 1 && text[0] == '-';
    text.remove_prefix(begin);
  } else if (!text.empty() && text[0] == '-') {
    negative = true;
    text.remove_prefix(1);
  }
  uint64_t value = 0;
  size_t i = 0;
  for (; i < text.size() && is_digit(text[i]); ++i) {
    const auto digit = static_cast<uint64_t>(text[i] - '0');
    if (value > (UINT64_MAX - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  if (i == 0 || (i < text.size() && text[i] != '.')) return std::nullopt;
  if (negative && value > uint64_t{1} << 63) return std::nullopt;
  return static_cast<int64_t>(negative ? uint64_t{0} - value : value);
}

std::optional<std::vector<int64_t>> number_list(std::string_view text) {
  std::vector<int64_t> out;
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && (blank(text[0]) || text[0] == '[')) text.remove_prefix(1);
  while (!text.empty() && (blank(text.back()) || text.back() == ']')) text.remove_suffix(1);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view entry = text.substr(0, comma);
    while (!entry.empty() && blank(entry[0])) entry.remove_prefix(1);
    while (!entry.empty() && blank(entry.back())) entry.remove_suffix(1);
    Token token;
    token.data = entry.data(), token.size = entry.size(), token.kind = Token::Kind::word;
    const auto n = whole_number(token);
    if (!n) return std::nullopt;
    out.push_back(*n);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

std::string unescaped(const Token& token, bool* repaired) {
  const std::string_view raw = token.text();
  std::string out;
  bool changed = std::any_of(raw.begin(), raw.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (!token.escaped) {
    out = raw;
  } else {
    out.reserve(raw.size());
    for (size_t i = 0; i < raw.size();) {
      const size_t n = raw[i] == '\\' ? resolve_escape(raw.substr(i), out) : 0;
      if (n == 0) {
        changed = changed || raw[i] == '\\';
        out += raw[i];
      }
      i += n == 0 ? 1 : n;
    }
  }
  int64_t invalid = 0;
  out = to_utf8(out, &invalid);
  if (repaired != nullptr && (changed || invalid > 0)) *repaired = true;
  return out;
}

std::optional<int32_t> rank_in_file_name(std::string_view path) {
  std::string name(path.substr(path.rfind('/') + 1));
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  for (std::string_view word : {"rank", "worker", "_w"}) {
    if (const auto n = number_behind(name, word)) return n;
  }
  std::string_view stem = name;
  for (std::string_view ending : {".gz", ".json", ".trace", ".pt"}) {
    if (stem.size() > ending.size() && stem.substr(stem.size() - ending.size()) == ending) {
      stem.remove_suffix(ending.size());
    }
  }
  size_t begin = stem.size();
  while (begin > 0 && is_digit(stem[begin - 1])) --begin;
  const size_t digits = stem.size() - begin;
  // Longer numbers at the end are times, sizes, process ids.
  const bool apart = begin == 0 || stem[begin - 1] == '_' || stem[begin - 1] == '-';
  return apart && digits >= 1 && digits <= 3 ? number_at(stem, begin) : std::nullopt;
}

}  // namespace ws::kineto
