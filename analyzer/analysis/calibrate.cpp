// Lambda and kappa of a device from its own launches (ALGORITHMS 3.4).
// Tested by: calibrate_test.cpp, oracle_agreement.py
#include <algorithm>
#include <unordered_map>

#include "analysis/partition.h"

namespace ws {
namespace {

constexpr size_t kEnoughSamples = 20;
constexpr TimeNs kMinLatency = 2000, kMaxLatency = 20000, kMinGap = 1000, kMaxGap = 5000;
constexpr TimeNs kMicrosecond = 1000;  // files of that resolution blur both constants

struct Samples {
  std::vector<TimeNs> latency_ns;  // of launches that found the device empty
  std::vector<TimeNs> gap_ns;      // same-stream gaps whose launch came long before
};

// By name alone: a copy that blocked its caller is still a launch here.
bool is_launch(const Trace& trace, const HostStates& host, uint32_t call) {
  const HostState state = host.class_of_call(call);
  return state == HostState::launch ||
         (state == HostState::sync &&
          state_of_call(trace.strings[trace.calls.name[call]]) == HostState::launch);
}

Samples collect(const Trace& trace, const HostStates& host, DeviceId device,
                TimeNs launch_latency_ns) {
  Samples out;
  const GpuOps& ops = trace.ops;
  std::unordered_map<StreamId, uint32_t> last;  // a device has few of the trace's streams
  bool any = false;
  TimeNs busy_until = 0;
  for (const uint32_t op : trace.ops_by_device[row(device)]) {
    if (ops.end_ns[op] <= ops.begin_ns[op]) continue;
    uint32_t& before = last.try_emplace(ops.stream[op], kNoRow).first->second;
    const uint32_t launch = ops.launch[op];
    if (any && launch != kNoRow && is_launch(trace, host, launch)) {
      const TimeNs launched = trace.calls.begin_ns[launch];
      if (launched >= busy_until) out.latency_ns.push_back(ops.begin_ns[op] - launched);
      if (before != kNoRow && ops.end_ns[before] == busy_until && ops.begin_ns[op] >= busy_until &&
          launched < busy_until - launch_latency_ns)
        out.gap_ns.push_back(ops.begin_ns[op] - busy_until);
    }
    busy_until = any ? std::max(busy_until, ops.end_ns[op]) : ops.end_ns[op];
    any = true;
    before = op;
  }
  return out;
}

TimeNs quantile(std::vector<TimeNs>& values, size_t tenths) {
  const size_t at = std::min(values.size() - 1, values.size() * tenths / 10);
  const auto it = values.begin() + static_cast<ptrdiff_t>(at);
  std::nth_element(values.begin(), it, values.end());
  return *it;
}

}  // namespace

Constants calibrate(const Trace& trace, const OpLabels&, const HostStates& host, DeviceId device) {
  Constants c;
  Samples samples = collect(trace, host, device, c.launch_latency_ns);
  if (samples.latency_ns.size() >= kEnoughSamples) {
    c.launch_latency_ns = std::clamp(quantile(samples.latency_ns, 5), kMinLatency, kMaxLatency);
    c.launch_latency_measured = true;
  }
  if (samples.gap_ns.size() >= kEnoughSamples) {
    c.kernel_gap_ns = std::clamp(quantile(samples.gap_ns, 9), kMinGap, kMaxGap);
    c.kernel_gap_measured = true;
  }
  if (trace.tick_ns >= kMicrosecond) {
    c.kernel_gap_ns += kMicrosecond;
    c.straddle_eps_ns = 2 * kMicrosecond;
  }
  return c;
}

}  // namespace ws
