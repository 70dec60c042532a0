#include "report/numbers.h"

#include <numeric>
#include <random>

#include "support/catch.h"

using namespace ws;

TEST_CASE("proportional parts sum to the total, floors first, largest remainders next") {
  CHECK(proportional({1, 1, 1}, 1000) == std::vector<int64_t>{334, 333, 333});
  CHECK(proportional({0, 5}, 1000) == std::vector<int64_t>{0, 1000});
  CHECK(proportional({}, 1000).empty());
  CHECK(proportional({0, 0}, 1000) == std::vector<int64_t>{0, 0});
  CHECK(proportional({999, 1}, 10) == std::vector<int64_t>{10, 0});
  const int64_t huge = int64_t{1} << 61;
  CHECK(proportional({huge, huge, huge}, 1000) == std::vector<int64_t>{334, 333, 333});
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> values(1 + random() % 9);
    for (int64_t& v : values) v = random() % 1'000'000;
    values[0] += 1;
    const auto parts = proportional(values, 1000);
    CHECK(std::accumulate(parts.begin(), parts.end(), int64_t{0}) == 1000);
    const auto sum = std::accumulate(values.begin(), values.end(), int64_t{0});
    for (size_t i = 0; i < values.size(); ++i)
      CHECK(std::abs(parts[i] * sum - values[i] * 1000) <= sum);
  }
}

TEST_CASE("times and shares keep their digits") {
  const struct {
    int64_t ns;
    const char* text;
  } times[] = {{0, "0 ns"},
               {999, "999 ns"},
               {1'000, "1.0 us"},
               {4'849, "4.8 us"},
               {4'850, "4.9 us"},
               {433'333, "433 us"},
               {2'345'678, "2.35 ms"},
               {92'149'999, "92.1 ms"},
               {92'150'000, "92.2 ms"},
               {1'234'567'890, "1.235 s"},
               {123'456'000'000, "123.5 s"},
               {-4'850, "-4.9 us"}};
  for (const auto& t : times) CHECK(duration_text(t.ns) == t.text);
  CHECK(percent_text(0.4862) == "48.6 %");
  CHECK(percent_range(0.31, 0.445) == "31.0 to 44.5 %");
  CHECK(percent_range(0.3101, 0.3102) == "31.0 %");
  CHECK(tenths(-5) == "-0.5");
  CHECK(bytes_text(512) == "512 B");
  CHECK(bytes_text(85899345920) == "80.0 GiB");
  CHECK(count_text(12) == "12");
  CHECK(count_text(0.42) == "0.4");
  CHECK(count_text(1834.2) == "1834");
}
