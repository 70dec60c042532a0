#include "cli/common.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "config/known_runs.h"
#include "config/read_config.h"
#include "report/escape.h"

namespace ws::cli {
namespace {

namespace fs = std::filesystem;

bool holds_data(const fs::path& folder) {
  std::error_code ec;
  return fs::is_regular_file(folder / "rules" / "kernel_classes.json", ec);
}

}  // namespace

std::string_view version() { return WALLSIGHT_VERSION; }

int fail(ExitCode code, const Error& error) {
  std::cerr << "wallsight: " << escape_text(error.message) << "\n";
  return code;
}

Result<std::string> find_data_folder() {
  std::error_code ec;
  const fs::path program = fs::read_symlink("/proc/self/exe", ec);
  std::vector<fs::path> places;
  if (!ec) {
    places.push_back(program.parent_path() / ".." / "share" / "wallsight");
    places.push_back(program.parent_path() / ".." / ".." / "..");
  }
  if (const char* named = std::getenv("WALLSIGHT_DATA"); named != nullptr && *named != '\0') {
    places.emplace_back(named);
  }
  for (const fs::path& place : places) {
    if (holds_data(place)) return fs::canonical(place, ec).string();
  }
  return Error{fmt::format(
      "{}: expected ../share/wallsight/rules/kernel_classes.json beside it, found none; install "
      "wallsight as a whole or set WALLSIGHT_DATA to the folder that holds rules/",
      program.parent_path().string())};
}

Result<RuleSet> load_catalogue(const std::vector<std::string>& more_folders) {
  auto data = find_data_folder();
  if (!data) return data.error();
  std::vector<std::string> folders = {*data + "/rules"};
  folders.insert(folders.end(), more_folders.begin(), more_folders.end());
  return load_rules(folders);
}

Result<RunConfig> load_run_config(const std::string& path) {
  auto config = read_config_file(path);
  if (!config) return config;
  return with_model_sizes(std::move(*config));
}

Result<RunConfig> with_model_sizes(RunConfig config) {
  const auto data = find_data_folder();
  if (!data) return data.error();
  const auto known = load_known_runs(*data + "/rules/configurations.json");
  if (!known) return known.error();
  add_model_sizes(config, *known);
  return config;
}

bool wants_color(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::strcmp(term, "dumb") == 0) return false;
  return isatty(fd) == 1;
}

int finish_stdout(int code) {
  errno = 0;
  std::cout.flush();
  if (std::cout.good()) return code;
  const int why = errno;
  pollfd reader{STDOUT_FILENO, POLLOUT, 0};
  const bool gone = poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR) != 0;
  if (why == EPIPE || gone) return code;
  return fail(kBadInput,
              Error{fmt::format("stdout: can not write ({}); check free space where it goes",
                                why != 0 ? std::strerror(why) : "output error")});
}

}  // namespace ws::cli
