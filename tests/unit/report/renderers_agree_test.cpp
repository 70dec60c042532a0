// All renderers print one Report: the numbers of the group table are read back from text and from
// Markdown and compared with those of the JSON.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "report/build_report.h"
#include "report/phrases.h"
#include "report/render.h"
#include "support/fact_fixture.h"
#include "support/finding_fixture.h"

using namespace ws;
using namespace ws::test;

namespace {

struct Row {
  double percent = 0, time = 0;
};
using Rows = std::map<std::string, Row>;

Rows rows_in(const std::string& text, const std::string& pattern) {
  Rows out;
  const std::regex row(pattern);
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::smatch m;
    if (std::regex_search(line, m, row)) out.emplace(m[1], Row{std::stod(m[2]), std::stod(m[3])});
  }
  return out;
}

std::string render(void (*f)(const Report&, const RenderOptions&, std::ostream&),
                   const Report& report) {
  std::ostringstream out;
  f(report, {}, out);
  return out.str();
}

}  // namespace

TEST_CASE("text, Markdown and JSON carry the same numbers") {
  auto report = build_report(exchange_facts(), exchange_findings());
  REQUIRE(report);
  const std::string text = render(render_text, *report), md = render(render_markdown, *report);
  const auto json = nlohmann::json::parse(render(render_json, *report));

  const std::string groups = "(compute|communication|memory|host|not explained|sum)";
  const Rows in_text = rows_in(text, "^  " + groups + " +([0-9.]+) % +([0-9.]+) ms");
  const Rows in_md = rows_in(md, "^\\| " + groups + " \\| ([0-9.]+) % \\| ([0-9.]+) \\|");
  REQUIRE(in_text.size() == 6);
  REQUIRE(in_md.size() == 6);
  Rows in_json;
  for (const auto& [leaf, ns] : json["partition"]["mean_per_step"].items()) {
    Row& row = in_json[std::string(name_of(phrase_of_leaf(leaf)->group))];
    row.time += ns.get<double>() / 1e6;
    row.percent += ns.get<double>() / 1e5;
    in_json["sum"].time += ns.get<double>() / 1e6;
    in_json["sum"].percent += ns.get<double>() / 1e5;
  }
  for (const auto& [group, row] : in_text) {
    INFO(group);
    CHECK(in_md.at(group).percent == row.percent);
    CHECK(in_md.at(group).time == row.time);
    CHECK(std::abs(in_json.at(group).percent - row.percent) < 0.1001);
    CHECK(std::abs(in_json.at(group).time - row.time) < 0.1001);
  }
  for (const auto& sentence : json["verdict"]["why"]) {
    CHECK(text.find(sentence.get<std::string>()) != std::string::npos);
  }
  const std::string headline = json["verdict"]["headline"];
  CHECK(text.find(headline) != std::string::npos);
  CHECK(md.find(headline) != std::string::npos);
  for (const auto& finding : json["findings"]) {
    CHECK(text.find(finding["title"].get<std::string>()) != std::string::npos);
    CHECK(md.find(finding["title"].get<std::string>()) != std::string::npos);
  }
  for (const auto& note : json["notes"])
    CHECK(text.find(note["text"].get<std::string>()) != std::string::npos);
}

TEST_CASE("text, Markdown and JSON mark what an earlier broken phase holds back") {
  Finding broken = firing("x/grid", "The grid does not fit"), held = firing("x/tune", "Tune it");
  held.held_back_by = "x/grid";
  auto report = build_report(exchange_facts(), {broken, held});
  REQUIRE(report);
  const std::string text = render(render_text, *report), md = render(render_markdown, *report);
  const auto json = nlohmann::json::parse(render(render_json, *report));
  CHECK(text.find("     after            The grid does not fit\n") > text.find("Tune it"));
  CHECK(md.find("   - after: The grid does not fit\n") > md.find("Tune it"));
  CHECK(text.find("     after ") != std::string::npos);
  CHECK(md.find("   - after: ") != std::string::npos);
  CHECK(json["findings"][0]["held_back_by"].is_null());
  CHECK(json["findings"][1]["held_back_by"] == "x/grid");
}
