#include <fmt/format.h>

#include "report/render.h"

namespace ws {
namespace {

constexpr ReportFormat kFormats[] = {
    {"text", render_text},
    {"md", render_markdown},
    {"json", render_json},
};

}  // namespace

Result<ReportFormat> find_format(std::string_view name) {
  for (const ReportFormat& f : kFormats) {
    if (f.name == name) return f;
  }
  if (name == "html")
    return Error{"--report html: this version writes no HTML yet; use text, md or json"};
  return Error{
      fmt::format("--report {}: expected text, md or json; `--help` lists the options", name)};
}

}  // namespace ws
