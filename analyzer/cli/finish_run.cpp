// Tested by: tests/cli, merge_check.py
#include "cli/finish_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/common.h"
#include "cli/options.h"
#include "cli/recorded_config.h"
#include "cli/verbs.h"

namespace ws::cli {
namespace {

// In words for the report.
std::string text_of(const Selection& selection) {
  std::string out;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name, value);
  };
  add("step", selection.steps);
  add("rank", selection.ranks);
  add("time", selection.time);
  return out;
}

// Ranks that were asked for and are in no file.
void note_absent_ranks(const RunOptions& asked, RunAnalysis& run) {
  std::vector<int32_t> absent;
  for (const int32_t rank : asked.ranks) {
    if (std::none_of(run.ranks.begin(), run.ranks.end(),
                     [&](const RankAnalysis& r) { return r.rank == rank; }))
      absent.push_back(rank);
  }
  if (absent.empty()) return;
  run.notes.add(NoteCode::rank_not_found, {}, static_cast<int64_t>(absent.size()),
                ranks_text(absent));
}

}  // namespace

void add_config_option(CLI::App& app, std::string& path) {
  app.add_option("--config", path,
                 "run configuration: Megatron-LM script or argument dump, Bridge or NeMo YAML, "
                 "torchtitan TOML, or native keys")
      ->check(not_empty())
      ->type_name("FILE");
}

Result<std::optional<RunConfig>> load_config_option(const std::string& path) {
  if (path.empty()) return std::optional<RunConfig>();
  auto given = load_run_config(path);
  if (!given) return given.error();
  return std::optional<RunConfig>(std::move(*given));
}

void add_what_if_options(CLI::App& app, WhatIfOptions& options) {
  app.add_flag("--no-what-if", options.none, "no re-simulation of gains");
  app.add_option("--what-if", options.ids,
                 "one more change to re-simulate: an id of the WHAT IF table, or several joined by "
                 "+; may be given more than once")
      ->type_name("A+B");
}

Result<PriceOptions> check_what_if_options(const WhatIfOptions& options, unsigned threads) {
  for (const std::string& id : options.ids) {
    if (is_what_if(id)) continue;
    return Error{fmt::format("--what-if: expected ids joined by +, found `{}`; the ids are {}", id,
                             fmt::join(what_if_ids(), " "))};
  }
  if (options.none && !options.ids.empty())
    return Error{"--what-if: expected no --no-what-if beside it, found both; leave one out"};
  return PriceOptions{!options.none, options.ids, threads};
}

Result<FactDb> facts_of_ranks(std::vector<RankAnalysis> ranks, const Selection& selection,
                              RunOptions options, Notes notes, const FactOptions& shown) {
  const auto data = find_data_folder();
  if (!data) return data.error();
  const auto platforms = Platforms::load(*data + "/rules/platforms.json");
  if (!platforms) return platforms.error();
  const bool nothing_left = std::all_of(ranks.begin(), ranks.end(),
                                        [](const RankAnalysis& r) { return r.devices.empty(); });
  if (nothing_left && !(selection.steps.empty() && selection.time.empty())) {
    return Error{fmt::format(
        "{}: expected a part of the recording with device records, found none in '{}'; analyze it "
        "without this option to see its steps and times",
        selection.steps.empty() ? "--time" : "--step",
        selection.steps.empty() ? selection.time : selection.steps)};
  }
  options.selection = text_of(selection);
  FactOptions with_config = shown;
  const auto recorded =
      shown.config == nullptr ? recorded_config(ranks, notes) : std::optional<RunConfig>();
  if (recorded) with_config.config = &*recorded;
  auto run = combine_ranks(std::move(ranks), options, std::move(notes));
  if (!run) return run.error();
  note_absent_ranks(options, *run);
  return write_facts(*run, *platforms, with_config);
}

}  // namespace ws::cli
