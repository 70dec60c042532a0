// wallsight analyze: traces of one run in, facts, advice and reports out.
#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "analysis/analyze_rank.h"
#include "analysis/run_builder.h"
#include "base/memory.h"
#include "cli/common.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/render_run.h"
#include "cli/verbs.h"
#include "facts/write_facts.h"
#include "import/importer.h"

namespace ws::cli {
namespace {

struct AnalyzeOptions {
  std::vector<std::string> inputs, what_ifs;
  std::string database, config, steps, ranks, time, window = "device", step_range;
  unsigned threads = 2;
  bool quiet = false, no_what_if = false, show_names = false;
  ReportOptions report;
};

struct AnalyzeRequest {
  ReportRequests reports;
  StepOptions steps;
  std::optional<TimeRange> time;
  RunOptions run;
};

// Device records that all ranks together keep for re-simulation: bounds its memory and time (D).
constexpr size_t kReplayOps = 1'200'000;

void add_options(CLI::App& app, AnalyzeOptions& o) {
  app.add_option("INPUT", o.inputs,
                 "files or folders: Nsight Systems .sqlite exports, PyTorch .json or .json.gz "
                 "traces; all ranks of one run")
      ->required();
  app.add_option("-o", o.database, "write the facts to this fact database")
      ->check(not_empty())
      ->type_name("run.wsdb");
  app.add_option("--config", o.config,
                 "run configuration: Megatron-LM script or argument dump, Bridge or NeMo YAML, "
                 "torchtitan TOML, or native keys")
      ->check(not_empty())
      ->type_name("FILE");
  app.add_option("--step", o.steps, "only these steps: 5 or 3:7 (both included)")
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
  app.add_flag("--no-what-if", o.no_what_if, "no re-simulation of gains");
  app.add_option("--what-if", o.what_ifs,
                 "one more change to re-simulate: an id of the WHAT IF table, or several joined by "
                 "+; may be given more than once")
      ->type_name("A+B");
  app.add_option("--threads", o.threads, "files read at once, default 2")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
  app.add_flag("--quiet", o.quiet, "no progress on stderr");
  app.add_flag("--show-names", o.show_names,
               "host names and paths as recorded instead of host0 and base names");
  add_report_options(app, o.report);
}

// What --step, --rank, --time and --step-range chose, in words for the report.
std::string selection_of(const AnalyzeOptions& o) {
  std::string out;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name, value);
  };
  add("step", o.steps);
  add("rank", o.ranks);
  add("time", o.time);
  return out;
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
    const auto steps = parse_steps(o.steps);
    if (!steps) return steps.error();
    out.steps.steps = *steps;
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
  for (const std::string& id : o.what_ifs) {
    if (is_what_if(id)) continue;
    return Error{fmt::format("--what-if: expected ids joined by +, found `{}`; the ids are {}", id,
                             fmt::join(what_if_ids(), " "))};
  }
  if (o.no_what_if && !o.what_ifs.empty())
    return Error{"--what-if: expected no --no-what-if beside it, found both; leave one out"};
  out.run.price = {!o.no_what_if, o.what_ifs, o.threads};
  out.run.step_window = out.steps.window;
  out.run.selection = selection_of(o);
  return out;
}

// Ranks that were asked for and are in no file.
void note_absent_ranks(const RunOptions& asked, RunAnalysis& run) {
  std::vector<int32_t> absent;
  for (const int32_t rank : asked.ranks)
    if (std::none_of(run.ranks.begin(), run.ranks.end(),
                     [&](const RankAnalysis& r) { return r.rank == rank; }))
      absent.push_back(rank);
  if (absent.empty()) return;
  run.notes.add(NoteCode::rank_not_found, {}, static_cast<int64_t>(absent.size()),
                ranks_text(absent));
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

Result<FactDb> facts_of(const std::vector<std::string>& files, Notes notes, const AnalyzeOptions& o,
                        const AnalyzeRequest& request, const RunConfig* config) {
  const auto data = find_data_folder();
  if (!data) return data.error();
  const auto classes = KernelClasses::load(*data + "/rules/kernel_classes.json");
  if (!classes) return classes.error();
  const auto platforms = Platforms::load(*data + "/rules/platforms.json");
  if (!platforms) return platforms.error();
  std::vector<RankAnalysis> ranks;
  {
    Progress progress(files.size(), o.quiet);
    const bool two_each = o.threads >= 2 * files.size();
    auto per_file = in_parallel(files.size(), o.threads, [&](size_t i) {
      auto analyzed = analyze_file(files[i], *classes, request, files.size() == 1, two_each);
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
  }
  const bool nothing_left = std::all_of(ranks.begin(), ranks.end(),
                                        [](const RankAnalysis& r) { return r.devices.empty(); });
  if (nothing_left && !(o.steps.empty() && o.time.empty()))
    return Error{fmt::format(
        "{}: expected a part of the recording with device records, found none in '{}'; analyze it "
        "without this option to see its steps and times",
        o.steps.empty() ? "--time" : "--step", o.steps.empty() ? o.time : o.steps)};
  auto run = combine_ranks(std::move(ranks), request.run, std::move(notes));
  if (!run) return run.error();
  note_absent_ranks(request.run, *run);
  return write_facts(*run, *platforms, {o.show_names, config});
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
  Notes notes;
  const auto files = list_inputs(o.inputs, notes);
  if (!files) return fail(kBadInput, files.error());
  if (request->run.price.wanted)
    request->steps.replay_ops = kReplayOps / std::max<size_t>(1, files->size());
  if (auto ok = check_targets(request->reports.outputs, o.database, *files); !ok)
    return fail(kBadUsage, ok.error());
  std::optional<RunConfig> config;
  if (!o.config.empty()) {
    auto given = load_run_config(o.config);
    if (!given) return fail(kBadInput, given.error());
    config = std::move(*given);
  }
  const auto facts = facts_of(*files, std::move(notes), o, *request, config ? &*config : nullptr);
  if (!facts) return fail(kBadInput, facts.error());
  return render_run(*facts, o.report, request->reports, o.database);
}

}  // namespace ws::cli
