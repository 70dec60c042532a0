#pragma once
// What a change would gain, by re-simulating the recorded graph (ALGORITHMS 6). Every gain is an
// interval: residuals kept and removed, each against the baseline of its own kind. Gains of several
// changes are never added: combinations are simulated together.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/peer_times.h"

namespace ws {

struct Gain {
  double lo_share = 0, hi_share = 0;  // of the mean recorded step; may be negative
};

struct WhatIfContext {
  std::vector<uint32_t> late_ranks;  // rows of the graph's ranks, for straggler_fixed
};

class WhatIf {
 public:
  WhatIf(const ReplayGraph& graph, const WhatIfContext& context);

  // id: one change ("ep_zero", "network_x2", "launch_zero", "straggler_fixed", DESIGN 5) or parts
  // joined with '+'. nullopt: unknown id, or nothing in this run that it could change. events: of
  // the run with residuals kept, or without where that one gains next to nothing.
  std::optional<Gain> gain(std::string_view id, std::vector<TimeNs>* events = nullptr) const;
  // Event times with the change made, residuals kept (lower bound of the gain).
  std::optional<std::vector<TimeNs>> simulate(std::string_view id, bool keep_residuals) const;
  // Ids that can change something in this run, in the order of DESIGN 5.
  std::vector<std::string> applicable() const;
  // 1 - step(without residuals) / step: what the graph can not explain. Above 5 % no price is
  // given.
  double unexplained_share() const { return 1.0 - bare_step_ns_ / recorded_step_ns_; }
  // false: this single change finds nothing to change.
  bool has_part(std::string_view id) const;
  // Most that an event of the unchanged replay is off.
  TimeNs replay_error_ns() const { return replay_error_ns_; }
  double recorded_step_ns() const { return recorded_step_ns_; }

 private:
  bool apply(std::string_view id, bool keep, Scenario& s) const;
  bool apply_one(std::string_view id, bool keep, Scenario& s) const;
  bool apply_transfer(std::string_view id, bool keep, Scenario& s) const;
  void end_waits(Scenario& s) const;
  void look_for_parts();
  bool has_any_part(std::string_view id) const;
  const ReplayGraph& graph_;
  std::vector<PeerTime> peers_;        // of the late ranks
  std::vector<uint32_t> unmatched_;    // nodes of communication whose peers are not known
  std::set<std::string_view> absent_;  // single changes that find nothing to change
  double recorded_step_ns_ = 0, bare_step_ns_ = 0;
  TimeNs replay_error_ns_ = 0;
};

// The single changes that a group id or a combination is made of; the id itself where it is one.
std::vector<std::string_view> parts_of(std::string_view id);

// Every id of DESIGN 5 that a replay can answer, in that order.
std::vector<std::string_view> replayed_ids();

}  // namespace ws
