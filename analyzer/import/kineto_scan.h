#pragma once
// A forgiving JSON scanner over a window of text: it finds where values begin and end and leaves
// what they mean to the caller. One pass, no recursion, no copies.
//
// Why not simdjson: it refuses a whole document for one bad byte, and to give it one event at a
// time the events have to be found first, which is most of this work. Measured on 1M events (318
// MB of text): 0.25 s of processor time here, 0.7 s for its on-demand interface on the whole text.
//
// Strict where it counts: keys are strings with a colon, and behind every string stands one of
// , : ] }. So a lost quote is noticed within a few bytes, not megabytes later. Forgiving in what
// real files hold: bare inf and nan, raw control bytes and wrong escapes in strings, commas before
// a closing bracket.
#include <cstdint>
#include <string_view>

#include "import/kineto_bytes.h"

namespace ws::kineto {

enum class Scan : uint8_t {
  ok,
  more,  // the window ends first: add bytes and scan the record again
  bad
};

struct Token {
  enum class Kind : uint8_t { none, string, word, container };
  const char* data = nullptr;
  size_t size = 0;
  Kind kind = Kind::none;
  bool escaped = false;                                   // a string that holds a backslash
  std::string_view text() const { return {data, size}; }  // a string without its quotes
};

// Repairs inside one record; added up only when the record could be read.
struct Repairs {
  int64_t trailing_commas = 0, duplicate_keys = 0, not_finite = 0;
  void add(const Repairs& other) {
    trailing_commas += other.trailing_commas;
    duplicate_keys += other.duplicate_keys;
    not_finite += other.not_finite;
  }
};

struct Cursor {
  const char* p = nullptr;
  const char* end = nullptr;
  Repairs repairs;
};

inline constexpr int kMaxDepth = 32;  // of brackets inside one value; keeps hostile files linear

inline Scan next_sign(Cursor& c) {
  c.p = skip_blanks(c.p, c.end);
  return c.p < c.end ? Scan::ok : Scan::more;
}

// At the opening quote. Leaves the cursor behind the closing one.
inline Scan scan_string(Cursor& c, Token& out) {
  const char* p = c.p + 1;
  out.data = p;
  out.kind = Token::Kind::string;
  out.escaped = false;
  while (true) {
    p = quote_or_backslash(p, c.end);
    if (p >= c.end) return Scan::more;
    if (*p == '"') break;
    out.escaped = true;
    p += 2;
  }
  out.size = static_cast<size_t>(p - out.data);
  c.p = p + 1;
  return Scan::ok;
}

bool is_not_finite(std::string_view word);  // inf, -Infinity, nan, NaN ...
bool is_word(std::string_view word);        // true, false, null

// A number, true, false, null, or a bare inf or nan (counted).
inline Scan scan_word(Cursor& c, Token& out) {
  const char* stop = end_of_word(c.p, c.end);
  if (stop >= c.end) return Scan::more;
  out.data = c.p;
  out.size = static_cast<size_t>(stop - c.p);
  out.kind = Token::Kind::word;
  out.escaped = false;
  c.p = stop;
  const char first = out.data[0];
  const bool number = (first >= '0' && first <= '9') ||
                      (first == '-' && out.size > 1 && out.data[1] >= '0' && out.data[1] <= '9');
  if (number || is_word(out.text())) return Scan::ok;
  if (!is_not_finite(out.text())) return Scan::bad;
  ++c.repairs.not_finite;
  return Scan::ok;
}

// An object or array as a whole; what it holds is not looked at beyond brackets and strings.
Scan scan_container(Cursor& c, Token& out);

inline Scan scan_value(Cursor& c, Token& out) {
  switch (*c.p) {
    case '"':
      return scan_string(c, out);
    case '{':
    case '[':
      return scan_container(c, out);
    default:
      return scan_word(c, out);
  }
}

// Behind a member or element: a comma or the closing bracket. `open` stays true after a comma.
inline Scan scan_separator(Cursor& c, char closing, bool& open) {
  if (const Scan s = next_sign(c); s != Scan::ok) return s;
  open = *c.p == ',';
  if (!open && *c.p != closing) return Scan::bad;
  ++c.p;
  return Scan::ok;
}

// At the opening brace: on_member(key, cursor) takes the value at the cursor. Behind the closing
// brace when ok.
template <class OnMember>
inline Scan walk_object(Cursor& c, OnMember on_member) {
  ++c.p;
  bool open = true;
  bool first = true;
  while (open) {
    if (const Scan s = next_sign(c); s != Scan::ok) return s;
    if (*c.p == '}') {
      c.repairs.trailing_commas += first ? 0 : 1;
      ++c.p;
      return Scan::ok;
    }
    if (*c.p != '"') return Scan::bad;
    Token key;
    if (const Scan s = scan_string(c, key); s != Scan::ok) return s;
    if (const Scan s = next_sign(c); s != Scan::ok) return s;
    if (*c.p != ':') return Scan::bad;
    ++c.p;
    if (const Scan s = next_sign(c); s != Scan::ok) return s;
    if (const Scan s = on_member(key.text(), c); s != Scan::ok) return s;
    if (const Scan s = scan_separator(c, '}', open); s != Scan::ok) return s;
    first = false;
  }
  return Scan::ok;
}

// The same for the elements of an array.
template <class OnElement>
inline Scan walk_array(Cursor& c, OnElement on_element) {
  ++c.p;
  bool open = true;
  bool first = true;
  while (open) {
    if (const Scan s = next_sign(c); s != Scan::ok) return s;
    if (*c.p == ']') {
      c.repairs.trailing_commas += first ? 0 : 1;
      ++c.p;
      return Scan::ok;
    }
    if (const Scan s = on_element(c); s != Scan::ok) return s;
    if (const Scan s = scan_separator(c, ']', open); s != Scan::ok) return s;
    first = false;
  }
  return Scan::ok;
}

}  // namespace ws::kineto
