#include "report/numbers.h"

#include <numeric>
#include <random>

#include "support/catch.h"

using namespace ws;

TEST_CASE("parts are rounded to the nearest, and those that need not keep it make up the sum") {
  const auto parts = [](const std::vector<int64_t>& values, int64_t total) {
    return rounded_parts(values, total, std::vector<bool>(values.size(), false));
  };
  CHECK(parts({1, 1, 1}, 1000) == std::vector<int64_t>{334, 333, 333});
  CHECK(parts({0, 5}, 1000) == std::vector<int64_t>{0, 1000});
  CHECK(parts({}, 1000).empty());
  CHECK(parts({0, 0}, 1000) == std::vector<int64_t>{0, 0});
  CHECK(parts({999, 1}, 10) == std::vector<int64_t>{10, 0});
  const int64_t huge = int64_t{1} << 61;
  CHECK(parts({huge, huge, huge}, 1000) == std::vector<int64_t>{334, 333, 333});
  // 65.14, 34.82, 0.04 %: the floors of a largest remainder would print 65.2.
  const std::vector<int64_t> values = {6514, 3482, 4};
  CHECK(rounded_parts(values, 1000, {true, false, false}) == std::vector<int64_t>{651, 348, 1});
  CHECK(rounded_parts(values, 1000, {false, true, true}) == std::vector<int64_t>{652, 348, 0});
  CHECK(rounded_parts({15, 15, 970}, 100, {true, true, false}) == std::vector<int64_t>{2, 2, 96});
  // 15.65 and 6.05 of 21.70 ms in tenths: a sentence says 6.1, so the other gives way.
  CHECK(rounded_parts({15'650'100, 6'050'000}, 217, {false, true}, 100'000) ==
        std::vector<int64_t>{156, 61});
  CHECK(rounded_parts({13'084'000, 71'000, 11'600'000}, 247, {false, false, true}, 100'000) ==
        std::vector<int64_t>{130, 1, 116});  // nothing is printed as 0 that is not
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> any(1 + random() % 9);
    for (int64_t& v : any) v = static_cast<int64_t>(random() % 1'000'000);
    any[0] += 1;
    std::vector<bool> keep(any.size(), false);
    keep[random() % any.size()] = any.size() > 4;
    const auto got = rounded_parts(any, 1000, keep);
    CHECK(std::accumulate(got.begin(), got.end(), int64_t{0}) == 1000);
    const auto sum = std::accumulate(any.begin(), any.end(), int64_t{0});
    for (size_t i = 0; i < any.size(); ++i) {
      CHECK(std::abs(got[i] * sum - any[i] * 1000) <= sum);
      if (keep[i]) CHECK(2 * std::abs(got[i] * sum - any[i] * 1000) <= sum);
    }
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
  CHECK(gbps_text(55.06) == "55.1 GB/s");
  CHECK(gbps_text(0.04) == "0.04 GB/s");
  CHECK(gbps_text(0.0003) == "below 0.01 GB/s");
  CHECK(bytes_text(85899345920) == "80.0 GiB");
  CHECK(count_text(12) == "12");
  CHECK(count_text(0.42) == "0.4");
  CHECK(count_text(1834.2) == "1834");
}
