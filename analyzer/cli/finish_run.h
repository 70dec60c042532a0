#pragma once
// From ranks to facts: where analyze and merge meet.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "analysis/run_builder.h"
#include "base/result.h"
#include "cli/stated.h"
#include "config/run_config.h"
#include "facts/write_facts.h"

namespace ws::cli {

void add_config_option(CLI::App& app, std::string& path);
// With what the user states in place of what the file says; nullopt: no path was given.
Result<std::optional<RunConfig>> load_config_option(const std::string& path,
                                                    const RunConfig& stated);

struct WhatIfOptions {
  std::vector<std::string> ids;  // --what-if
  bool none = false;             // --no-what-if
};
void add_what_if_options(CLI::App& app, WhatIfOptions& options);
Result<PriceOptions> check_what_if_options(const WhatIfOptions& options, unsigned threads);

// Device records that all ranks together keep for re-simulation: bounds its memory and time (D).
inline constexpr size_t kReplayOps = 1'200'000;
constexpr size_t replay_share(size_t files) { return kReplayOps / std::max<size_t>(1, files); }

// What --step, --rank and --time chose, as given; "": everything.
struct Selection {
  std::string steps, ranks, time;
};

// ranks: in the order of their traces. stated: what the user states of the software; it is in
// shown.config already where that is given. Fails when the selection leaves nothing.
Result<FactDb> facts_of_ranks(std::vector<RankAnalysis> ranks, const Selection& selection,
                              const RunOptions& options, Notes notes, const FactOptions& shown,
                              const RunConfig& stated);

}  // namespace ws::cli
