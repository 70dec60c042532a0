#pragma once
// The terminal report of made facts, and what tests look for in it.
#include <sstream>

#include "report/build_report.h"
#include "report/render.h"
#include "support/fact_fixture.h"
#include "support/finding_fixture.h"

namespace ws::test {

inline std::string text_of(const FactDb& facts, const std::vector<Finding>& findings,
                           const RenderOptions& options = {}) {
  auto report = build_report(facts, findings);
  REQUIRE(report);
  std::ostringstream out;
  render_text(*report, options, out);
  return out.str();
}

inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

}  // namespace ws::test
