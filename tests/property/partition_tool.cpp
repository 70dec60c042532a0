// Reads one scenario per line (JSON) and prints what the product makes of it, one line each:
// leaves, overlap, offload idle and the calibrated constants. Used by oracle_agreement.py.
#include <iostream>

#include "support/scenario_trace.h"

using namespace ws;
using namespace ws::test;

namespace {

nlohmann::json overlap_json(const ScenarioTrace& t, DeviceId device, Interval window, bool comm) {
  const Overlap o = overlap_of(t.trace, t.labels, device, window, comm);
  return {{"total", o.total_ns}, {"hidden", o.hidden_ns}};
}

nlohmann::json answer(const nlohmann::json& question) {
  const ScenarioTrace t(scenario_from_json(question));
  const Interval window{question.at("window").at(0), question.at("window").at(1)};
  const DeviceId device = t.device(question.at("dev"));
  const HostStates host(t.trace, t.labels);
  const Constants measured = calibrate(t.trace, t.labels, host, device);
  const Constants used = question.at("calibrated").get<bool>() ? measured : Constants{};
  const Timeline timeline =
      build_timeline(t.trace, t.labels, host, device, used, window, t.arrivals);
  const std::span<const Interval> windows(&window, 1);
  return {{"partition", nonzero(partition(timeline, windows).front())},
          {"comm", overlap_json(t, device, window, true)},
          {"copy", overlap_json(t, device, window, false)},
          {"offload_idle", offload_idle(t.trace, t.labels, device, windows).front()},
          {"constants", {measured.launch_latency_ns, measured.kernel_gap_ns}}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer(nlohmann::json::parse(line)).dump() << "\n";
}
