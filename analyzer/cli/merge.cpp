// wallsight merge: what was kept of ranks, from partials of one or more ranks each, becomes the run
// that reading all their traces at once gives, in whatever order the partials come.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "analysis/replay_steps.h"
#include "cli/common.h"
#include "cli/finish_run.h"
#include "cli/options.h"
#include "cli/render_run.h"
#include "cli/verbs.h"
#include "facts/partial.h"
#include "import/registry.h"

namespace ws::cli {
namespace {

namespace fs = std::filesystem;

struct MergeOptions {
  std::vector<std::string> inputs;
  std::string database, config, ranks;
  unsigned threads = 2;
  bool show_names = false, quiet = false;
  StatedOptions stated;
  WhatIfOptions what_if;
  ReportOptions report;
};

void add_options(CLI::App& app, MergeOptions& o) {
  app.add_option("PARTIAL", o.inputs,
                 "files that `wallsight analyze --partial` wrote, or folders of them; all ranks of "
                 "one run, in any order")
      ->check(not_empty())
      ->required();
  app.add_option("-o", o.database, "write the facts to this fact database")
      ->check(not_empty())
      ->type_name("run.wsdb");
  add_config_option(app, o.config);
  add_stated_options(app, o.stated);
  app.add_option("--rank", o.ranks, "only these ranks: 0,3-5")
      ->check(not_empty())
      ->type_name("LIST");
  add_what_if_options(app, o.what_if);
  app.add_option("--threads", o.threads, "changes re-simulated at once, default 2")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
  app.add_flag("--quiet", o.quiet, "as of `analyze`; merge shows no progress anyway");
  app.add_flag("--show-names", o.show_names,
               "host names and paths as recorded instead of host0 and base names");
  add_report_options(app, o.report);
}

// In a folder: what is a partial, or is named like one and will say why it is none.
Result<void> add_folder(const std::string& folder, std::vector<std::string>& out) {
  std::error_code failed;
  const size_t before = out.size();
  fs::directory_iterator it(folder, failed);
  for (; !failed && it != fs::directory_iterator(); it.increment(failed)) {
    std::error_code unknown;
    const std::string path = it->path().string();
    if (it->is_regular_file(unknown) && (it->path().extension() == ".wspart" || is_partial(path)))
      out.push_back(path);
  }
  if (failed)
    return Error{fmt::format("{}: can not read the folder ({}); check its permissions", folder,
                             failed.message())};
  if (out.size() > before) return {};
  return Error{
      fmt::format("{}: expected partials in the folder, found none; write them there with "
                  "`wallsight analyze --partial`",
                  folder)};
}

Result<std::vector<std::string>> list_partials(const std::vector<std::string>& inputs,
                                               Notes& notes) {
  std::vector<std::string> out;
  for (const std::string& input : inputs) {
    std::error_code unknown;
    if (!fs::is_directory(input, unknown)) {
      out.push_back(input);
    } else if (auto ok = add_folder(input, out); !ok) {
      return ok.error();
    }
  }
  drop_repeated(out, notes);
  return out;
}

std::string text_of(const PartialOptions& o) {
  const char* const windows[] = {"device", "host", "whole"};
  std::string out = fmt::format("--step-window {}", windows[static_cast<size_t>(o.step_window)]);
  for (const auto& [name, value] :
       {std::pair{"--step-range", o.step_range}, {"--step", o.steps}, {"--time", o.time}})
    if (!value.empty()) out += fmt::format(" {} {}", name, value);
  return out + (o.what_if ? "" : " --no-what-if");
}

struct Merged {
  PartialOptions options;
  Notes notes;
  std::vector<RankAnalysis> ranks;
  std::vector<size_t> file;  // per rank
};

// The same rank of the same trace, by what names it.
bool same_rank(const RankAnalysis& a, const RankAnalysis& b) {
  return a.rank == b.rank && a.path == b.path && a.host_name == b.host_name &&
         a.clock_base_ns == b.clock_base_ns && a.capture == b.capture;
}

Result<Merged> merged(const std::vector<std::string>& files, bool what_if) {
  Merged out;
  for (size_t i = 0; i < files.size(); ++i) {
    auto partial = read_partial(files[i]);
    if (!partial) return partial.error();
    if (i == 0) out.options = partial->options;
    if (!(partial->options == out.options)) {
      return Error{fmt::format(
          "{}: expected a partial made with {}, as {} was, found one made with {}; make them alike",
          files[i], text_of(out.options), files[0], text_of(partial->options))};
    }
    out.notes.merge(partial->notes);
    for (RankAnalysis& rank : partial->ranks) {
      for (size_t k = 0; k < out.ranks.size(); ++k) {
        if (out.file[k] != i && same_rank(out.ranks[k], rank)) {
          return Error{fmt::format(
              "{}: expected every rank once, found rank {} of {} in {} as well; leave "
              "one of the two out",
              files[i], rank.rank, fs::path(rank.path).filename().string(), files[out.file[k]])};
        }
      }
      if (!what_if) rank.replay.reset();
      out.ranks.push_back(std::move(rank));
      out.file.push_back(i);
    }
  }
  // In the order of their traces, as analyze reads them.
  std::stable_sort(
      out.ranks.begin(), out.ranks.end(),
      [](const RankAnalysis& a, const RankAnalysis& b) { return natural_less(a.path, b.path); });
  return out;
}

// Partials that were made for a smaller run keep more than their share: what that adds up to would
// be priced neither in memory nor in time that a run may take.
void drop_large_replays(std::vector<RankAnalysis>& ranks) {
  std::set<std::pair<std::string_view, std::string_view>> traces;  // nodes may share paths
  for (const RankAnalysis& rank : ranks) traces.emplace(rank.host_name, rank.path);
  const size_t most = 2 * std::max(replay_share(traces.size()), kSmallReplayOps);
  for (RankAnalysis& rank : ranks)
    if (rank.replay && rank.replay->ops.size() > most) rank.replay.reset();
}

}  // namespace

int run_merge(int argc, char** argv) {
  CLI::App app{"Partials of one run, written where its traces are: the report of all its ranks.",
               "wallsight merge"};
  MergeOptions o;
  add_options(app, o);
  if (const auto code = parse_or_exit(app, argc, argv)) return *code;
  auto requests = check_report_options(o.report);
  if (!requests) return fail(kBadUsage, requests.error());
  const auto stated = stated_config(o.stated);
  if (!stated) return fail(kBadUsage, stated.error());
  RunOptions options;
  auto price = check_what_if_options(o.what_if, o.threads);
  if (!price) return fail(kBadUsage, price.error());
  options.price = std::move(*price);
  if (!o.ranks.empty()) {
    const auto ranks = parse_ranks(o.ranks);
    if (!ranks) return fail(kBadUsage, ranks.error());
    options.ranks = *ranks;
  }
  Notes notes;
  const auto files = list_partials(o.inputs, notes);
  if (!files) return fail(kBadInput, files.error());
  if (auto ok = check_targets(requests->outputs, o.database,
                              reads_of(*files, o.config, o.report.rule_folders));
      !ok)
    return fail(kBadUsage, ok.error());
  auto config = load_config_option(o.config, *stated);
  if (!config) return fail(kBadInput, config.error());
  auto all = merged(*files, options.price.wanted);
  if (!all) return fail(kBadInput, all.error());
  all->notes.merge(notes);
  options.step_window = all->options.step_window;
  options.price.wanted &= all->options.what_if;
  drop_large_replays(all->ranks);
  const auto facts = facts_of_ranks(
      std::move(all->ranks), {all->options.steps, o.ranks, all->options.time}, options,
      std::move(all->notes), {o.show_names, *config ? &**config : nullptr, nullptr, {}}, *stated);
  if (!facts) return fail(kBadInput, facts.error());
  return render_run(*facts, o.report, *requests, o.database);
}

}  // namespace ws::cli
