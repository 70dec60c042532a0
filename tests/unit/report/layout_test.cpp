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

TEST_CASE("a word that is longer than a line breaks behind punctuation") {
  CHECK(wrap("option=Config(enable_events=True))", 30) ==
        std::vector<std::string>{"option=Config(enable_events=", "True))"});
  CHECK(wrap("torch.profiler.Config(wait_for_it=1)", 24) ==
        std::vector<std::string>{"torch.profiler.Config(", "wait_for_it=1)"});
}

TEST_CASE("what is shortened stays different where it differs") {
  const std::string tail = "_RING_LL(ncclDevComm*, unsigned long, ncclWork*)";
  const std::string head = "ncclDevKernel_AllReduce_Sum_";
  std::vector<std::string> names = {head + "f16" + tail, head + "f32" + tail, "short", "short",
                                    "Cijk_" + std::string(60, 'a') + "_MT64" + tail};
  for (int i = 0; i < 9; ++i)
    names.push_back(names.back().substr(0, 65) + std::to_string(i) + std::string(50, 'z') + tail);
  names.push_back(head + "f16" + tail + std::string(40, 'q'));
  for (const size_t width : {20u, 40u, 43u, 70u, 200u}) {
    const auto cells = shorten_distinct(names, width);
    for (size_t i = 0; i < names.size(); ++i) {
      INFO(width << " " << cells[i]);
      CHECK(width_of(cells[i]) <= width);
      if (width_of(names[i]) <= width) CHECK(cells[i] == names[i]);
      for (size_t k = 0; k < i; ++k) CHECK((cells[i] == cells[k]) == (names[i] == names[k]));
    }
  }
  CHECK(shorten_distinct(names, 43)[0] == "ncclDevKernel_AllReduce_Sum_f16_RING_LL(...");
  const std::vector<std::string> same = {std::string(50, 'x'), std::string(50, 'x')};
  CHECK(shorten_distinct(same, 20)[0] == shorten_distinct(same, 20)[1]);
}

TEST_CASE("following lines hang below the first word") {
  CHECK(hanging("label ", "one two three four five six seven", 32) ==
        "label one two three four five\n      six seven\n");
  CHECK(hanging("label ", "") == "label\n");
}

TEST_CASE("wide characters take two columns wherever text is padded, wrapped or cut") {
  const std::string word = "\xe6\xa0\xb8";  // one ideograph
  const std::string smile = "\xf0\x9f\x98\x80";
  CHECK(width_of(word + smile) == 4);
  CHECK(pad_right(word, 4) == word + "  ");
  CHECK(pad_left(smile, 3) == " " + smile);
  CHECK(wrap(word + word + word, 4) == std::vector<std::string>{word + word, word});
  CHECK(wrap(word + word, 1).front() == word);  // wider than the line, and it ends
  CHECK(wrap("a " + word, 3) == std::vector<std::string>{"a", word});
  std::vector<std::string> names;
  for (int i = 0; i < 9; ++i) {
    std::string name = "k" + std::to_string(i % 3);
    for (int k = 0; k < 60; ++k) name += k == 10 + i ? smile : word;
    names.push_back(name);
  }
  for (size_t width = 12; width < 60; ++width) {
    for (const std::string& cell : shorten_distinct(names, width)) {
      INFO(width << " " << cell);
      CHECK(width_of(cell) <= width);
    }
  }
}

TEST_CASE("padding counts code points") {
  CHECK(pad_right("\xc3\xa4", 3) == "\xc3\xa4  ");
  CHECK(pad_left("ab", 4) == "  ab");
  CHECK(pad_left("abcde", 4) == "abcde");
}
