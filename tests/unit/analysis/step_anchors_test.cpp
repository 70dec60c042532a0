#include "analysis/step_anchors.h"

#include "made_trace.h"

using namespace ws;
using namespace ws::made;

namespace {

struct Found {
  Trace trace;
  OpLabels labels;
  std::optional<HostAnchor> anchor;
};
Found find(Maker& m, std::string_view range_name = "") {
  Found f;
  f.trace = m.b.seal();
  f.labels = label_ops(f.trace, classes()).ops;
  f.anchor = find_host_anchor(f.trace, f.labels, range_name);
  return f;
}
std::vector<TimeNs> begins(const AnnouncedSteps& a) {
  std::vector<TimeNs> out;
  for (const HostStep& s : a.steps) out.push_back(s.begin_ns);
  return out;
}

}  // namespace

TEST_CASE("anchors: in their order") {
  Maker m;
  for (int i = 0; i < 4; ++i) {
    const TimeNs t = TimeNs{i} * 1000;
    m.range(t, t + 1000, "epoch " + std::to_string(i + 7));
    m.range(t, t + 900, "ProfilerStep#" + std::to_string(i));
    m.range(t + 10, t + 890, "train_step");
    m.range(t + 800, t + 850, "Optimizer.step#Adam.step");
    m.op(t + 20, t + 30, t + 700, kGemm);
    m.op(t + 810, t + 820, t + 840, kAdam);
  }
  const Trace t = m.b.seal();
  const OpLabels l = label_ops(t, classes()).ops;
  const auto user = find_host_anchor(t, l, "epoch");
  REQUIRE(user);
  CHECK(user->origin == StepOrigin::user_range);
  CHECK(user->threads[0].steps[0].number == 7);
  CHECK(find_host_anchor(t, l, "")->origin == StepOrigin::profiler_step);
  CHECK(find_host_anchor(t, l, "absent")->origin == StepOrigin::profiler_step);
}

TEST_CASE("anchors: one ProfilerStep is enough, its device twin does not count") {
  Maker m;
  m.range(0, 100, "ProfilerStep#3");
  m.range(5, 500, "ProfilerStep#4", 1, RangeSource::gpu_annotation);
  const Found f = find(m);
  REQUIRE(f.anchor);
  CHECK(begins(f.anchor->threads[0]) == std::vector<TimeNs>{0});
}

TEST_CASE("anchors: nested twins, duplicates and crossing ranges of one thread") {
  Maker m;
  m.range(0, 100, "ProfilerStep#1");
  m.range(0, 100, "ProfilerStep#1");   // duplicate
  m.range(10, 90, "ProfilerStep#1");   // nested
  m.range(50, 150, "ProfilerStep#9");  // crosses
  m.range(100, 200, "ProfilerStep#2");
  m.range(200, 200, "ProfilerStep#3");  // no time
  const Found f = find(m);
  REQUIRE(f.anchor);
  CHECK(begins(f.anchor->threads[0]) == std::vector<TimeNs>{0, 100});
}

TEST_CASE("anchors: named ranges must cover half of the time or of the launches") {
  Maker covers;
  for (int i = 0; i < 3; ++i)
    covers.range(TimeNs{i} * 100, i * 100 + 90, "iteration " + std::to_string(i));
  covers.range(300, 400, "something else");
  CHECK(find(covers).anchor->origin == StepOrigin::named_range);

  Maker little;
  little.range(0, 100, "step 1");
  little.range(100, 1000, "other");
  little.op(500, 600, 700, kGemm);
  CHECK_FALSE(find(little).anchor);

  Maker ahead;  // the host is through its steps long before the device
  for (int i = 0; i < 3; ++i) {
    ahead.range(TimeNs{i} * 100, i * 100 + 100, "step " + std::to_string(i));
    ahead.op(i * 100 + 10, 1000 + i * 1000, 2000 + i * 1000, kGemm);
  }
  CHECK(find(ahead).anchor->origin == StepOrigin::named_range);
}

TEST_CASE("anchors: the outermost of two names that repeat") {
  Maker m;
  for (int i = 0; i < 3; ++i) {
    m.range(TimeNs{i} * 100, i * 100 + 95, "iteration " + std::to_string(i));
    m.range(i * 100 + 10, i * 100 + 50, "step");
    m.range(i * 100 + 50, i * 100 + 90, "step");
  }
  const Found f = find(m);
  REQUIRE(f.anchor->threads.size() == 1);
  CHECK(begins(f.anchor->threads[0]) == std::vector<TimeNs>{0, 100, 200});
}

TEST_CASE("anchors: names that only resemble a step") {
  Maker m;
  for (int i = 0; i < 5; ++i) m.range(TimeNs{i} * 100, i * 100 + 100, "train_step_prologue");
  CHECK_FALSE(find(m).anchor);
}

TEST_CASE("anchors: optimizer ranges, from end to end, those without work between merged") {
  Maker m;
  for (int i = 0; i < 4; ++i) {
    const TimeNs t = TimeNs{i} * 1000;
    m.op(t + 10, t + 20, t + 600, kGemm);
    m.range(t + 700, t + 750, "Optimizer.step#AdamW.step");
    m.op(t + 710, t + 720, t + 740, kAdam);
    m.range(t + 760, t + 800, "Optimizer.step#AdamW.step");  // second parameter group
  }
  const Found f = find(m);
  REQUIRE(f.anchor);
  CHECK(f.anchor->origin == StepOrigin::named_range);  // PyTorch's own name, not Megatron's
  CHECK(begins(f.anchor->threads[0]) == std::vector<TimeNs>{800, 1800, 2800});
  Maker megatron;
  for (int i = 0; i < 4; ++i) {
    megatron.op(i * 1000 + 10, i * 1000 + 20, i * 1000 + 600, kGemm);
    megatron.range(i * 1000 + 700, i * 1000 + 750, "optimizer");
  }
  CHECK(find(megatron).anchor->origin == StepOrigin::megatron_ranges);
  Maker two;
  for (int i = 0; i < 2; ++i) {
    two.op(i * 1000 + 10, i * 1000 + 20, i * 1000 + 600, kGemm);
    two.range(i * 1000 + 700, i * 1000 + 750, "optimizer");
  }
  CHECK_FALSE(find(two).anchor);  // two are not enough
}

TEST_CASE("anchors: a device takes the thread that launches most of its ops") {
  Maker m;
  for (int64_t tid : {1, 2}) {
    for (int i = 0; i < 2; ++i) {
      const TimeNs t = int64_t{i} * 1000 + tid * 10;
      m.range(t, t + 900, "ProfilerStep#" + std::to_string(i), tid);
      for (int k = 0; k < 3; ++k)
        m.op(t + k, t + 100 + k, t + 200 + k, kGemm, tid, 7, static_cast<int32_t>(tid - 1));
    }
  }
  m.op(3000, 3100, 3200, kGemm, 3, 7, 0);  // a thread without steps
  const Found f = find(m);
  REQUIRE(f.anchor->threads.size() == 2);
  CHECK(begins(thread_of_device(f.trace, *f.anchor, DeviceId{0})) == std::vector<TimeNs>{10, 1010});
  CHECK(begins(thread_of_device(f.trace, *f.anchor, DeviceId{1})) == std::vector<TimeNs>{20, 1020});
}

TEST_CASE("device windows: the boundary rule") {
  Maker m;  // T01: the host runs ahead, the device passes from step to step later
  m.op(0, 10, 100, kGemm);
  m.op(40, 100, 190, kGemm);
  m.op(120, 200, 290, kGemm);
  m.op(20, 20, 250, kAllReduce, 1, 20);  // communication may cross
  const Found f = find(m);
  const std::vector<HostStep> steps = {{0, 30, 0, {}}, {30, 110, 1, {}}, {110, 300, 2, {}}};
  const auto w = device_windows(f.trace, f.labels, DeviceId{0}, steps);
  CHECK(w == std::vector<Interval>{{0, 100}, {100, 190}, {190, 300}});
}

TEST_CASE("device windows: a missing number separates them") {
  Maker m;
  m.op(0, 10, 120, kGemm);
  m.op(500, 510, 620, kGemm);
  const Found f = find(m);
  const std::vector<HostStep> steps = {{0, 50, 3, {}}, {50, 100, 4, {}}, {500, 600, 8, {}}};
  const auto w = device_windows(f.trace, f.labels, DeviceId{0}, steps);
  CHECK(w == std::vector<Interval>{{0, 120}, {120, 120}, {500, 620}});
}

TEST_CASE("anchors: a hundred thousand ranges and deep nesting are linear") {
  Maker m;
  constexpr int kMany = 100'000;
  for (int i = 0; i < kMany; ++i) {
    m.range(i, 8 * kMany - i, "step");  // nested: only the outermost counts
    m.range(5 * kMany + 2 * i, 5 * kMany + 2 * i + 1, "layer " + std::to_string(i));
    m.range(8 * kMany + i, 8 * kMany + i + 1, "iteration " + std::to_string(i));
  }
  const Found f = find(m);
  REQUIRE(f.anchor);
  CHECK(begins(f.anchor->threads[0]) == std::vector<TimeNs>{0});
}
