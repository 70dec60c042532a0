#pragma once
// What each change would gain, for a whole run (ALGORITHMS 6): the graph of all its ranks, the
// table of what-ifs with the wall that each would expose, the prices by which the verdict goes, the
// critical path. Works for one rank alone, and for several whose collectives were not matched:
// then what is waiting and what is transfer is not known, and intervals say so.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/collective_match.h"
#include "analysis/critical_path.h"
#include "analysis/losses.h"
#include "analysis/replay_graph.h"

namespace ws {

struct NextWall {
  LossGroup loss = LossGroup::useful;
  Cause cause = Cause::unknown;
};

struct WhatIfRow {
  std::string id;
  TimeNs step_lo_ns = 0, step_hi_ns = 0;  // mean steady step after the change
  double saved_lo_share = 0, saved_hi_share = 0;
  std::optional<NextWall> next;  // nullopt: not looked at, the change gains next to nothing
};

struct PricedRun {
  std::vector<WhatIfRow> rows;   // in the order of the ids
  std::string why_not;           // why there are no rows, "" when there are
  std::optional<Prices> prices;  // nullopt: shares decide
  std::string why_no_prices;     // "" when there are
  CriticalPath path;
  int64_t steps = 0;             // differences of step ends behind every figure
  double unexplained_share = 0;  // of the step: what the graph can not explain
  TimeNs replay_error_ns = 0;    // most that an event of the unchanged replay is off; 0 is expected
  int64_t meetings = 0;          // collectives in the graph whose members are known
  int64_t recorded_edges = 0, inferred_edges = 0, violated_edges = 0;
};

// What is known of several ranks together; empty for a single rank.
struct MatchedRanks {
  Offsets offsets;  // per rank; empty: all 0
  // Members as (row of the ranks, comm record as given to make_replay_rank).
  std::vector<Instance> instances;
  std::vector<CommIdentity> communicators;
  std::vector<uint32_t> late_ranks;  // rows of the ranks (ALGORITHMS 5.4)
};

struct PriceOptions {
  bool wanted = true;                     // false: --no-what-if
  std::vector<std::string> combinations;  // "launch_zero+ep_zero", checked by is_what_if
  unsigned threads = 1;
};

// Takes the replays out of ranks. means: of the same ranks.
PricedRun price_run(std::vector<RankAnalysis>& ranks, const RunMeans& means,
                    const MatchedRanks& known, const PriceOptions& options);

// A known id, or several joined by '+'.
bool is_what_if(std::string_view id);
// Every id, in the order of DESIGN 5.
std::vector<std::string_view> what_if_ids();

}  // namespace ws
