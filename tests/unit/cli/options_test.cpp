#include "cli/options.h"

#include <tuple>

#include "support/catch.h"

using namespace ws;
using namespace ws::cli;

TEST_CASE("--step takes a step or a range, both ends included") {
  CHECK(*parse_steps("5") == std::pair<int64_t, int64_t>(5, 5));
  CHECK(*parse_steps("3:7") == std::pair<int64_t, int64_t>(3, 7));
  for (const char* bad : {"", ":", "7:3", "a", "3:", "3:7:9", "1.5", " 3"}) {
    INFO(bad);
    CHECK(!parse_steps(bad));
  }
  CHECK(parse_steps("x").error().message ==
        "--step: expected a step or a range like 3:7, found `x`");
}

TEST_CASE("--step takes the names that reports print") {
  const auto asked = [](const char* text) {
    const auto parsed = parse_named_steps(text);
    INFO(text);
    REQUIRE(parsed);
    return std::tuple(parsed->steps.first, parsed->steps.second, parsed->stem);
  };
  using Asked = std::tuple<int64_t, int64_t, std::string>;
  CHECK(asked("3:7") == Asked(3, 7, ""));
  CHECK(asked("ProfilerStep#15") == Asked(15, 15, "ProfilerStep#"));
  CHECK(asked("ProfilerStep#3:ProfilerStep#7") == Asked(3, 7, "ProfilerStep#"));
  CHECK(asked("ProfilerStep#3:7") == Asked(3, 7, "ProfilerStep#"));
  CHECK(asked("iteration 007") == Asked(7, 7, "iteration "));
  CHECK(asked("step: 12") == Asked(12, 12, "step: "));
  for (const char* bad : {"", ":", "7:3", "a", "3:", "3:7:9", "1.5", " 3", "step", "a7:a3", "a3:b7",
                          "a3:", "a3:x", "step99999999999999999999"}) {
    INFO(bad);
    CHECK(!parse_named_steps(bad));
  }
}

TEST_CASE("--rank takes a list with ranges") {
  CHECK(*parse_ranks("0,3-5") == std::vector<int32_t>{0, 3, 4, 5});
  CHECK(*parse_ranks("5,1,5") == std::vector<int32_t>{1, 5});
  for (const char* text : {"0", "0,3-5", "1-2,4,6-8"})
    CHECK(ranks_text(*parse_ranks(text)) == text);
  for (const char* bad : {"", ",", "1,", "-1", "3-1", "a", "0-9999999"}) {
    INFO(bad);
    CHECK(!parse_ranks(bad));
  }
}

TEST_CASE("--time keeps every digit") {
  const auto plain = parse_time("4000000000000123:4000000000000124");
  REQUIRE(plain);
  CHECK(plain->span == Interval{4000000000000123, 4000000000000124});
  CHECK(!plain->since_first_record);
  const auto units = parse_time("1.5ms:0.000002s");
  CHECK(!units);  // ends before it begins
  const auto good = parse_time("1.5us:2.000003ms");
  REQUIRE(good);
  CHECK(good->span == Interval{1'500, 2'000'003});
  CHECK(good->since_first_record);
  CHECK(parse_time("0:2ms")->since_first_record);
  for (const char* bad : {"", "5", "5:", ":5", "5:5", "1.5:2", "1ms:2", "5:1ms", "1ms:2000000",
                          "a:b", "1ms:2xs", "99999999999s:999999999999s"}) {
    INFO(bad);
    CHECK(!parse_time(bad));
  }
}
