#include "base/nearest.h"

#include "support/catch.h"

using namespace ws;

TEST_CASE("letters between two words, up to a limit") {
  CHECK(edit_distance("dp_gradients", "dp_gradient", 5) == 1);
  CHECK(edit_distance("abc", "abc", 5) == 0);
  CHECK(edit_distance("abc", "xyz", 5) == 3);
  CHECK(edit_distance("abc", "xyz", 1) == 2);
  CHECK(edit_distance("", "abcdefgh", 3) == 4);
}

TEST_CASE("the nearest word is at most a third away") {
  const std::vector<std::string> known = {"dp_gradient", "dp_parameter", "gc"};
  CHECK(nearest_word("dp_gradients", known) == "dp_gradient");
  CHECK(nearest_word("DP_gradient", known) == "dp_gradient");
  CHECK(nearest_word("moon", known).empty());
  CHECK(nearest_word("", known).empty());
  CHECK(nearest_word(std::string(1000, 'd'), known).empty());
}
