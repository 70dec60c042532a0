#pragma once
// A trace as the scenarios state it: integer times, classes given instead of names. Built through
// TraceBuilder with its hygiene off, so that only the partition is under test.
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/partition.h"
#include "model/trace_builder.h"

namespace ws::test {

struct ScenarioOp {
  int64_t id = 0;
  int32_t dev = 0;
  int64_t stream = 7;
  TimeNs s = 0, e = 0;
  std::string cls;
  int64_t pid = 0;
  std::optional<uint32_t> corr;
  bool recompute = false, offload = false;
  std::string kind = "other";
  uint32_t graph = 0;
};
struct ScenarioCall {
  int64_t tid = 1, pid = 0;
  TimeNs s = 0, e = 0;
  std::string name;
  std::optional<uint32_t> corr;
};
struct ScenarioRange {
  int64_t tid = 1, pid = 0;
  TimeNs s = 0, e = 0;
  std::string kind;
};
struct ScenarioInput {
  std::vector<ScenarioOp> ops;
  std::vector<ScenarioCall> calls;
  std::vector<ScenarioRange> ranges;
  std::map<int64_t, TimeNs> arrivals;  // by op id
};

ScenarioInput scenario_from_json(const nlohmann::json& j);

// shift_ns is added to every time, arrivals too.
struct ScenarioTrace {
  explicit ScenarioTrace(const ScenarioInput& input, TimeNs shift_ns = 0, TimeNs tick_ns = 1);
  DeviceId device(int32_t ordinal) const;

  Trace trace;
  OpLabels labels;
  std::vector<TimeNs> arrivals;
};

// Leaves that took time, by name: what the scenarios state.
std::map<std::string, TimeNs> nonzero(const Breakdown& b);

// The partition of one window of one device.
Breakdown partition_of(const ScenarioTrace& t, int32_t ordinal, const Constants& constants,
                       Interval window);

}  // namespace ws::test
