// Which steps are compared: settled ones, outside and inside the window, never those at its edges.
#include "collector/step_clock.h"

#include <thread>

#include "support/catch.h"

using namespace ws::collector;

namespace {

struct Taken {
  std::vector<int64_t> bare, recorded;  // their lengths
};

Taken take(StepClock& clock) {
  Taken out;
  clock.take([&](const StepRow& r) {
    (r.recorded ? out.recorded : out.bare).push_back(r.end_ns - r.begin_ns);
  });
  return out;
}

}  // namespace

TEST_CASE("steps outside and inside the window, without those at its edges and the first") {
  StepClock clock;
  int64_t now = 1'000;
  uint64_t nth = 0;
  const auto steps = [&](int count, int64_t length, bool recorded) {
    for (int i = 0; i < count; ++i, now += length) clock.begin(nth++, now, recorded);
  };
  steps(20, 100, false);
  const int64_t warm_up = now;
  steps(2, 500, true);
  clock.end_warm_up(now);
  CHECK(warm_up < now);
  steps(10, 110, true);
  steps(30, 101, false);
  clock.follow();
  const Taken t = take(clock);
  CHECK(t.recorded == std::vector<int64_t>(9, 110));
  std::vector<int64_t> bare(20 - StepClock::kSettling - 1, 100);
  bare.insert(bare.end(), 29, 101);
  CHECK(t.bare == bare);
  CHECK_FALSE(clock.has_enough());
  steps(StepClock::kBehindWindow, 101, false);
  clock.follow();
  CHECK(clock.has_enough());
  CHECK(take(clock).bare.size() == StepClock::kBehindWindow - 29);
}

TEST_CASE("of a long run the last steps before the window are kept, and few of the window") {
  StepClock clock;
  for (uint64_t n = 0; n < 5'000; ++n) {
    clock.begin(n, static_cast<int64_t>(n * n), n >= 4'000);
    clock.follow();
  }
  const Taken t = take(clock);
  REQUIRE(t.bare.size() == StepClock::kKept);
  CHECK(t.bare.back() == 3'999 * 3'999 - 3'998 * 3'998);
  REQUIRE(t.recorded.size() == StepClock::kKept);
  CHECK(t.recorded.front() == 4'001 * 4'001 - 4'000 * 4'000);
}

TEST_CASE("steps that were overwritten before they were read are not made up") {
  StepClock clock;
  for (uint64_t n = 0; n < 3'000; ++n) clock.begin(n, static_cast<int64_t>(10 * n), true);
  clock.follow();
  for (int64_t length : take(clock).recorded) CHECK(length == 10);
}

TEST_CASE("steps that were none are forgotten, read already or not") {
  StepClock clock;
  uint64_t nth = 0;
  for (; nth < 20; ++nth) clock.begin(nth, static_cast<int64_t>(nth), nth >= 10);
  clock.follow();
  for (; nth < 30; ++nth) clock.begin(nth, static_cast<int64_t>(nth), false);
  clock.forget();
  CHECK(take(clock).bare.empty());
  for (int64_t now = 1'000; nth < 40; ++nth, now += 100) clock.begin(nth, now, false);
  clock.follow();
  const Taken t = take(clock);
  CHECK(t.recorded.empty());
  CHECK(t.bare == std::vector<int64_t>(9, 100));
}

TEST_CASE("a thread that writes while another reads") {
  StepClock clock;
  std::thread job([&] {
    for (uint64_t n = 0; n < 200'000; ++n) clock.begin(n, static_cast<int64_t>(7 * n), false);
  });
  for (int i = 0; i < 2'000; ++i) clock.follow();
  job.join();
  clock.follow();
  for (int64_t length : take(clock).bare) CHECK(length == 7);
}
