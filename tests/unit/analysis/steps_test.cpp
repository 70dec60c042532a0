#include "analysis/steps.h"

#include "made_trace.h"

using namespace ws;
using namespace ws::made;

namespace {

StepsResult steps_of(Maker& m, const StepOptions& options = {}) {
  const Trace t = m.b.seal();
  return find_steps(t, label_ops(t, classes()).ops, options);
}

// ProfilerSteps 3 .. 3 + n - 1 of 1000 ns; compute launched in a step ends 50 ns after it.
void profiled(Maker& m, int n) {
  for (int i = 0; i < n; ++i) {
    const TimeNs t = TimeNs{i} * 1000;
    m.range(t, t + 1000, "ProfilerStep#" + std::to_string(i + 3));
    m.op(t + 100, t + 150, t + 1050, kGemm);
  }
}

}  // namespace

TEST_CASE("steps: device windows tile and carry the numbers of the names") {
  Maker m;
  profiled(m, 3);
  const StepsResult r = steps_of(m);
  CHECK(r.origin == StepOrigin::profiler_step);
  REQUIRE(r.by_device.size() == 1);
  REQUIRE(r.by_device[0].size() == 3);
  CHECK(r.by_device[0][0].window == Interval{0, 1050});
  CHECK(r.by_device[0][1].window == Interval{1050, 2050});
  CHECK(r.by_device[0][2].window == Interval{2050, 3050});
  CHECK(r.by_device[0][2].index == 5);
  CHECK(r.by_device[0][2].name == "ProfilerStep#5");
  CHECK(r.notes.all().empty());
  REQUIRE(r.host_steps.size() == 3);
  CHECK(r.host_steps[1].window == Interval{1000, 2000});
}

TEST_CASE("steps: host windows are the ranges, whole is one window of the device") {
  Maker host;
  profiled(host, 2);
  StepOptions o;
  o.window = StepWindow::host;
  CHECK(steps_of(host, o).by_device[0][1].window == Interval{1000, 2000});
  Maker all;
  profiled(all, 2);
  o.window = StepWindow::whole;
  const StepsResult r = steps_of(all, o);
  CHECK(r.origin == StepOrigin::whole);
  REQUIRE(r.by_device[0].size() == 1);
  CHECK(r.by_device[0][0].window == Interval{150, 2050});
  CHECK(r.notes.count(NoteCode::steps_unknown) == 0);
}

TEST_CASE("steps: none found is one window from the first to the last event") {
  Maker m;
  m.range(20, 50, "aten::copy_", 1, RangeSource::cpu_op);
  m.range(0, 5000, "cuModuleLoadData", 1, RangeSource::overhead);  // not an event of the run
  for (int i = 0; i < 6; ++i) m.op(100 + i * 300, 130 + i * 300, 330 + i * 300, kGemm);
  const StepsResult r = steps_of(m);
  CHECK(r.origin == StepOrigin::whole);
  REQUIRE(r.by_device[0].size() == 1);
  CHECK(r.by_device[0][0].window == Interval{20, 1830});
  CHECK(r.notes.count(NoteCode::steps_unknown) == 1);
  // What repeats here is told, and why it is no step.
  CHECK(r.notes.all().front().detail.find(
            "a pattern of 1 kernel repeats 5 times, but its shortest") == 0);
  CHECK(r.host_steps.empty());
}

TEST_CASE("steps: marks without a length are said, whatever names them") {
  for (const char* name : {"ProfilerStep#3", "iteration 4"}) {
    Maker m;
    for (int i = 0; i < 3; ++i) m.range(10 + i * 500, 10 + i * 500, name);
    for (int i = 0; i < 6; ++i) m.op(100 + i * 300, 130 + i * 300, 330 + i * 300, kGemm);
    const StepsResult r = steps_of(m);
    CHECK(r.origin == StepOrigin::whole);
    CHECK(r.notes.count(NoteCode::step_marks_empty) == 3);
    CHECK(r.notes.count(NoteCode::steps_unknown) == 0);
  }
}

TEST_CASE("steps: by the name that reports print") {
  const auto kept = [](const char* stem, int64_t first, int64_t last) {
    Maker m;
    profiled(m, 3);
    StepOptions o;
    o.steps = std::pair{first, last};
    o.step_stem = stem;
    const StepsResult r = steps_of(m, o);
    std::string out;
    for (const Step& s : r.by_device[0]) out += s.name + " ";
    for (const Note& n : r.notes.all())
      if (n.code == NoteCode::selection_not_found) out += n.detail;
    return out;
  };
  CHECK(kept("ProfilerStep#", 4, 4) == "ProfilerStep#4 ");
  CHECK(kept("ProfilerStep#", 3, 4) == "ProfilerStep#3 ProfilerStep#4 ");
  CHECK(kept("iteration ", 4, 4) == "its steps are ProfilerStep#3 to ProfilerStep#5");
}

TEST_CASE("steps: a recording without device records still counts them") {
  Maker m;
  m.range(0, 100, "ProfilerStep#3");
  m.range(100, 200, "ProfilerStep#4");
  const StepsResult r = steps_of(m);
  CHECK(r.origin == StepOrigin::profiler_step);
  CHECK(r.by_device.empty());
  CHECK(r.host_steps.size() == 2);
  Maker nothing;
  CHECK(steps_of(nothing).by_device.empty());
}

TEST_CASE("steps: those the recording cut are marked") {
  Maker m;
  profiled(m, 3);
  m.range(3000, 4000, "ProfilerStep#6");  // host went on, device records end
  m.range(4000, 5000, "ProfilerStep#7");
  const StepsResult r = steps_of(m);
  REQUIRE(r.by_device[0].size() == 5);
  CHECK(r.by_device[0][2].complete);
  CHECK_FALSE(r.by_device[0][3].complete);
  CHECK_FALSE(r.by_device[0][4].complete);
  CHECK(r.notes.count(NoteCode::step_incomplete) == 2);
}

TEST_CASE("steps: in a file that lost records a half empty step is cut") {
  for (bool lossy : {false, true}) {
    Maker m;
    for (int i = 0; i < 3; ++i) {
      m.range(TimeNs{i} * 1000, i * 1000 + 1000, "ProfilerStep#" + std::to_string(i));
      for (int k = 0; k < (i == 2 ? 3 : 8); ++k)
        m.op(i * 1000 + k, i * 1000 + 100 * k + 10, i * 1000 + 100 * k + 60, kGemm);
    }
    if (lossy) m.b.trace.notes.add(NoteCode::records_lost);
    const StepsResult r = steps_of(m);
    CHECK(r.by_device[0][2].complete != lossy);
  }
}

TEST_CASE("steps: selection by number and by time") {
  Maker numbers;
  profiled(numbers, 5);
  StepOptions o;
  o.steps = {{4, 5}};
  const StepsResult r = steps_of(numbers, o);
  REQUIRE(r.by_device[0].size() == 2);
  CHECK(r.by_device[0][0].index == 4);
  CHECK(r.by_device[0][0].warm);
  CHECK(r.host_steps.size() == 2);

  Maker time;
  profiled(time, 5);
  StepOptions by_time;
  by_time.time = Interval{1000, 3100};
  const StepsResult t = steps_of(time, by_time);
  REQUIRE(t.by_device[0].size() == 2);
  CHECK(t.by_device[0][0].index == 4);

  Maker inside;
  profiled(inside, 2);
  by_time.time = Interval{200, 600};  // inside one step: one window of that time
  const StepsResult w = steps_of(inside, by_time);
  CHECK(w.origin == StepOrigin::whole);
  REQUIRE(w.by_device[0].size() == 1);
  CHECK(w.by_device[0][0].window == Interval{200, 600});

  for (const Interval nothing : {Interval{1, 2}, Interval{9'000'000, 9'000'100}}) {
    Maker outside;
    profiled(outside, 2);
    by_time.time = nothing;
    CHECK(steps_of(outside, by_time).by_device[0].empty());
  }
}

TEST_CASE("steps: a user's range name that does not exist is said") {
  Maker m;
  profiled(m, 2);
  StepOptions o;
  o.range_name = "my_step";
  const StepsResult r = steps_of(m, o);
  CHECK(r.origin == StepOrigin::profiler_step);
  REQUIRE(r.notes.count(NoteCode::range_not_found) == 1);
  CHECK(r.notes.all()[0].detail == "'my_step'; ranges that repeat: ProfilerStep");
}

TEST_CASE("steps: four devices of one process") {
  Maker m;
  for (int i = 0; i < 2; ++i) {
    m.range(TimeNs{i} * 1000, i * 1000 + 1000, "ProfilerStep#" + std::to_string(i));
    for (int32_t d : {0, 1, 3})
      m.op(i * 1000 + d, i * 1000 + 100, i * 1000 + 900, kGemm, 1, 7 + d, d);
  }
  m.b.device(2);  // named by the file, without records
  const StepsResult r = steps_of(m);
  REQUIRE(r.by_device.size() == 4);
  size_t with = 0;
  for (const auto& steps : r.by_device) with += steps.size() == 2 ? 1 : 0;
  CHECK(with == 3);
}

namespace {
void optimizer_steps(Maker& m, int n, int64_t collective_stream = -1, int per_step = 2) {
  TimeNs t = 0;
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < 20; ++k) {
      m.bare_op(t, t + 100, k % 2 == 0 ? kGemm : kAdd);
      t += 100;
    }
    for (int k = 0; k < per_step && collective_stream >= 0; ++k)
      m.bare_op(t - 500 + k, t - 400 + k, k == 0 ? kAllGather : kAllReduce, collective_stream);
    m.bare_op(t, t + 100, kAdam);
    t += 100;
  }
}
}  // namespace

TEST_CASE("steps: optimizer bursts, and what the collectives say of them") {
  Maker m;
  optimizer_steps(m, 5, 20);
  const StepsResult r = steps_of(m);
  CHECK(r.origin == StepOrigin::optimizer_burst);
  REQUIRE(r.by_device[0].size() == 4);
  CHECK(r.by_device[0][0].window == Interval{2100, 4200});
  CHECK(r.by_device[0][0].name == "step 0");
  CHECK(r.notes.count(NoteCode::steps_disagree) == 0);

  Maker half;  // two steps look alike to the collectives only every second time
  TimeNs t = 0;
  for (int i = 0; i < 6; ++i) {
    for (int k = 0; k < 20; ++k, t += 100) half.bare_op(t, t + 100, k % 2 == 0 ? kGemm : kAdd);
    half.bare_op(t, t + 10, i % 2 == 0 ? kAllGather : kAllReduce, 20);
    half.bare_op(t, t + 100, kAdam);
    t += 100;
  }
  CHECK(steps_of(half).notes.count(NoteCode::steps_disagree) == 1);
}

TEST_CASE("steps: nothing is invented from names where times are blurred or records missing") {
  const auto periodic = [](Maker& m) {
    const char* names[] = {"a_gemm", "b_norm", "c_softmax", "d_gelu", "e_transpose", "f_gemm"};
    TimeNs t = 0;
    for (int i = 0; i < 6; ++i) {
      m.op(t, t + 91, t + 95, "Memcpy", 1, 7, 0, OpKind::d2h);
      for (const char* n : names) {
        m.bare_op(t, t + 90, n);
        t += 100;
      }
    }
  };
  Maker clear;
  periodic(clear);
  CHECK(steps_of(clear).origin == StepOrigin::kernel_period);
  Maker blurred;
  periodic(blurred);
  blurred.b.trace.tick_ns = 1000;
  CHECK(steps_of(blurred).origin == StepOrigin::whole);
  Maker broken;
  periodic(broken);
  broken.b.trace.notes.add(NoteCode::truncated_file);
  CHECK(steps_of(broken).origin == StepOrigin::whole);
}

TEST_CASE("steps: a checkpoint inside a step is remembered") {
  Maker m;
  profiled(m, 3);
  m.range(1100, 1700, "save_checkpoint");
  m.range(2100, 2110, "save_checkpoint");  // too short to matter
  m.range(0, 3000, "evaluate me");         // around everything
  const StepsResult r = steps_of(m);
  CHECK(r.by_device[0][1].why_left_out == "checkpoint");
  CHECK(r.by_device[0][2].why_left_out.empty());
}
