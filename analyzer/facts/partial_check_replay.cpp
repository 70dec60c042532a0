// Tested by: partial_damage_test.cpp
#include "facts/partial_check.h"

namespace ws::partial {
namespace {

// Simulated steps are cut by a walk over all records for each step and device.
constexpr uint64_t kMostCutSteps = 1'000'000'000;
constexpr uint32_t kMostIds = 1u << 16;  // processes and devices, which are counted up from 0

void check_calls(const ReplayRank& r, Check& check) {
  for (size_t i = 0; i < r.calls.size() && check.ok(); ++i) {
    const ReplayCall& c = r.calls[i];
    check.span({c.begin_ns, c.end_ns});
    check.need(i == 0 || r.calls[i - 1].begin_ns <= c.begin_ns, "calls out of order");
    check.row(c.thread, r.thread_process.size(), "a call of a thread that is not there");
    check.row(c.process, kMostIds, "a number that is out of range");
    check.row(c.name, r.names.size(), "a name that is not there");
    for (TimeNs covered : c.covered_ns) check.amount(covered);
  }
}

void check_ops(const ReplayRank& r, size_t comm_records, Check& check) {
  check.need(r.streams.size() < kMostIds, "a number that is out of range");
  for (const ReplayStream& s : r.streams) {
    check.row(s.process, kMostIds, "a number that is out of range");
    check.row(s.device, kMostIds, "a number that is out of range");
  }
  for (size_t i = 0; i < r.ops.size() && check.ok(); ++i) {
    const ReplayOp& o = r.ops[i];
    check.span({o.begin_ns, o.end_ns});
    check.need(i == 0 || r.ops[i - 1].begin_ns <= o.begin_ns, "device records out of order");
    check.row(o.stream, r.streams.size(), "a stream that is not there");
    check.row_or_none(o.call, r.calls.size(), "a call that is not there");
    if (o.order_ns != -1) check.time(o.order_ns);
    check.row(o.name, r.names.size(), "a name that is not there");
    check.known_amount(o.bytes);
    check.row_or_none(o.comm_record, comm_records, "an operation that is not there");
  }
  for (const auto& [producer, consumer] : r.waits) {
    check.row(producer, r.ops.size(), "a device record that is not there");
    check.row(consumer, r.ops.size(), "a device record that is not there");
  }
  for (size_t i = 0; i < r.host_waits.size() && check.ok(); ++i) {
    check.row(r.host_waits[i].first, r.calls.size(), "a call that is not there");
    check.row(r.host_waits[i].second, r.ops.size(), "a device record that is not there");
    check.need(i == 0 || r.host_waits[i - 1].first <= r.host_waits[i].first, "waits out of order");
  }
}

void check_windows(const ReplayRank& r, size_t devices, Check& check) {
  check.need(r.cuts.size() <= devices, "steps of a device that is not there");
  const uint64_t most = kMostCutSteps / (r.ops.size() + 1) / (r.cuts.size() + 1);
  check.need(r.host_steps.size() <= most, "more steps than can be simulated again");
  check.need(!r.host_steps.empty() && r.host_steps.size() == r.step_index.size(),
             "lists of different lengths");
  for (size_t i = 0; i < r.host_steps.size() && check.ok(); ++i) {
    check.span(r.host_steps[i]);
    check.need(
        i == 0 || (r.host_steps[i - 1].end_ns <= r.host_steps[i].begin_ns &&
                   r.step_index[i - 1] < INT64_MAX && r.step_index[i] == r.step_index[i - 1] + 1),
        "steps out of order");
  }
  for (const ReplayCuts& cuts : r.cuts) {
    check.row(cuts.device, kMostIds, "a number that is out of range");
    check.need(cuts.at_ns.size() == r.host_steps.size() + 1, "lists of different lengths");
    for (size_t i = 0; i < cuts.at_ns.size() && check.ok(); ++i) {
      check.time(cuts.at_ns[i]);
      check.need(i == 0 || cuts.at_ns[i - 1] <= cuts.at_ns[i], "steps out of order");
    }
  }
}

}  // namespace

void check_replay(const ReplayRank& r, size_t comm_records, size_t devices, Check& check) {
  for (TimeNs v :
       {r.constants.launch_latency_ns, r.constants.kernel_gap_ns, r.constants.straddle_eps_ns})
    check.amount(v);
  for (uint32_t process : r.thread_process)
    check.row(process, kMostIds, "a number that is out of range");
  check_calls(r, check);
  check_ops(r, comm_records, check);
  check_windows(r, devices, check);
  for (size_t i = 0; i < r.ranges.size() && check.ok(); ++i) {
    check.span({r.ranges[i].begin_ns, r.ranges[i].end_ns});
    check.need(i == 0 || r.ranges[i - 1].begin_ns <= r.ranges[i].begin_ns, "ranges out of order");
    check.row(r.ranges[i].thread, r.thread_process.size(), "a range of a thread that is not there");
    check.row(r.ranges[i].name, r.names.size(), "a name that is not there");
  }
}

bool complete_replay(ReplayRank& r) {
  for (size_t i = 0; i < r.calls.size(); ++i) {
    ReplayCall& c = r.calls[i];
    if (c.pred == kNoRow) continue;
    if (c.pred >= i || r.calls[c.pred].end_ns > c.begin_ns) return false;
    c.lag_ns = c.begin_ns - r.calls[c.pred].end_ns;
  }
  for (const ReplayOp& o : r.ops) {
    if (o.call == kNoRow) continue;
    if (o.call >= r.calls.size()) return false;
    ++r.calls[o.call].op_count;
  }
  uint32_t sum = 0;
  std::vector<uint32_t> next;
  for (ReplayCall& c : r.calls) {
    c.first_op = sum;
    next.push_back(sum);
    sum += c.op_count;
  }
  r.launched.resize(sum);
  for (uint32_t i = 0; i < r.ops.size(); ++i)
    if (r.ops[i].call != kNoRow) r.launched[next[r.ops[i].call]++] = i;
  return true;
}

}  // namespace ws::partial
