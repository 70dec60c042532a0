#pragma once
// What the user states of the installed software: the framework and releases, as if the run
// configuration said so.
#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/run_config.h"

namespace ws::cli {

struct StatedOptions {
  // Key of the run configuration, and the text of its option; "": not given.
  std::vector<std::pair<std::string, std::string>> values = {
      {"framework", ""}, {"framework_version", ""}, {"te_version", ""}, {"torch_version", ""}};
};

// --framework, --framework-version, --te-version, --torch-version
void add_stated_options(CLI::App& app, StatedOptions& options);

// "te_version" -> "--te-version"
std::string option_of(std::string key);

// The keys that were given, in their normal form. Fails for a value that is none of its key.
Result<RunConfig> stated_config(const StatedOptions& options);

// Puts them in place of what the file says; where it says something else a note tells.
Result<void> put_stated(RunConfig& config, const RunConfig& stated);

}  // namespace ws::cli
