#pragma once
// What every verb needs: exit codes, the one way to print an error, where our data lie.
#include <string>
#include <string_view>
#include <vector>

#include "advise/rule.h"
#include "base/result.h"
#include "config/run_config.h"

namespace ws::cli {

enum ExitCode : int { kDone = 0, kTripped = 1, kBadInput = 2, kBadUsage = 3 };

std::string_view version();

// Prints "wallsight: MESSAGE" as one printable line on stderr; returns code.
int fail(ExitCode code, const Error& error);

// The folder that holds rules/: ../share/wallsight beside the program's folder (installed), else
// three levels up (a build tree), else $WALLSIGHT_DATA.
Result<std::string> find_data_folder();

// The catalogue, and the folders of --rules after it.
Result<RuleSet> load_catalogue(const std::vector<std::string>& more_folders);

// A run configuration, with the sizes of the model it names.
Result<RunConfig> load_run_config(const std::string& path);
Result<RunConfig> with_model_sizes(RunConfig config);

// A terminal that wants colour: isatty, no NO_COLOR, TERM is not "dumb".
bool wants_color(int fd);

// Flushes stdout. A reader who left early is no error; a full disk is.
int finish_stdout(int code);

}  // namespace ws::cli
