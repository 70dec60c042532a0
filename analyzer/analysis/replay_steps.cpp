// Steps belong to the host: an op is of the step in which it was launched. Where no range announces
// the steps, a step begins on the host with the launch of the first op of its device window.
// Tested by: price_run_test.cpp
#include "analysis/replay_steps.h"

#include <algorithm>

namespace ws {
namespace {

struct Rows {
  size_t first = 0, count = 0;
};

bool follows(const Step& before, const Step& after) { return after.index == before.index + 1; }

// The longest run of consecutive steady steps, led by the complete step before it.
Rows longest_run(const std::vector<Step>& steps) {
  Rows best;
  for (size_t i = 0; i < steps.size();) {
    if (!steps[i].steady || !steps[i].complete) {
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < steps.size() && steps[end].steady && steps[end].complete &&
           follows(steps[end - 1], steps[end]))
      ++end;
    if (end - i > best.count) best = {i, end - i};
    i = end;
  }
  const bool led = best.first > 0 && best.count > 0 && steps[best.first - 1].complete &&
                   follows(steps[best.first - 1], steps[best.first]);
  return led ? Rows{best.first - 1, best.count + 1} : best;
}

TimeNs launch_of(const Trace& trace, size_t op) {
  const uint32_t call = trace.ops.launch[op];
  return call == kNoRow ? trace.ops.begin_ns[op] : trace.calls.begin_ns[call];
}

// Per device window: earliest launch among the ops that begin in it, made monotone.
std::vector<Interval> host_times_by_launch(const Trace& trace, const DeviceSteps& device,
                                           Rows rows) {
  std::vector<Interval> out;
  const std::vector<uint32_t>& ops = trace.ops_by_device[row(device.device)];
  size_t next = 0;
  TimeNs last_launch = INT64_MIN;
  for (size_t s = rows.first; s < rows.first + rows.count; ++s) {
    const Interval window = (*device.steps)[s].window;
    TimeNs earliest = window.begin_ns;
    for (; next < ops.size() && trace.ops.begin_ns[ops[next]] < window.end_ns; ++next) {
      if (trace.ops.begin_ns[ops[next]] < window.begin_ns) continue;
      earliest = std::min(earliest, launch_of(trace, ops[next]));
      last_launch = std::max(last_launch, launch_of(trace, ops[next]));
    }
    if (!out.empty()) {
      earliest = std::max(earliest, out.back().begin_ns);
      out.back().end_ns = earliest;
    }
    out.push_back({earliest, earliest});
  }
  if (!out.empty()) out.back().end_ns = std::max(out.back().begin_ns, last_launch + 1);
  return out;
}

std::vector<Interval> host_times(const Trace& trace, const DeviceSteps& device, Rows rows,
                                 const std::vector<Step>& host_steps) {
  std::vector<Interval> out;
  for (size_t s = rows.first; s < rows.first + rows.count; ++s) {
    const int64_t index = (*device.steps)[s].index;
    const auto it = std::find_if(host_steps.begin(), host_steps.end(),
                                 [&](const Step& h) { return h.index == index; });
    if (it == host_steps.end() || (!out.empty() && it->window.begin_ns < out.back().end_ns))
      return host_times_by_launch(trace, device, rows);
    out.push_back(it->window);
  }
  return out;
}

// How many device records are launched before t, by the launches alone.
std::vector<TimeNs> launches(const Trace& trace) {
  std::vector<TimeNs> out;
  out.reserve(trace.ops.size());
  for (size_t i = 0; i < trace.ops.size(); ++i) out.push_back(launch_of(trace, i));
  std::sort(out.begin(), out.end());
  return out;
}

// Steps that fit, from the front: all while they are small, else kReplaySteps.
size_t steps_that_fit(const std::vector<TimeNs>& launched, const std::vector<Interval>& host,
                      size_t most_ops) {
  const auto at = [&](TimeNs t) {
    return static_cast<size_t>(std::lower_bound(launched.begin(), launched.end(), t) -
                               launched.begin());
  };
  size_t fit = 0;
  const size_t from = at(host.front().begin_ns);
  for (size_t n = 1; n <= host.size(); ++n) {
    const size_t ops = at(n < host.size() ? host[n].begin_ns : host[n - 1].end_ns) - from;
    const size_t most = n > kReplaySteps ? std::min(most_ops, kSmallReplayOps) : most_ops;
    if (ops > most) break;
    fit = n;
  }
  return fit;
}

// End of the records to keep: up to the first op that starts at or after the end of the steps (its
// gap tells why the device was idle before it), and ops without a launch until then.
TimeNs end_of_records(const Trace& trace, const DeviceSteps& device, TimeNs host_end_ns,
                      TimeNs steps_end_ns) {
  const std::vector<uint32_t>& ops = trace.ops_by_device[row(device.device)];
  auto it = std::lower_bound(ops.begin(), ops.end(), host_end_ns,
                             [&](uint32_t op, TimeNs at) { return trace.ops.begin_ns[op] < at; });
  TimeNs end = host_end_ns;
  for (; it != ops.end(); ++it) {
    const bool last = trace.ops.begin_ns[*it] >= steps_end_ns;
    if (last || trace.ops.launch[*it] == kNoRow) end = std::max(end, launch_of(trace, *it) + 1);
    if (last) break;
  }
  return end;
}

const DeviceSteps* busiest(const Trace& trace, const std::vector<DeviceSteps>& devices) {
  const DeviceSteps* out = nullptr;
  const auto ops = [&](const DeviceSteps& d) { return trace.ops_by_device[row(d.device)].size(); };
  for (const DeviceSteps& d : devices)
    if (out == nullptr || ops(d) > ops(*out)) out = &d;
  return out;
}

}  // namespace

std::optional<ReplayRank> replay_of_steps(const Trace& trace, const Labels& labels,
                                          const std::vector<DeviceSteps>& devices,
                                          const std::vector<Step>& host_steps, size_t most_ops,
                                          const std::vector<uint32_t>& comm_record_of_op) {
  const DeviceSteps* main = busiest(trace, devices);
  if (main == nullptr) return std::nullopt;
  Rows rows = longest_run(*main->steps);
  if (rows.count < 2) return std::nullopt;
  std::vector<Interval> host = host_times(trace, *main, rows, host_steps);
  rows.count = steps_that_fit(launches(trace), host, most_ops);
  if (rows.count < 2) return std::nullopt;
  host.resize(rows.count);
  const auto first = main->steps->begin() + static_cast<std::ptrdiff_t>(rows.first);
  Interval window{host.front().begin_ns, host.back().end_ns};
  std::vector<ReplayCuts> cuts;
  for (const DeviceSteps& device : devices) {
    ReplayCuts c{static_cast<uint32_t>(device.device),
                 trace.devices[row(device.device)].ordinal,
                 device.constants,
                 {}};
    for (size_t s = 0; s < rows.count; ++s) {
      for (const Step& step : *device.steps) {
        if (step.index != (first + static_cast<std::ptrdiff_t>(s))->index) continue;
        if (c.at_ns.empty()) c.at_ns.push_back(step.window.begin_ns);
        c.at_ns.push_back(step.window.end_ns);
        break;
      }
    }
    if (c.at_ns.size() != rows.count + 1) continue;
    window.end_ns = end_of_records(trace, device, window.end_ns, c.at_ns.back());
    cuts.push_back(std::move(c));
  }
  ReplayRank out = make_replay_rank(trace, labels, main->constants, window, comm_record_of_op);
  out.host_steps = std::move(host);
  for (size_t s = 0; s < rows.count; ++s)
    out.step_index.push_back((first + static_cast<std::ptrdiff_t>(s))->index);
  out.cuts = std::move(cuts);
  return out;
}

}  // namespace ws
