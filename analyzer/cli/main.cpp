// The verbs. Everything else is in their files.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <new>
#include <string_view>

#include "cli/common.h"
#include "cli/verbs.h"

namespace ws::cli {
namespace {

struct Verb {
  std::string_view name, help;
  int (*run)(int, char**);
};
constexpr Verb kVerbs[] = {
    {"analyze", "traces of one run: which wall, what it costs, what to do", run_analyze},
    {"merge", "partials of the ranks of one run: the report of all of them", run_merge},
    {"report", "the report of a run.wsdb again, without the trace", run_report},
    {"plan", "a run configuration, before anything runs: does it add up, does it fit", run_plan},
    {"explain", "why a rule fired, did not, or can not say", run_explain},
    {"rules", "list, show or check rules", run_rules},
    {"record", "run a command and record what it does on the GPU", run_record},
    {"doctor", "can this machine record, and what is in the way", run_doctor},
};
// Named in the plan of the program, not in this version.
constexpr std::string_view kLaterVerbs[] = {"diff", "history", "attach", "ctl", "export"};

int print_usage() {
  std::cout << "wallsight " << version() << ": names the wall a GPU training run is against\n\n"
            << "usage: wallsight VERB ...   (wallsight VERB --help)\n\n";
  for (const Verb& v : kVerbs) std::cout << fmt::format("  {:<9} {}\n", v.name, v.help);
  std::cout
      << "\nexit codes: 0 done, 1 --fail-on tripped, 2 bad input or environment, 3 bad usage\n";
  return kDone;
}

int run(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "--help" || verb == "-h") return print_usage();
  if (verb == "--version") {
    std::cout << "wallsight " << version() << "\n";
    return kDone;
  }
  for (const Verb& v : kVerbs) {
    if (v.name == verb) return v.run(argc - 1, argv + 1);
  }
  if (std::find(std::begin(kLaterVerbs), std::end(kLaterVerbs), verb) != std::end(kLaterVerbs)) {
    return fail(
        kBadUsage,
        Error{fmt::format("{}: this version can not do that yet; see `wallsight --help`", verb)});
  }
  const std::string found = verb.empty() ? "none" : fmt::format("`{}`", verb);
  return fail(kBadUsage, Error{fmt::format(
                             "usage: expected a verb, found {}; see `wallsight --help`", found)});
}

}  // namespace

}  // namespace ws::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that leaves is noticed by finish_stdout
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is a failed write, told as one
  std::ios::sync_with_stdio(false);
  try {
    return ws::cli::finish_stdout(ws::cli::run(argc, argv));
  } catch (const std::bad_alloc&) {
    return ws::cli::fail(ws::cli::kBadInput,
                         ws::Error{"memory: expected more, found the machine's end; analyze fewer "
                                   "ranks at once (--threads 1, --rank)"});
  } catch (const std::exception& e) {
    return ws::cli::fail(ws::cli::kBadInput,
                         ws::Error{fmt::format("unexpected error: {}", e.what())});
  }
}
