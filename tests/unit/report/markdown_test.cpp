#include <sstream>

#include "report/build_report.h"
#include "report/render.h"
#include "support/fact_fixture.h"
#include "support/finding_fixture.h"

using namespace ws;
using namespace ws::test;

namespace {

// Cells of a table row: bars that no backslash escapes, less one.
size_t cells_of(const std::string& line) {
  size_t bars = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '|') {
      ++bars;
    }
  }
  return bars > 0 ? bars - 1 : 0;
}

}  // namespace

TEST_CASE("tables keep their columns whatever the names") {
  const FactDb facts = exchange_facts();
  exec(facts,
       "UPDATE fact_kernel SET name = name || '|x|' || char(10) || '| y | `z` <img src=x> [a](b) "
       "\\|'");
  exec(facts, "UPDATE fact_collective SET group_name = 'g|h`i'");
  auto report = build_report(facts, exchange_findings());
  REQUIRE(report);
  std::ostringstream out;
  render_markdown(*report, {}, out);
  size_t expected = 0, tables = 0;
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);) {
    INFO(line);
    if (line.empty() || line[0] != '|') {
      expected = 0;
      continue;
    }
    if (expected == 0) {
      expected = cells_of(line);
      ++tables;
    }
    CHECK(cells_of(line) == expected);
    CHECK(line.find('<') == std::string::npos);
  }
  CHECK(tables >= 6);
}

TEST_CASE("actions are lists with the exact setting as code") {
  auto report = build_report(exchange_facts(), exchange_findings());
  REQUIRE(report);
  std::ostringstream out;
  render_markdown(*report, {}, out);
  const std::string text = out.str();
  CHECK(text.find("`--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep`") !=
        std::string::npos);
  CHECK(text.find("1. **Try the flex dispatcher** (gain at most 45.0 %; phase: retune)") !=
        std::string::npos);
  CHECK(text.find("instead of: 1 (Try the flex dispatcher)") != std::string::npos);
}
