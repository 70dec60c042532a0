// The micro-scenarios of the attribution rules: same integers, one section each. Every scenario is
// also cut at seven points: the parts add up to the whole.
#include <fstream>

#include "support/catch.h"
#include "support/scenario_trace.h"

using namespace ws;
using namespace ws::test;

namespace {

const nlohmann::json& scenarios() {
  static const nlohmann::json all = nlohmann::json::parse(
      std::ifstream(std::string(WS_SOURCE_DIR) + "/tests/scenarios/scenarios.json"));
  return all;
}

Constants constants() {
  const nlohmann::json& p = scenarios().at("params");
  Constants c;
  c.launch_latency_ns = p.at("launch_latency_ns");
  c.kernel_gap_ns = p.at("kernel_gap_ns");
  c.straddle_eps_ns = p.at("straddle_eps_ns");
  return c;
}

Timeline timeline_of(const ScenarioTrace& t, int32_t ordinal, Interval window) {
  const HostStates host(t.trace, t.labels);
  return build_timeline(t.trace, t.labels, host, t.device(ordinal), constants(), window,
                        t.arrivals);
}

void check_cuts(const ScenarioTrace& t, int32_t ordinal, Interval window, const Breakdown& whole) {
  const Timeline timeline = timeline_of(t, ordinal, window);
  const TimeNs step = std::max<TimeNs>(1, window.length() / 7);
  for (TimeNs cut = window.begin_ns + 1; cut < window.end_ns; cut += step) {
    const Interval halves[] = {{window.begin_ns, cut}, {cut, window.end_ns}};
    Breakdown sum;
    for (const Interval& half : halves) sum.add(partition_of(t, ordinal, constants(), half));
    CHECK(sum.ns == whole.ns);
    Breakdown from_one_timeline;
    for (const Breakdown& b : partition(timeline, halves)) from_one_timeline.add(b);
    CHECK(from_one_timeline.ns == whole.ns);
  }
}

void check_overlap(const ScenarioTrace& t, int32_t ordinal, Interval window,
                   const nlohmann::json& want) {
  for (const auto& [what, figures] : want.items()) {
    const Overlap got = overlap_of(t.trace, t.labels, t.device(ordinal), window, what == "comm");
    CHECK(got.total_ns == figures.at("total").get<TimeNs>());
    CHECK(got.hidden_ns == figures.at("hidden").get<TimeNs>());
  }
}

void check_diagnostics(const ScenarioTrace& t, const nlohmann::json& want) {
  if (want.contains("negative"))
    CHECK(t.trace.notes.count(NoteCode::negative_duration) == want["negative"].get<int64_t>());
  if (want.contains("zero")) {
    int64_t zero = 0;
    for (size_t i = 0; i < t.trace.ops.size(); ++i)
      zero += t.trace.ops.begin_ns[i] == t.trace.ops.end_ns[i] ? 1 : 0;
    CHECK(zero == want["zero"].get<int64_t>());
  }
}

}  // namespace

TEST_CASE("the partition scenarios give their integers") {
  REQUIRE(scenarios().at("partition").size() == 53);
  for (const nlohmann::json& s : scenarios().at("partition")) {
    DYNAMIC_SECTION(s.at("id").get<std::string>() << " " << s.at("title").get<std::string>()) {
      const ScenarioTrace t(scenario_from_json(s));
      const Interval window{s.at("window").at(0), s.at("window").at(1)};
      const int32_t ordinal = s.at("dev");
      const Breakdown whole = partition_of(t, ordinal, constants(), window);
      CHECK(nonzero(whole) == s.at("expect").get<std::map<std::string, TimeNs>>());
      CHECK(whole.total() == window.length());
      check_diagnostics(t, s.at("diag"));
      check_cuts(t, ordinal, window, whole);
      check_overlap(t, ordinal, window, s.at("overlap"));
    }
  }
}
