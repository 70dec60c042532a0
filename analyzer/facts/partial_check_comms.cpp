// Tested by: partial_damage_test.cpp
#include <array>

#include "analysis/counted_steps.h"
#include "facts/partial_check.h"

namespace ws::partial {
namespace {

constexpr size_t kKinds = static_cast<size_t>(CommKind::other) + 1;
using ByKind = std::array<TimeNs, kKinds>;

void check_records(const DeviceAnalysis& device, size_t communicators, Check& check) {
  const DeviceComms& c = device.comms;
  const size_t n = c.records.size();
  check.need(c.row.size() == n && c.step.size() == n && c.before.size() == n,
             "lists of different lengths");
  for (size_t i = 0; i < n && check.ok(); ++i) {
    const CommRecord& r = c.records[i];
    check.span({r.begin_ns, r.end_ns});
    check.time(r.order_ns);
    check.need(i == 0 || c.records[i - 1].begin_ns <= r.begin_ns, "operations out of order");
    check.row(r.communicator, communicators, "an operation of a communicator that is not there");
    check.known_amount(r.bytes);
    check.row_or_none(c.row[i], device.collectives.size(),
                      "an operation of a collective that is not there");
    check.need(c.step[i] == kNoStep || c.step[i] < device.steps.size(),
               "an operation of a step that is not there");
    if (!c.before[i].known) continue;
    check.time(c.before[i].from_ns);
    check.need(c.before[i].from_ns <= r.begin_ns, "an end before its begin");
  }
}

// Times stand in order and inside their steps, so no time is moved twice when waiting is split off.
void check_exposed(const DeviceAnalysis& device, Check& check) {
  const DeviceComms& c = device.comms;
  TimeNs before = INT64_MIN;
  for (const ExposedPart& part : c.exposed) {
    check.row(part.record, c.records.size(), "exposed time of an operation that is not there");
    check.row(part.step, device.steps.size(), "exposed time of a step that is not there");
    if (!check.ok()) return;
    const Interval window = device.steps[part.step].window;
    check.need(before <= part.span.begin_ns && part.span.begin_ns <= part.span.end_ns &&
                   window.begin_ns <= part.span.begin_ns && part.span.end_ns <= window.end_ns,
               "exposed time out of order");
    before = part.span.end_ns;
  }
}

// What is moved to waiting and transfer later is there to be moved.
void check_unsplit(const DeviceAnalysis& device, Check& check) {
  std::vector<ByKind> per_step(device.steps.size());
  std::vector<TimeNs> per_row(device.collectives.size(), 0);
  ByKind all{};
  std::vector<bool> counted(device.steps.size(), false);
  for (size_t step : counted_steps(device.steps)) counted[step] = true;
  for (const ExposedPart& part : device.comms.exposed) {
    const auto kind = static_cast<size_t>(device.comms.records[part.record].kind);
    per_step[part.step][kind] += part.span.length();
    if (!counted[part.step]) continue;
    all[kind] += part.span.length();
    const uint32_t row = device.comms.row[part.record];
    if (row != kNoRow) per_row[row] += part.span.length();
  }
  const auto covers = [&](const Breakdown& p, const ByKind& sums) {
    for (size_t k = 0; k < kKinds; ++k) {
      check.need(
          sums[k] <= p[comm_leaf(OpClass::comm, static_cast<CommKind>(k), CommPart::unsplit)],
          "more exposed time than its step has");
    }
  };
  for (size_t i = 0; i < per_step.size(); ++i) covers(device.breakdowns[i], per_step[i]);
  for (const Breakdown* p : {&device.evidence.half_constants, &device.evidence.double_constants})
    if (device.evidence.half_constants.total() > 0) covers(*p, all);
  for (size_t i = 0; i < per_row.size(); ++i)
    check.need(per_row[i] <= device.collectives[i].unsplit_ns,
               "more exposed time than its collective has");
}

}  // namespace

void check_comms(const DeviceAnalysis& device, size_t communicators, Check& check) {
  const DeviceComms& c = device.comms;
  check_records(device, communicators, check);
  check_exposed(device, check);
  if (check.ok()) check_unsplit(device, check);
  check.need(c.stage_steps.empty() || c.stage_steps.size() == device.steps.size(),
             "lists of different lengths");
  for (const StageStep& s : c.stage_steps) {
    for (const Interval& hull : {s.pipeline, s.compute})
      if (hull.begin_ns != hull.end_ns) check.span(hull);
  }
  for (const EdgeIdle& idle : c.edge_idle) {
    check.row(idle.step, c.stage_steps.size(), "idle time of a step that is not there");
    check.span(idle.span);
  }
}

}  // namespace ws::partial
