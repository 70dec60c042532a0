#include "analysis/steps.h"

#include "support/catch.h"

using namespace ws;

namespace {

struct Made {
  std::vector<Step> steps;
  std::vector<Breakdown> breakdowns;
  Notes notes;
  void add(TimeNs compute, Leaf extra = Leaf::idle_host, TimeNs extra_ns = 0) {
    Step s;
    s.index = static_cast<int64_t>(steps.size());
    s.name = "step " + std::to_string(steps.size());
    const TimeNs begin = steps.empty() ? 0 : steps.back().window.end_ns;
    s.window = {begin, begin + compute + extra_ns};
    steps.push_back(s);
    Breakdown b;
    b[Leaf::gemm] = compute;
    b[extra] += extra_ns;
    breakdowns.push_back(b);
  }
  std::vector<int> steady() {
    choose_steady(steps, breakdowns, notes);
    std::vector<int> out;
    for (const Step& s : steps) out.push_back(s.steady ? 1 : 0);
    return out;
  }
};

}  // namespace

TEST_CASE("steady: the first of three is left out, an outlier of training stays") {
  Made m;
  for (TimeNs t : {500, 100, 101, 99}) m.add(t);
  m.add(100, Leaf::idle_gc, 200);
  m.add(100);
  CHECK(m.steady() == std::vector<int>{0, 1, 1, 1, 1, 1});
  CHECK(m.steps[0].why_left_out == "first of several");
  CHECK(m.steps[4].outlier);
  CHECK_FALSE(m.steps[0].outlier);
  CHECK(m.notes.count(NoteCode::first_step_left_out) == 1);
  REQUIRE(m.notes.count(NoteCode::outlier_step) == 1);
  CHECK(m.notes.all()[1].detail == "step 4: 200 ns longer than the median");
}

TEST_CASE("steady: two steps keep both, one keeps itself") {
  Made two;
  two.add(500);
  two.add(100);
  CHECK(two.steady() == std::vector<int>{1, 1});
  Made one;
  one.add(500);
  CHECK(one.steady() == std::vector<int>{1});
  Made none;
  CHECK(none.steady().empty());
}

TEST_CASE("steady: code loading and the profiler's own work leave the mean") {
  Made m;
  m.add(8'456'000);
  m.add(8'456'000);
  m.add(8'748'000, Leaf::idle_profiler, 16'776'000);
  m.add(8'456'000);
  CHECK(m.steady() == std::vector<int>{0, 1, 0, 1});
  CHECK(m.steps[2].why_left_out == "profiler overhead");
  CHECK(m.notes.count(NoteCode::profiler_overhead) == 1);
  Made jit;
  for (int i = 0; i < 4; ++i) jit.add(1000);
  jit.add(1000, Leaf::idle_jit, 500);
  CHECK(jit.steady() == std::vector<int>{0, 1, 1, 1, 0});
  CHECK(jit.steps[4].why_left_out == "code loading");
}

TEST_CASE("steady: only the largest part of the excess decides") {
  Made m;
  for (int i = 0; i < 4; ++i) m.add(1000);
  m.add(1600, Leaf::idle_jit, 500);  // compute grew more than code loading
  CHECK(m.steady() == std::vector<int>{0, 1, 1, 1, 1});
  CHECK(m.steps[4].outlier);
}

TEST_CASE("steady: a checkpoint or evaluation leaves, but only when it made the step longer") {
  Made m;
  for (int i = 0; i < 5; ++i) m.add(1000);
  m.add(1000, Leaf::idle_host, 900);
  m.steps[5].why_left_out = "checkpoint";
  m.steps[3].why_left_out = "checkpoint";  // cost nothing
  CHECK(m.steady() == std::vector<int>{0, 1, 1, 1, 1, 0});
  CHECK(m.steps[5].why_left_out == "checkpoint");
  CHECK(m.steps[3].why_left_out.empty());
  Made named;
  for (int i = 0; i < 4; ++i) named.add(1000);
  named.add(1000, Leaf::idle_host, 900);
  named.steps[4].name = "Evaluation step";
  CHECK(named.steady() == std::vector<int>{0, 1, 1, 1, 0});
}

TEST_CASE("steady: a short outlier stays") {
  Made m;
  for (int i = 0; i < 5; ++i) m.add(1000);
  m.add(100);
  CHECK(m.steady() == std::vector<int>{0, 1, 1, 1, 1, 1});
  CHECK(m.steps[5].outlier);
  Made jit;  // all others load code: the step without is short, but not left out for it
  for (int i = 0; i < 5; ++i) jit.add(1000, Leaf::idle_jit, 500);
  jit.add(1000);
  CHECK(jit.steady() == std::vector<int>{0, 1, 1, 1, 1, 1});
  CHECK(jit.steps[5].outlier);
}

TEST_CASE("steady: within ten percent or five deviations nothing is an outlier") {
  Made ten;
  for (int i = 0; i < 5; ++i) ten.add(1000);
  ten.add(1100);
  ten.steady();
  CHECK_FALSE(ten.steps[5].outlier);
  ten.add(1101);
  ten.steady();
  CHECK(ten.steps[6].outlier);
  Made wide;
  for (TimeNs t : {1000, 800, 900, 1000, 1100, 1200, 1500}) wide.add(t);
  wide.steady();
  for (const Step& s : wide.steps) CHECK_FALSE(s.outlier);
}

TEST_CASE("steady: cut steps never count, selected ones are not warm-up") {
  Made m;
  for (int i = 0; i < 4; ++i) m.add(1000);
  m.steps[0].complete = false;
  CHECK(m.steady() == std::vector<int>{0, 1, 1, 1});
  CHECK(m.steps[0].why_left_out == "cut by the recording");
  Made selected;
  for (int i = 0; i < 4; ++i) selected.add(1000);
  selected.steps[0].warm = true;
  CHECK(selected.steady() == std::vector<int>{1, 1, 1, 1});
}
