#include <fmt/format.h>

#include <iostream>

#include "cli/common.h"
#include "cli/verbs.h"

namespace ws::cli {

CLI::Validator not_empty() {
  return CLI::Validator(
      [](std::string& value) {
        return value.empty() ? std::string("expected a value, found an empty one") : std::string();
      },
      "");
}

std::optional<int> parse_or_exit(CLI::App& app, int argc, char** argv) {
  app.set_version_flag("--version", fmt::format("wallsight {}", version()));
  app.get_formatter()->column_width(34);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
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
