// The scanner against plain loops over all short texts, and its rules one by one.
#include "import/kineto_scan.h"

#include <string>

#include "import/kineto_event.h"
#include "support/catch.h"

namespace ws::kineto {
namespace {

// Text with the padding that the scanner may read behind it.
struct Padded {
  explicit Padded(std::string_view text) : bytes(text), size(text.size()) {
    bytes.append(64, '"');  // what stands there must not matter
  }
  Cursor cursor() const { return {bytes.data(), bytes.data() + size, {}}; }
  std::string bytes;
  size_t size;
};

template <class Wanted>
size_t plain_first(const std::string& s, Wanted wanted) {
  size_t i = 0;
  while (i < s.size() && !wanted(s[i])) ++i;
  return i;
}

struct Scanned {
  Scan scan;
  Token token;
  size_t used;
};

Scanned value_of(const Padded& text) {
  Cursor c = text.cursor();
  Token token;
  const Scan s = scan_value(c, token);
  return {s, token, static_cast<size_t>(c.p - text.bytes.data())};
}

Scan event_of(std::string_view text, Event& event, Repairs* repairs = nullptr) {
  static std::string kept;  // tokens point into it
  kept = Padded(text).bytes;
  Cursor c{kept.data(), kept.data() + text.size(), {}};
  const Scan s = event.scan(c);
  if (repairs != nullptr) *repairs = c.repairs;
  return s;
}

}  // namespace

TEST_CASE("sixteen bytes at a time finds what a plain loop finds") {
  const std::string_view signs("\"\\{}[], \n\t:;Z@\x02\x22\x7f\x80\xff\0", 20);
  for (size_t length = 0; length < 40; ++length) {
    for (size_t at = 0; at < length; ++at) {
      for (char sign : signs) {
        std::string s(length, 'a');
        s[at] = sign;
        const Padded p(s);
        const char* begin = p.bytes.data();
        const char* end = begin + s.size();
        const auto found = [&](const char* hit) { return static_cast<size_t>(hit - begin); };
        const auto u = [](char c) { return static_cast<unsigned char>(c); };
        REQUIRE(found(quote_or_backslash(begin, end)) ==
                plain_first(s, [](char c) { return c == '"' || c == '\\'; }));
        REQUIRE(found(bracket_or_quote(begin, end)) == plain_first(s, [](char c) {
                  return c == '"' || c == '{' || c == '}' || c == '[' || c == ']';
                }));
        REQUIRE(found(end_of_word(begin, end)) == plain_first(s, [&](char c) {
                  return c == '"' || c == ',' || c == '}' || c == ']' || u(c) <= ' ';
                }));
        std::string blanks(length, ' ');
        blanks[at] = sign;
        const Padded b(blanks);
        REQUIRE(static_cast<size_t>(skip_blanks(b.bytes.data(), b.bytes.data() + blanks.size()) -
                                    b.bytes.data()) ==
                plain_first(blanks, [&](char c) { return u(c) > ' '; }));
      }
    }
  }
}

TEST_CASE("values: where they end, what is bad, what is unfinished") {
  struct Row {
    std::string_view text;
    Scan scan;
    std::string_view token;
  };
  const Row rows[] = {
      {"12.5,", Scan::ok, "12.5"},
      {"-7}", Scan::ok, "-7"},
      {"true ", Scan::ok, "true"},
      {"null]", Scan::ok, "null"},
      {"-Infinity,", Scan::ok, "-Infinity"},
      {"nan,", Scan::ok, "nan"},
      {"\"a\\\"b\",", Scan::ok, "a\\\"b"},
      {"\"\",", Scan::ok, ""},
      {"\"raw\nline\",", Scan::ok, "raw\nline"},
      {"[1, [2], {\"a\": [\"]\", \"}\"]}],", Scan::ok, "[1, [2], {\"a\": [\"]\", \"}\"]}]"},
      {"{},", Scan::ok, "{}"},
      {"12.5", Scan::more, ""},
      {"\"abc", Scan::more, ""},
      {"\"abc\\", Scan::more, ""},
      {"\"abc\\\"", Scan::more, ""},
      {"[1, 2", Scan::more, ""},
      {"[\"a\"", Scan::more, ""},
      {"tru,", Scan::bad, ""},
      {",", Scan::bad, ""},
      {"-,", Scan::bad, ""},
      {"}", Scan::bad, ""},
      {"[\"a\" b]", Scan::bad, ""},  // as after a lost quote
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const Padded text(row.text);
    const Scanned s = value_of(text);
    CHECK(s.scan == row.scan);
    if (row.scan == Scan::ok) {
      CHECK(s.token.text() == row.token);
      CHECK(s.used == row.text.size() - 1);
    }
  }
  CHECK(value_of(Padded(std::string(kMaxDepth, '[') + std::string(kMaxDepth, ']'))).scan ==
        Scan::ok);
  CHECK(value_of(Padded(std::string(kMaxDepth + 1, '['))).scan == Scan::bad);
}

TEST_CASE("events: the keys that count, the last of two, the rest passed over") {
  Event e;
  Repairs repairs;
  REQUIRE(event_of(R"({"ph": "X", "id": 5, "cat": "kernel", "name": "k", "pid": 1, "tid": "t 2",
                       "ts": 1, "dur": 2, "dur": 3, "args": {"grid": [1, {"a": 2}], "stream": 7,
                       "stream": 9, "correlation": 4, "graph node id": 8, "x": inf,}})",
                   e, &repairs) == Scan::ok);
  CHECK(e.phase() == 'X');
  CHECK(e[Field::cat].text() == "kernel");
  CHECK(e[Field::tid].text() == "t 2");
  CHECK(e[Field::dur].text() == "3");
  CHECK(e[Arg::stream].text() == "9");
  CHECK(e[Arg::graph_node_id].text() == "8");
  CHECK_FALSE(e.has(Arg::device));
  CHECK(e[Arg::device].kind == Token::Kind::none);
  CHECK(repairs.duplicate_keys == 2);
  CHECK(repairs.trailing_commas == 1);
  CHECK(repairs.not_finite == 1);
  // The next event knows nothing of the last.
  REQUIRE(event_of(R"({"ph": "XY", "args": 5})", e) == Scan::ok);
  CHECK(e.phase() == '\0');
  CHECK_FALSE(e.has(Arg::stream));
  CHECK(e[Field::cat].kind == Token::Kind::none);
  CHECK(e[Field::cat].text().empty());
  CHECK(e[Field::dur].text().empty());
}

TEST_CASE("events: every argument is known by its key") {
  const std::pair<const char*, Arg> keys[] = {
      {"device", Arg::device},
      {"stream", Arg::stream},
      {"context", Arg::context},
      {"correlation", Arg::correlation},
      {"bytes", Arg::bytes},
      {"kind", Arg::kind},
      {"graph id", Arg::graph_id},
      {"graph node id", Arg::graph_node_id},
      {"Sequence number", Arg::sequence_number},
      {"Collective name", Arg::collective_name},
      {"In msg nelems", Arg::in_elements},
      {"Out msg nelems", Arg::out_elements},
      {"Group size", Arg::group_size},
      {"dtype", Arg::dtype},
      {"Process Group Name", Arg::group_name},
      {"Process Group Description", Arg::group_description},
      {"Process Group Ranks", Arg::group_ranks},
      {"Seq", Arg::seq},
      {"Src Rank", Arg::src_rank},
      {"Dst Rank", Arg::dst_rank},
      {"Root Rank", Arg::root_rank},
      {"cuda_sync_kind", Arg::sync_kind},
      {"wait_on_stream", Arg::wait_on_stream},
      {"wait_on_cuda_event_record_corr_id", Arg::wait_on_record},
      {"wait_on_cuda_event_id", Arg::wait_on_event},
      {"Bytes", Arg::memory_bytes},
      {"Device Id", Arg::memory_device},
      {"Device Type", Arg::memory_device_type},
      {"Total Allocated", Arg::total_allocated},
      {"Total Reserved", Arg::total_reserved},
  };
  CHECK(std::size(keys) == static_cast<size_t>(Arg::count_));
  for (const auto& [key, arg] : keys) {
    Event e;
    INFO(key);
    REQUIRE(event_of("{\"args\": {\"" + std::string(key) + "\": 5}}", e) == Scan::ok);
    CHECK(e[arg].text() == "5");
  }
  for (const char* key : {"External id", "Devic", "streams", "Ev Idx", "", "seq", "Bytez"}) {
    Event e;
    REQUIRE(event_of("{\"args\": {\"" + std::string(key) + "\": 5}}", e) == Scan::ok);
    for (const auto& [other, arg] : keys) CHECK_FALSE(e.has(arg));
  }
}

TEST_CASE("events: bad grammar is bad at once, an unfinished one asks for more") {
  Event e;
  for (const char* bad :
       {R"({"ph" "X"})", R"({ph: "X"})", R"({"ph": "X" "cat": 1})", R"({"a": 1,, "b": 2})",
        R"({"args": {"a": 1 "b": 2}})", R"({"tid": 5, tid": 7, "ts": 1})", R"({]})", R"({"a"})"}) {
    INFO(bad);
    CHECK(event_of(bad, e) == Scan::bad);
  }
  const std::string whole = R"({"ph": "X", "args": {"a": ["b\"", {}], "c": -1}})";
  CHECK(event_of(whole, e) == Scan::ok);
  for (size_t n = 1; n < whole.size(); ++n) {
    INFO(whole.substr(0, n));
    CHECK(event_of(std::string_view(whole).substr(0, n), e) == Scan::more);
  }
}

}  // namespace ws::kineto
