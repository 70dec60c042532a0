#pragma once
// The attribution rules written once more, the slow way: every tick asks every record. Shares
// nothing with the product but the names of leaves, so that a common mistake is unlikely.
#include "model/names.h"
#include "support/scenario_trace.h"

namespace ws::test {

struct NaiveConstants {
  TimeNs launch_latency = 5, kernel_gap = 2, straddle_eps = 1;
};

class NaivePartition {
 public:
  NaivePartition(const ScenarioInput& input, int32_t device, NaiveConstants constants);
  // Leaf of [t, t + 1). horizon: end of the window, where the tail of the recording stops.
  Leaf leaf_at_tick(TimeNs t, TimeNs horizon) const;

 private:
  struct Event {  // of a host thread
    int64_t pid, tid;
    TimeNs s, e;
    int rank;  // position in the order of states
    bool is_call;
  };
  using Ops = std::vector<const ScenarioOp*>;
  Ops active(TimeNs t) const;
  bool compute_at(TimeNs t) const;
  const ScenarioOp* blocker(TimeNs t) const;
  Leaf busy_leaf(TimeNs t, const Ops& running) const;
  Leaf comm_leaf_of(const ScenarioOp& op, TimeNs t) const;
  Leaf idle_leaf(TimeNs t, TimeNs horizon) const;
  Leaf host_phase_leaf(TimeNs t, TimeNs g0, TimeNs p, const Event& launch,
                       const ScenarioCall* previous) const;
  int state(int64_t pid, int64_t tid, TimeNs t) const;
  int call_rank(const ScenarioCall& call) const;
  const ScenarioCall* launch_of(const ScenarioOp* op) const;

  std::vector<ScenarioOp> ops_;  // of the device, those that take time, by (s, id)
  const ScenarioInput& in_;
  std::vector<Event> events_;
  NaiveConstants c_;
};

}  // namespace ws::test
