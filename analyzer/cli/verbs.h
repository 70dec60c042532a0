#pragma once
// One function per verb; argv[0] is the verb. Each returns the exit code.
#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace ws::cli {

int run_analyze(int argc, char** argv);
int run_merge(int argc, char** argv);
int run_report(int argc, char** argv);
int run_plan(int argc, char** argv);
int run_explain(int argc, char** argv);
int run_rules(int argc, char** argv);
int run_record(int argc, char** argv);
int run_doctor(int argc, char** argv);

// Parses; a value is the exit code with which to leave (help printed, bad usage told in one line).
// usage_end: what the command line has behind all that is parsed, for the help.
std::optional<int> parse_or_exit(CLI::App& app, int argc, char** argv,
                                 const std::string& usage_end = {});

// An option that is given and empty is a mistake of a script, not an option left out.
CLI::Validator not_empty();

}  // namespace ws::cli
