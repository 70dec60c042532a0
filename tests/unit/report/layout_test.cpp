#include "report/layout.h"

#include "support/catch.h"

using namespace ws;

TEST_CASE("words wrap at the width, long ones are cut between code points") {
  CHECK(wrap("one two three", 7) == std::vector<std::string>{"one two", "three"});
  CHECK(wrap("", 10) == std::vector<std::string>{""});
  CHECK(wrap("abcdefgh", 3) == std::vector<std::string>{"abc", "def", "gh"});
  CHECK(wrap("a abcdef", 3) == std::vector<std::string>{"a", "abc", "def"});
  CHECK(wrap("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f", 2) ==
        std::vector<std::string>{"\xc3\xa4\xc3\xb6", "\xc3\xbc\xc3\x9f"});
}

TEST_CASE("following lines hang below the first word") {
  CHECK(hanging("label ", "one two three four five six seven", 32) ==
        "label one two three four five\n      six seven\n");
  CHECK(hanging("label ", "") == "label\n");
}

TEST_CASE("padding counts code points") {
  CHECK(pad_right("\xc3\xa4", 3) == "\xc3\xa4  ");
  CHECK(pad_left("ab", 4) == "  ab");
  CHECK(pad_left("abcde", 4) == "abcde");
}
