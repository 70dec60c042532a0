// wallsight record: starts a command with the recorder in its processes. The program becomes the
// command: exit code, signals and terminal are the job's own. What the library is told stands in
// the environment (schemas/recording_format.md).
// Tested by: recorder_test.py
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "cli/common.h"
#include "cli/inject_library.h"
#include "cli/options.h"
#include "cli/record_watch.h"
#include "cli/verbs.h"

namespace ws::cli {
namespace {

struct RecordOptions {
  std::string folder = "wallsight-recording", tier = "host", graphs = "node", delay, duration,
              ranks, steps;
  std::string step_range, cupti;
  int64_t max_file_mb = 4096, max_memory_mb = 96;
  bool python = false, nccl = false, preload = false;
};

using Variables = std::vector<std::pair<std::string, std::string>>;

void add_options(CLI::App& app, RecordOptions& o) {
  app.add_option("-o", o.folder,
                 "folder of the recordings, made when it is not there; default " + o.folder)
      ->type_name("DIR");
  app.add_option("--tier", o.tier,
                 "nvtx: ranges only; device: and kernels, copies, fills; host (default): and API "
                 "calls; memory: and events and device memory")
      ->check(CLI::IsMember({"nvtx", "device", "host", "memory"}))
      ->type_name("nvtx|device|host|memory");
  app.add_option("--graphs", o.graphs,
                 "CUDA graphs: node (default): every kernel of them; graph: one record per launch, "
                 "cheaper, and the graph stays opaque")
      ->check(CLI::IsMember({"node", "graph"}))
      ->type_name("node|graph");
  app.add_option("--delay", o.delay, "begin only this long after CUDA was initialised: 30s, 500ms")
      ->type_name("TIME");
  app.add_option("--duration", o.duration, "end after this long")->type_name("TIME");
  app.add_option("--ranks", o.ranks, "only these ranks record: 0,3-5")->type_name("LIST");
  app.add_option("--steps", o.steps,
                 "only these repeats of the step range, counted from 0, both included: 20:25; two "
                 "before are warm-up and left out. Where no range `iteration` comes and none is "
                 "named, repeats of the pattern of NCCL operations count instead: as many later "
                 "ones where these pass before the pattern has lasted 2 s")
      ->type_name("A:B");
  app.add_option(
         "--step-range", o.step_range,
         "name of the NVTX range that is one step, default iteration; named with --delay or "
         "--duration, what recording costs a step is measured")
      ->type_name("NAME");
  app.add_flag("--python", o.python,
               "Python processes tell of garbage collection and of waiting for a DataLoader "
               "(a sitecustomize in front of PYTHONPATH)");
  app.add_flag(
      "--preload", o.preload,
      "for launchers that take CUDA_* out of the environment, and for jobs that end by _exit "
      "(LD_PRELOAD)");
  app.add_flag("--nccl", o.nccl,
               "NCCL numbers its collectives for us (NCCL_PROFILER_PLUGIN; NCCL 2.24 and later)");
  app.add_option("--cupti", o.cupti, "libcupti to use where the process has none loaded")
      ->type_name("FILE");
  app.add_option("--max-file-mb", o.max_file_mb,
                 "cap of the files of one process, the oldest part goes first; default 4096")
      ->check(CLI::Range(1, 1 << 30))
      ->type_name("MB");
  app.add_option("--max-memory-mb", o.max_memory_mb,
                 "cap of the recorder's buffers in each process, default 96")
      ->check(CLI::Range(12, 4096))
      ->type_name("MB");
  app.footer("The command stands behind --: wallsight record -o DIR -- torchrun train.py");
}

// "30s" and "500ms" as milliseconds.
Result<std::string> milliseconds(const char* option, const std::string& text) {
  if (text.empty()) return std::string("0");
  const auto range = parse_time("0s:" + text);
  if (!range || range->span.end_ns <= 0 || !range->since_first_record) {
    return Error{fmt::format("{}: expected a time like 30s or 500ms, found `{}`", option, text)};
  }
  return std::to_string(std::max<int64_t>(1, range->span.end_ns / 1'000'000));
}

Result<Variables> variables_of(const RecordOptions& o) {
  const auto delay = milliseconds("--delay", o.delay);
  if (!delay) return delay.error();
  const auto duration = milliseconds("--duration", o.duration);
  if (!duration) return duration.error();
  if (!o.ranks.empty()) {
    if (const auto ranks = parse_ranks(o.ranks); !ranks)
      return Error{fmt::format("--ranks: expected ranks like 0,3-5, found `{}`", o.ranks)};
  }
  if (!o.steps.empty()) {
    const auto steps = parse_steps(o.steps);
    if (!steps || steps->first < 0)
      return Error{fmt::format("--steps: expected a range like 20:25, found `{}`", o.steps)};
    for (const auto& [name, given] :
         {std::pair{"--delay", !o.delay.empty()}, {"--duration", !o.duration.empty()}}) {
      if (given)
        return Error{fmt::format(
            "--steps: expected no {} beside it, found both; leave one out: steps or time", name)};
    }
  }
  return Variables{{"WALLSIGHT_TIER", o.tier},
                   {"WALLSIGHT_GRAPHS", o.graphs},
                   {"WALLSIGHT_DELAY_MS", *delay},
                   {"WALLSIGHT_DURATION_MS", *duration},
                   {"WALLSIGHT_RANKS", o.ranks},
                   {"WALLSIGHT_STEPS", o.steps},
                   {"WALLSIGHT_STEP_RANGE",
                    o.steps.empty() || !o.step_range.empty() ? o.step_range : "iteration"},
                   {"WALLSIGHT_STEP_PATTERN", !o.steps.empty() && o.step_range.empty() ? "1" : ""},
                   {"WALLSIGHT_CUPTI", o.cupti},
                   {"WALLSIGHT_MAX_FILE_MB", std::to_string(o.max_file_mb)},
                   {"WALLSIGHT_MAX_MEMORY_MB", std::to_string(o.max_memory_mb)}};
}

// The folder as an absolute path: the job may change its own.
Result<std::string> make_folder(const std::string& folder) {
  std::error_code ec;
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return Error{fmt::format("{}: can not make the folder ({}); choose another with -o", folder,
                             std::strerror(errno))};
  const auto whole = std::filesystem::canonical(folder, ec);
  if (ec || !std::filesystem::is_directory(whole, ec)) {
    return Error{
        fmt::format("{}: expected a folder for the recordings, found something else; "
                    "choose another with -o",
                    folder)};
  }
  if (::access(whole.c_str(), W_OK | X_OK) != 0)
    return Error{fmt::format("{}: can not write there ({}); choose another folder with -o", folder,
                             std::strerror(errno))};
  return whole.string();
}

Result<void> check_free(const char* variable, const std::string& library) {
  const char* taken = std::getenv(variable);
  if (taken == nullptr || *taken == '\0' || library == taken) return {};
  return Error{fmt::format(
      "{}: expected it unset, found {}: another tool is recording here; run without it or "
      "unset the variable",
      variable, taken)};
}

// A file that stands beside the library, in front of what the variable holds.
Result<std::string> in_front(const char* variable, const std::filesystem::path& ours,
                             const std::filesystem::path& file) {
  std::error_code ec;
  if (!std::filesystem::is_regular_file(file, ec)) {
    return Error{fmt::format(
        "{}: expected the file there, found none; install wallsight as a whole", file.string())};
  }
  const char* before = std::getenv(variable);
  return ours.string() + (before == nullptr || *before == '\0' ? "" : ":" + std::string(before));
}

Result<std::string> python_path(const std::string& library) {
  const auto folder = std::filesystem::path(library).parent_path() / "python";
  return in_front("PYTHONPATH", folder, folder / "sitecustomize.py");
}

Result<std::string> preload_list(const std::string& library) {
  const auto file = std::filesystem::path(library).parent_path() / "libwallsight_preload.so";
  return in_front("LD_PRELOAD", file, file);
}

}  // namespace

int run_record(int argc, char** argv) {
  CLI::App app{"Runs a command and records what its processes do on the GPU, one file each.",
               "wallsight record"};
  RecordOptions o;
  add_options(app, o);
  char** const end = argv + argc;
  char** const dashes = std::find_if(argv, end, [](char* a) { return std::strcmp(a, "--") == 0; });
  if (const auto code =
          parse_or_exit(app, static_cast<int>(dashes - argv), argv, " -- COMMAND [ARGUMENT...]"))
    return *code;
  if (end - dashes < 2) {
    return fail(kBadUsage, Error{"record: expected a command behind --, found none; see `wallsight "
                                 "record --help`"});
  }
  auto variables = variables_of(o);
  if (!variables) return fail(kBadUsage, variables.error());
  const auto library = find_inject_library();
  if (!library) return fail(kBadInput, library.error());
  for (const char* variable : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
    if (const auto ok = check_free(variable, *library); !ok) return fail(kBadInput, ok.error());
  }
  const auto folder = make_folder(o.folder);
  if (!folder) return fail(kBadInput, folder.error());
  variables->emplace_back("WALLSIGHT_DIR", *folder);
  variables->emplace_back("CUDA_INJECTION64_PATH", *library);
  variables->emplace_back("NVTX_INJECTION64_PATH", *library);
  if (o.preload) {
    const auto preload = preload_list(*library);
    if (!preload) return fail(kBadInput, preload.error());
    variables->emplace_back("LD_PRELOAD", *preload);
    variables->emplace_back("WALLSIGHT_LIBRARY", *library);
  }
  if (o.nccl) {
    if (const auto free = check_free("NCCL_PROFILER_PLUGIN", *library); !free)
      return fail(kBadInput, free.error());
    variables->emplace_back("NCCL_PROFILER_PLUGIN", *library);
  }
  if (o.python) {
    const auto path = python_path(*library);
    if (!path) return fail(kBadInput, path.error());
    variables->emplace_back("PYTHONPATH", *path);
  }
  for (const auto& [name, value] : *variables) {
    if (value.empty()) {
      ::unsetenv(name.c_str());
    } else {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
  }
  std::cerr << fmt::format("wallsight: recording into {}\n", o.folder) << std::flush;
  // With --ranks, others may be the ones that record.
  const int watcher = o.ranks.empty() ? watch_for_recording(*folder) : -1;
  std::signal(SIGPIPE, SIG_DFL);  // as the shell would start it
  std::signal(SIGXFSZ, SIG_DFL);
  ::execvp(dashes[1], dashes + 1);
  const int why = errno;
  if (watcher >= 0 && ::write(watcher, "x", 1) < 0) ::close(watcher);
  return fail(kBadInput, Error{fmt::format("{}: can not be run ({}); check the command behind --",
                                           dashes[1], std::strerror(why))});
}

}  // namespace ws::cli
