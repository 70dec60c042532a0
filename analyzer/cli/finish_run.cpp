// Tested by: tests/cli, merge_check.py
#include "cli/finish_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/common.h"
#include "cli/options.h"
#include "cli/recorded_config.h"
#include "cli/verbs.h"
#include "cli/what_if_words.h"

namespace ws::cli {
namespace {

// What the options chose, in words for the report, and which ranks they name in vain.
void tell_selection(const Selection& selection, const std::vector<int32_t>& asked,
                    RunAnalysis& run) {
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty())
      run.selection += fmt::format("{}{} {}", run.selection.empty() ? "" : ", ", name, value);
  };
  std::vector<int32_t> there, absent;
  for (const int32_t rank : asked) {
    (std::any_of(run.ranks.begin(), run.ranks.end(),
                 [&](const RankAnalysis& r) { return r.rank == rank; })
         ? there
         : absent)
        .push_back(rank);
  }
  add("step", selection.steps);
  add("rank", ranks_text(there));
  add("time", selection.time);
  if (!absent.empty()) {
    run.selection += fmt::format(" (asked for and not there: rank {})", ranks_text(absent));
    run.notes.add(NoteCode::rank_not_found, {}, static_cast<int64_t>(absent.size()),
                  ranks_text(absent));
  }
  if (!run.selection.empty()) run.notes.add(NoteCode::selection, {}, 1, run.selection);
}

// What could have been chosen where nothing was.
std::string what_is_there(const std::vector<RankAnalysis>& ranks) {
  for (const RankAnalysis& r : ranks)
    for (const Note& n : r.notes.all())
      if (n.code == NoteCode::selection_not_found) return n.detail;
  return "analyze it without this option to see its steps and times";
}

// The name that --step-range gives is nowhere: other steps are not what was asked for.
std::optional<Error> range_not_there(const std::vector<RankAnalysis>& ranks) {
  std::string detail;
  for (const RankAnalysis& r : ranks) {
    if (r.notes.count(NoteCode::range_not_found) == 0) return std::nullopt;
    for (const Note& n : r.notes.all())
      if (detail.empty() && n.code == NoteCode::range_not_found) detail = n.detail;
  }
  if (detail.empty()) return std::nullopt;
  return Error{
      fmt::format("--step-range: expected the name of a host range, found none named {}", detail)};
}

// A change that was asked for and has no row says why.
void tell_changes(const PriceOptions& asked, RunAnalysis& run) {
  for (const std::string& id : asked.combinations) {
    if (std::any_of(run.what_if.rows.begin(), run.what_if.rows.end(),
                    [&](const WhatIfRow& row) { return row.id == id; }))
      continue;
    const std::string text = id + ", asked for with --what-if";
    run.notes.add(NoteCode::what_if_not_available, {}, 1,
                  run.what_if.why_not.empty() ? text + ", finds nothing to change here"
                                              : "among them " + text);
  }
}

}  // namespace

void add_config_option(CLI::App& app, std::string& path) {
  app.add_option("--config", path,
                 "run configuration: Megatron-LM script or argument dump, Bridge or NeMo YAML, "
                 "torchtitan TOML, or native keys")
      ->check(not_empty())
      ->type_name("FILE");
}

Result<std::optional<RunConfig>> load_config_option(const std::string& path,
                                                    const RunConfig& stated) {
  if (path.empty()) return std::optional<RunConfig>();
  auto given = load_run_config(path);
  if (!given) return given.error();
  if (auto ok = put_stated(*given, stated); !ok) return ok.error();
  return std::optional<RunConfig>(std::move(*given));
}

void add_what_if_options(CLI::App& app, WhatIfOptions& options) {
  app.add_flag("--no-what-if", options.none, "no re-simulation of gains");
  app.add_option(
         "--what-if", options.ids,
         "one more change to re-simulate, shown whatever it saves: an id of the list below, "
         "or several joined by +; may be given more than once")
      ->type_name("A+B");
  app.footer(what_if_help());
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
                              const RunOptions& options, Notes notes, const FactOptions& shown,
                              const RunConfig& stated) {
  const auto data = find_data_folder();
  if (!data) return data.error();
  const auto platforms = Platforms::load(*data + "/rules/platforms.json");
  if (!platforms) return platforms.error();
  const bool nothing_left = std::all_of(ranks.begin(), ranks.end(),
                                        [](const RankAnalysis& r) { return r.devices.empty(); });
  if (nothing_left && !(selection.steps.empty() && selection.time.empty())) {
    return Error{fmt::format(
        "{}: expected a part of the recording with device records, found none in '{}'; {}",
        selection.steps.empty() ? "--time" : "--step",
        selection.steps.empty() ? selection.time : selection.steps, what_is_there(ranks))};
  }
  if (auto error = range_not_there(ranks)) return *error;
  FactOptions with_config = shown;
  with_config.asked_changes = options.price.combinations;
  auto recorded =
      shown.config == nullptr ? recorded_config(ranks, notes) : std::optional<RunConfig>();
  if (recorded) {
    if (auto ok = put_stated(*recorded, stated); !ok) return ok.error();
    with_config.config = &*recorded;
  }
  if (!stated.entries.empty()) with_config.stated = &stated;
  auto run = combine_ranks(std::move(ranks), options, std::move(notes));
  if (!run) return run.error();
  tell_selection(selection, options.ranks, *run);
  tell_changes(options.price, *run);
  return write_facts(*run, *platforms, with_config);
}

}  // namespace ws::cli
