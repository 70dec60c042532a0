#include "report/escape.h"

#include <fmt/format.h>

#include "support/catch.h"

using namespace ws;

TEST_CASE("text keeps one printable line of any bytes") {
  CHECK(escape_text("a\x1b[31mred\x07") == "a?[31mred?");
  CHECK(escape_text("two\nlines\tand\r\nmore") == "two lines and more");
  CHECK(escape_text("\xff\xfe") == "\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(escape_text("\xc2\x9b"
                    "31m") == "?31m");
  CHECK(escape_text("abc\xe2\x80\xae"
                    "cba\xe2\x81\xa6") == "abc?cba?");
  for (const char* unseen : {"\u200b", "\u200d", "\u2060", "\u2066", "\ufeff", "\u00ad", "\u061c",
                             "\ufe0f", "\U000e0041", "\u2028"}) {
    CHECK(escape_text(fmt::format("gemm{}x", unseen)) == "gemm?x");
    CHECK(escape_markdown(fmt::format("gemm{}x", unseen)) == "gemm?x");
  }
  CHECK(escape_text("\xe2\x80\x94 \xc3\xa4") == "\xe2\x80\x94 \xc3\xa4");
  CHECK(escape_text("").empty());
}

TEST_CASE("markdown and HTML of a name are shown, not obeyed") {
  CHECK(escape_markdown("a|b") == "a\\|b");
  CHECK(escape_markdown("<script>&") == "&lt;script&gt;&amp;");
  CHECK(escape_markdown("`x` **y** [z](u) ![i](u)") ==
        "\\`x\\` \\*\\*y\\*\\* \\[z\\](u) \\!\\[i\\](u)");
  CHECK(escape_markdown("a\nb") == "a b");
  CHECK(escape_markdown("a\\|b") == "a\\\\\\|b");
}

TEST_CASE("a code span can not be left") {
  CHECK(markdown_code("--flag value") == "`--flag value`");
  CHECK(markdown_code("a`b") == "a\\`b");
  CHECK(markdown_code("a|b") == "a\\|b");
  CHECK(markdown_code("a\nb") == "`a b`");
  CHECK(markdown_code("").empty());
}
