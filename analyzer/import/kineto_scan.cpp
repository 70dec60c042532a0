// Tested by: kineto_scan_test.cpp
#include "import/kineto_scan.h"

#include "base/text.h"

namespace ws::kineto {

bool is_not_finite(std::string_view word) {
  if (!word.empty() && (word[0] == '-' || word[0] == '+')) word.remove_prefix(1);
  for (std::string_view name : {"nan", "inf", "infinity", "-nan(ind)", "nan(ind)"}) {
    if (same_ignoring_case(word, name)) return true;
  }
  return false;
}

bool is_word(std::string_view word) { return word == "true" || word == "false" || word == "null"; }

Scan scan_container(Cursor& c, Token& out) {
  out.data = c.p;
  out.kind = Token::Kind::container;
  out.escaped = false;
  int depth = 0;
  const char* p = c.p;
  while (true) {
    p = bracket_or_quote(p, c.end);
    if (p >= c.end) return Scan::more;
    if (*p == '"') {
      c.p = p;
      Token ignored;
      if (const Scan s = scan_string(c, ignored); s != Scan::ok) return s;
      if (const Scan s = next_sign(c); s != Scan::ok) return s;
      p = c.p;
      if (*p != ',' && *p != ']' && *p != ':' && *p != '}') return Scan::bad;
      continue;
    }
    const bool opening = *p == '{' || *p == '[';
    ++p;
    depth += opening ? 1 : -1;
    if (depth > kMaxDepth) return Scan::bad;
    if (depth == 0) break;
  }
  out.size = static_cast<size_t>(p - out.data);
  c.p = p;
  return Scan::ok;
}

}  // namespace ws::kineto
