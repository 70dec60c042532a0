#include "base/text.h"

#include <string>

#include "base/display_width.h"
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

TEST_CASE("widths of a terminal: wide characters, marks, and bytes that are none") {
  const std::string wide = "\xe6\xa0\xb8", mark = "a\xcc\x81", smile = "\xf0\x9f\x98\x80";
  CHECK(display_width("plain") == 5);
  CHECK(display_width("\xc3\xa4") == 1);
  CHECK(display_width(wide + smile + mark) == 5);
  for (const char* two : {"\xef\xbc\xa1", "\xea\xb0\x80", "\xe2\x8c\x9a", "\xf0\xa0\x80\x80"})
    CHECK(display_width(two) == 2);
  for (const char* one : {"\xe2\x86\x92", "\xce\xbb", "\xe2\x94\x80", "\xef\xbf\xbd"})
    CHECK(display_width(one) == 1);
  CHECK(display_width("\xe6\xa0") == 2);  // cut: each byte counts
  CHECK(bytes_within(wide + "b", 1) == 0);
  CHECK(bytes_within(wide + mark + "b", 3) == 6);
  CHECK(bytes_before_last("b" + wide, 2) == 1);
  CHECK(bytes_before_last("b" + wide, 1) == 4);
  CHECK(shorten(wide + wide + wide, 5) == wide + "...");
  CHECK(shorten(wide + wide + wide, 6) == wide + wide + wide);
  for (size_t columns = 4; columns < 20; ++columns) {
    std::string name;
    for (int i = 0; i < 10; ++i) name += i % 3 == 0 ? wide : "ab";
    CHECK(display_width(shorten_middle(name, columns)) <= columns);
    CHECK(display_width(shorten(name, columns)) <= columns);
  }
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

TEST_CASE("letters are compared and made small without a locale") {
  CHECK(lower_ascii("AzZ[@\xc3\x84 9") == "azz[@\xc3\x84 9");
  CHECK(same_ignoring_case("NaN(InD)", "nan(ind)"));
  CHECK_FALSE(same_ignoring_case("[", "{"));
  CHECK_FALSE(same_ignoring_case("nan", "nan "));
}

TEST_CASE("words are what blanks separate") {
  CHECK(words_of("  a  bc d ") == std::vector<std::string>{"a", "bc", "d"});
  CHECK(words_of("   ").empty());
}

}  // namespace ws
