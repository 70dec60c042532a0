#pragma once
// What a change would gain, by re-simulating the recorded graph (ALGORITHMS 6). Every gain is an
// interval: residuals kept and removed, each against the baseline of its own kind. Gains of several
// changes are never added: combinations are simulated together.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/replay_graph.h"

namespace ws {

struct Gain {
  double lo_share = 0, hi_share = 0;  // of the mean recorded step; may be negative
};

// One change, for example "ep_zero", "network_x2", "launch_zero", "straggler_fixed" (DESIGN 5).
struct WhatIfContext {
  std::vector<uint32_t> late_ranks;  // rows of the graph's ranks, for straggler_fixed
};

class WhatIf {
 public:
  WhatIf(const ReplayGraph& graph, WhatIfContext context);

  // nullopt: unknown id, or nothing in this run that it could change. Parts joined with '+'.
  std::optional<Gain> gain(std::string_view id);
  // Event times with the change made, residuals kept (lower bound of the gain).
  std::optional<std::vector<TimeNs>> simulate(std::string_view id, bool keep_residuals);
  // Ids that can change something in this run, in the order of DESIGN 5.
  std::vector<std::string> applicable();
  // 1 - step(without residuals) / step: what the graph can not explain. Above 5 % no price is
  // given.
  double unexplained_share() const { return 1.0 - bare_step_ns_ / recorded_step_ns_; }
  double recorded_step_ns() const { return recorded_step_ns_; }

 private:
  bool apply(std::string_view id, bool keep, Scenario& s);
  bool apply_one(std::string_view id, bool keep, Scenario& s);
  const ReplayGraph& graph_;
  WhatIfContext context_;
  double recorded_step_ns_ = 0, bare_step_ns_ = 0;
};

}  // namespace ws
