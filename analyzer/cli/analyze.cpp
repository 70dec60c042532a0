// wallsight analyze: traces of one run in, facts, advice and reports out.
#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "analysis/analyze_rank.h"
#include "base/memory.h"
#include "cli/common.h"
#include "cli/finish_run.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/render_run.h"
#include "cli/verbs.h"
#include "facts/partial.h"
#include "import/importer.h"

namespace ws::cli {
namespace {

struct AnalyzeOptions {
  std::vector<std::string> inputs;
  std::string database, config, steps, ranks, time, window = "device", step_range;
  unsigned threads = 2;
  size_t run_files = 0;
  bool quiet = false, show_names = false, partial = false;
  StatedOptions stated;
  WhatIfOptions what_if;
  ReportOptions report;
};

constexpr FileKind kPartialFile{"partial", may_replace_partial};

struct AnalyzeRequest {
  ReportRequests reports;
  StepOptions steps;
  std::optional<TimeRange> time;
  RunOptions run;
};

void add_options(CLI::App& app, AnalyzeOptions& o) {
  app.add_option("INPUT", o.inputs,
                 "files or folders of them, all ranks of one run: Nsight Systems .sqlite exports "
                 "or .nsys-rep reports (with nsys on PATH), PyTorch .json or .json.gz traces, .wst "
                 "recordings of `wallsight record`. Partials (.wspart) go to `wallsight merge`, "
                 "fact databases (.wsdb) to `wallsight report`")
      ->check(not_empty())
      ->required();
  app.add_option("-o", o.database,
                 "write the facts to this fact database; with --partial, the partial")
      ->check(not_empty())
      ->type_name("run.wsdb");
  app.add_flag("--partial", o.partial,
               "instead of a report, write what is kept of the ranks to the file of -o; `wallsight "
               "merge` makes the report of all of them");
  app.add_option("--of", o.run_files,
                 "with --partial: files of the whole run; what is kept for re-simulation is shared "
                 "among them (default: the files given)")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("FILES");
  add_config_option(app, o.config);
  add_stated_options(app, o.stated);
  app.add_option("--step", o.steps,
                 "only these steps: 5, 3:7 (both included) or a name, ProfilerStep#5")
      ->check(not_empty())
      ->type_name("RANGE");
  app.add_option("--rank", o.ranks, "only these ranks: 0,3-5")
      ->check(not_empty())
      ->type_name("LIST");
  app.add_option("--time", o.time,
                 "only this time: ns of the recording's clock, or with a unit since its first "
                 "record: 2ms:10ms")
      ->check(not_empty())
      ->type_name("A:B");
  app.add_option("--step-window", o.window,
                 "device: steps end when the device has finished them; host: the ranges as marked; "
                 "whole: one window")
      ->check(CLI::IsMember({"device", "host", "whole"}))
      ->type_name("device|host|whole");
  app.add_option("--step-range", o.step_range, "name of the host range that is one step")
      ->check(not_empty())
      ->type_name("NAME");
  add_what_if_options(app, o.what_if);
  app.add_option("--threads", o.threads, "files read at once, default 2")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
  app.add_flag("--quiet", o.quiet, "no progress on stderr");
  app.add_flag("--show-names", o.show_names,
               "host names and paths as recorded instead of host0 and base names");
  add_report_options(app, o.report);
}

Result<AnalyzeRequest> check(const AnalyzeOptions& o) {
  AnalyzeRequest out;
  auto reports = check_report_options(o.report);
  if (!reports) return reports.error();
  out.reports = std::move(*reports);
  out.steps.window = o.window == "host"    ? StepWindow::host
                     : o.window == "whole" ? StepWindow::whole
                                           : StepWindow::device;
  out.steps.range_name = o.step_range;
  if (!o.steps.empty()) {
    auto steps = parse_named_steps(o.steps);
    if (!steps) return steps.error();
    out.steps.steps = steps->steps;
    out.steps.step_stem = std::move(steps->stem);
  }
  if (!o.ranks.empty()) {
    const auto ranks = parse_ranks(o.ranks);
    if (!ranks) return ranks.error();
    out.run.ranks = *ranks;
  }
  if (!o.time.empty()) {
    const auto time = parse_time(o.time);
    if (!time) return time.error();
    out.time = *time;
  }
  auto price = check_what_if_options(o.what_if, o.threads);
  if (!price) return price.error();
  out.run.price = std::move(*price);
  out.run.step_window = out.steps.window;
  return out;
}

StepOptions steps_for(const Trace& trace, const AnalyzeRequest& request) {
  StepOptions out = request.steps;
  if (!request.time) return out;
  const TimeNs first = request.time->since_first_record ? trace.capture.begin_ns : 0;
  out.time = Interval{request.time->span.begin_ns + first, request.time->span.end_ns + first};
  return out;
}

// One file: read, analyze each rank in it, drop its traces.
Result<std::vector<RankAnalysis>> analyze_file(const std::string& path,
                                               const KernelClasses& classes,
                                               const AnalyzeRequest& request, bool only_file,
                                               bool two_threads) {
  try {
    auto traces = read_file(path);
    if (!traces) return traces.error();
    release_freed_memory();
    std::vector<RankAnalysis> out;
    RankOptions options;
    options.two_threads = two_threads;
    options.alone = only_file && traces->size() == 1 && traces->front().devices.size() == 1;
    for (Trace& trace : *traces) {
      const Trace one = std::move(trace);
      out.push_back(analyze_rank(one, classes, steps_for(one, request), options));
    }
    return out;
  } catch (const std::bad_alloc&) {
    return Error{fmt::format(
        "{}: expected enough memory for this file, found the machine's end; analyze a part of it "
        "or fewer files at once (--threads 1)",
        path)};
  }
}

Result<std::vector<RankAnalysis>> analyze_files(const std::vector<std::string>& files,
                                                const AnalyzeOptions& o,
                                                const AnalyzeRequest& request, Notes& notes) {
  const auto data = find_data_folder();
  if (!data) return data.error();
  const auto classes = KernelClasses::load(*data + "/rules/kernel_classes.json");
  if (!classes) return classes.error();
  std::vector<RankAnalysis> ranks;
  Progress progress(files.size(), o.quiet);
  const bool two_each = o.threads >= 2 * files.size();
  const bool alone = files.size() == 1 && !o.partial;
  auto per_file = in_parallel(files.size(), o.threads, [&](size_t i) {
    auto analyzed = analyze_file(files[i], *classes, request, alone, two_each);
    progress.one_done();
    return analyzed;
  });
  const Error* unread = nullptr;
  for (size_t i = 0; i < files.size(); ++i) {
    if (!per_file[i]) {
      if (unread == nullptr) unread = &per_file[i].error();
      note_unreadable(files[i], per_file[i].error(), notes);
      continue;
    }
    for (RankAnalysis& rank : *per_file[i]) ranks.push_back(std::move(rank));
  }
  if (ranks.empty() && unread != nullptr) return *unread;
  return ranks;
}

// --partial ends before ranks meet: what is about the run as a whole belongs to merge.
Result<void> check_partial(const AnalyzeOptions& o) {
  if (!o.partial) {
    if (o.run_files == 0) return {};
    return Error{"--of: expected --partial beside it, found none; leave it out"};
  }
  if (o.database.empty())
    return Error{"--partial: expected a file to write with -o, found none; add -o rank0.wspart"};
  std::vector<std::pair<std::string, bool>> others = {
      {"--config", !o.config.empty()},          {"--rank", !o.ranks.empty()},
      {"--report", !o.report.reports.empty()},  {"--rules", !o.report.rule_folders.empty()},
      {"--fail-on", !o.report.fail_on.empty()}, {"--all", o.report.all},
      {"--what-if", !o.what_if.ids.empty()},    {"--show-names", o.show_names}};
  for (const auto& [key, text] : o.stated.values)
    others.emplace_back(option_of(key), !text.empty());
  for (const auto& [name, given] : others) {
    if (given)
      return Error{fmt::format(
          "--partial: expected no {} beside it, found both; give it to `wallsight merge`", name)};
  }
  return {};
}

}  // namespace

int run_analyze(int argc, char** argv) {
  CLI::App app{"Traces of one run: which wall, what it costs per step, what to do next.",
               "wallsight analyze"};
  AnalyzeOptions o;
  add_options(app, o);
  if (const auto code = parse_or_exit(app, argc, argv)) return *code;
  auto request = check(o);
  if (!request) return fail(kBadUsage, request.error());
  const auto stated = stated_config(o.stated);
  if (!stated) return fail(kBadUsage, stated.error());
  if (auto ok = check_partial(o); !ok) return fail(kBadUsage, ok.error());
  Notes notes;
  const auto files = list_inputs(o.inputs, notes);
  if (!files) return fail(kBadInput, files.error());
  const std::vector<std::string> first_files = without_later_segments(*files);
  const size_t run_files = std::max(first_files.size(), o.run_files);
  if (request->run.price.wanted) request->steps.replay_ops = replay_share(run_files);
  if (auto ok = check_targets(o.partial ? std::vector<Output>() : request->reports.outputs,
                              o.database, reads_of(*files, o.config, o.report.rule_folders),
                              o.partial ? kPartialFile : kFactFile);
      !ok)
    return fail(kBadUsage, ok.error());
  auto config = load_config_option(o.config, *stated);
  if (!config) return fail(kBadInput, config.error());
  auto ranks = analyze_files(first_files, o, *request, notes);
  if (!ranks) return fail(kBadInput, ranks.error());
  if (o.partial) {
    Partial partial{
        {request->steps.window, o.step_range, o.steps, o.time, request->run.price.wanted},
        std::move(notes),
        std::move(*ranks)};
    const auto written = write_partial(std::move(partial), o.database);
    return written ? kDone : fail(kBadInput, written.error());
  }
  const auto facts =
      facts_of_ranks(std::move(*ranks), {o.steps, o.ranks, o.time}, request->run, std::move(notes),
                     {o.show_names, *config ? &**config : nullptr, nullptr, {}}, *stated);
  if (!facts) return fail(kBadInput, facts.error());
  return render_run(*facts, o.report, request->reports, o.database);
}

}  // namespace ws::cli
