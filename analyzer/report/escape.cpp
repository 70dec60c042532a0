// Tested by: report_test (escape_test.cpp), tests/cli (hostile names end to end).
#include "report/escape.h"

#include "base/text.h"

namespace ws {
namespace {

// U+200E/F, U+202A..E, U+2066..9 turn the direction of what follows; U+2028/9 break lines.
bool is_layout_control(std::string_view s, size_t i) {
  if (i + 2 >= s.size() || static_cast<unsigned char>(s[i]) != 0xe2) return false;
  const auto a = static_cast<unsigned char>(s[i + 1]);
  const auto b = static_cast<unsigned char>(s[i + 2]);
  if (a == 0x80) return b == 0x8e || b == 0x8f || (b >= 0xa8 && b <= 0xae);
  return a == 0x81 && b >= 0xa6 && b <= 0xa9;
}

}  // namespace

std::string escape_text(std::string_view s) {
  const std::string line = one_line(to_utf8(s));
  std::string out;
  out.reserve(line.size());
  for (size_t i = 0; i < line.size(); ++i) {
    if (is_layout_control(line, i)) {
      out += '?';
      i += 2;
    } else {
      out += line[i];
    }
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
