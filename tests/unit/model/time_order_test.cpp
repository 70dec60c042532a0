#include "model/time_order.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "support/catch.h"

using namespace ws;

namespace {

std::vector<uint32_t> sorted_rows(const std::vector<TimeNs>& begin, const std::vector<TimeNs>& end,
                                  bool nested) {
  std::vector<uint32_t> order(begin.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (begin[a] != begin[b]) return begin[a] < begin[b];
    return nested && end[a] > end[b];
  });
  return order;
}

}  // namespace

TEST_CASE("rows in order give no order at all") {
  CHECK(time_order({}, {}, false).empty());
  CHECK(time_order({5}, {6}, true).empty());
  CHECK(time_order({1, 1, 2}, {9, 3, 3}, true).empty());
  CHECK_FALSE(time_order({1, 1, 2}, {3, 9, 3}, true).empty());
  CHECK(time_order({1, 1, 2}, {3, 9, 3}, false).empty());
}

TEST_CASE("runs of any number and length are ordered as a stable sort does") {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const size_t rows = random() % 120;
    const size_t range = 1 + random() % 40, restart = 1 + random() % 60;
    std::vector<TimeNs> begin, end;
    TimeNs at = 0;
    for (size_t i = 0; i < rows; ++i) {
      at = random() % restart == 0 ? static_cast<TimeNs>(random() % range)
                                   : at + static_cast<TimeNs>(random() % 3);
      begin.push_back(at);
      end.push_back(at + static_cast<TimeNs>(random() % 4));
    }
    const bool nested = round % 2 == 0;
    std::vector<uint32_t> order = time_order(begin, end, nested);
    if (order.empty()) {
      order.resize(rows);
      std::iota(order.begin(), order.end(), 0u);
    }
    REQUIRE(order == sorted_rows(begin, end, nested));
  }
}
