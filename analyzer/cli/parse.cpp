#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "cli/common.h"
#include "cli/verbs.h"
#include "report/layout.h"

namespace ws::cli {

namespace {

constexpr size_t kHelpColumn = 34;  // where descriptions begin

// The formatter prints a description as one line, however long.
std::string wrapped(const std::string& help) {
  std::istringstream in(help);
  std::string out;
  for (std::string line; std::getline(in, line);) {
    const bool described = line.size() > kHelpColumn && line[kHelpColumn - 1] == ' ';
    const size_t first = described ? kHelpColumn : 0;
    out += width_of(line) <= kReportColumns ? line + '\n'
                                            : hanging(line.substr(0, first), line.substr(first));
  }
  return out;
}

}  // namespace

CLI::Validator not_empty() {
  return CLI::Validator(
      [](std::string& value) {
        return value.empty() ? std::string("expected a value, found an empty one") : std::string();
      },
      "");
}

std::optional<int> parse_or_exit(CLI::App& app, int argc, char** argv,
                                 const std::string& usage_end) {
  app.set_version_flag("--version", fmt::format("wallsight {}", version()));
  app.get_formatter()->column_width(kHelpColumn);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::string help = app.help();
    if (const size_t usage = help.find("Usage:"); usage != std::string::npos)
      help.insert(std::min(help.find('\n', usage), help.size()), usage_end);
    std::cout << wrapped(help);
    return kDone;
  } catch (const CLI::CallForVersion& e) {
    std::cout << e.what() << "\n";
    return kDone;
  } catch (const CLI::ParseError& e) {
    return fail(kBadUsage, Error{fmt::format("{}: {}; see `wallsight {} --help`", argv[0], e.what(),
                                             argv[0])});
  }
  return std::nullopt;
}

}  // namespace ws::cli
