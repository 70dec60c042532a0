#include "base/text.h"

#include <string>

#include "base/string_pool.h"
#include "support/catch.h"

namespace ws {

TEST_CASE("bytes become valid UTF-8, and repairs are counted") {
  struct Row {
    std::string bytes, text;
    int64_t repaired;
  };
  const Row rows[] = {
      {"plain", "plain", 0},
      {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f", 0},
      {"a\xff"
       "b",
       "a\xef\xbf\xbd"
       "b",
       1},
      {"cut \xc3", "cut \xef\xbf\xbd", 1},
      {std::string("nul\0 in", 7), "nul in", 1},
      {"\xed\xa0\x80", "", 1},  // a surrogate: replaced, however many marks it takes
      {"", "", 0},
  };
  for (const Row& row : rows) {
    int64_t repaired = 0;
    const std::string text = to_utf8(row.bytes, &repaired);
    INFO(row.bytes);
    CHECK(repaired == row.repaired);
    if (!row.text.empty() || row.bytes.empty()) CHECK(text == row.text);
    int64_t again = 0;
    CHECK(to_utf8(text, &again) == text);
    CHECK(again == 0);
  }
}

TEST_CASE("one line holds no control characters") {
  CHECK(one_line("a\nb\tc") == "a b c");
  CHECK(one_line("\x1b[31mred") == "?[31mred");
  CHECK(one_line("a   b") == "a b");
}

TEST_CASE("shortening counts code points and marks the cut") {
  CHECK(shorten("abc", 3) == "abc");
  CHECK(shorten("abcdefgh", 6) == "abc...");
  CHECK(shorten("\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc", 5) ==
        "\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc");
  CHECK(shorten("\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc", 4) == "\xc3\xbc...");
}

TEST_CASE("a string pool gives one id per text and keeps it") {
  StringPool pool;
  const StringId a = pool.intern("a"), b = pool.intern("b");
  CHECK(a != b);
  CHECK(pool.intern("a") == a);
  CHECK(pool[b] == "b");
  CHECK(pool[StringId{}].empty());
}

TEST_CASE("shortening in the middle keeps both ends") {
  CHECK(shorten_middle("abcdef", 6) == "abcdef");
  CHECK(shorten_middle("abcdefghijkl", 9) == "abcd...kl");
  CHECK(shorten_middle("\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc", 6) ==
        "\xc3\xbc\xc3\xbc...\xc3\xbc");
}

}  // namespace ws
