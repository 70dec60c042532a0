// `wallsight explain`: every clause of a rule with its value, and the facts it would need.
// Tested by: report_test (explain_test.cpp), tests/cli.
#include <fmt/format.h>

#include <algorithm>

#include "report/escape.h"
#include "report/layout.h"
#include "report/missing_facts.h"
#include "report/render.h"
#include "report/tables.h"

namespace ws {
namespace {

std::string_view status_words(FindingStatus s) {
  switch (s) {
    case FindingStatus::fires:
      return "fires";
    case FindingStatus::no:
      return "does not fire";
    case FindingStatus::unknown:
      break;
  }
  return "can not say";
}

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

bool speaks_of(const std::string& clause, const std::string& expression) {
  for (size_t at = clause.find(expression); at != std::string::npos;
       at = clause.find(expression, at + 1)) {
    const size_t end = at + expression.size();
    if ((at == 0 || !is_name(clause[at - 1])) && (end == clause.size() || !is_name(clause[end])))
      return true;
  }
  return false;
}

// "   [ep.exposed_share = 0.45]": the evidence that a clause speaks of.
std::string values_in(const std::string& clause, const Finding& f) {
  std::string out;
  for (const EvidenceValue& e : f.evidence) {
    if (speaks_of(clause, e.expression))
      out += fmt::format("{}{} = {}", out.empty() ? "   [" : ", ", e.expression, e.value);
  }
  return out.empty() ? out : out + "]";
}

void explain(const Finding& f, const Supply& supply, std::ostream& out) {
  out << fmt::format("{}: {}\n", escape_text(f.rule), status_words(f.status));
  out << hanging("  ", escape_text(f.title));
  for (const ClauseValue& c : f.clauses) {
    const std::string mark = !c.holds ? "  ?  " : *c.holds ? "  +  " : "  -  ";
    out << hanging(mark, escape_text(c.clause + values_in(c.clause, f)));
    for (const std::string& fact : c.missing_facts) {
      out << hanging("       missing: ",
                     escape_text(fmt::format("{} ({}: {})", fact, missing_words(fact),
                                             how_to_supply(fact, supply))));
    }
  }
  for (const EvidenceValue& e : f.evidence)
    out << hanging("  value: ", escape_text(fmt::format("{} = {}", e.expression, e.value)));
  if (!f.later_release.empty())
    out << hanging("  needs: ", escape_text(f.later_release + ", after the stated release"));
  if (!f.held_back_by.empty())
    out << hanging("  after: ", escape_text(f.held_back_by + " (to be mended first)"));
  if (!f.why.empty()) out << hanging("  why: ", escape_text(f.why));
  for (const std::string& s : f.sources) out << hanging("  source: ", escape_text(s));
}

// "ep.exposed_share >= 0.1 does not hold" or what is missing, in few words.
std::string reason_of(const Finding& f, const Supply& supply) {
  for (const ClauseValue& c : f.clauses) {
    if (!c.holds && f.status == FindingStatus::unknown)
      return c.missing_facts.empty() ? ""
                                     : "missing: " + facts_words({c.missing_facts.front()}, supply);
    if (c.holds && !*c.holds && f.status == FindingStatus::no) return "not: " + c.clause;
  }
  if (!f.later_release.empty()) return "not in the stated release: " + f.later_release;
  return "";
}

// A rule on the run configuration, silent since none was given: its first clause asks for one.
bool wants_configuration(const Finding& f) {
  constexpr std::string_view kGiven = ".given = 1";
  if (f.status != FindingStatus::no) return false;
  const auto failing = std::find_if(f.clauses.begin(), f.clauses.end(), [](const ClauseValue& c) {
    return c.holds.has_value() && !*c.holds;
  });
  return failing != f.clauses.end() && failing->clause.size() > kGiven.size() &&
         failing->clause.find('.') + kGiven.size() == failing->clause.size() &&
         failing->clause.compare(failing->clause.find('.'), kGiven.size(), kGiven) == 0;
}

}  // namespace

void render_explanation_summary(const std::vector<Finding>& findings, std::ostream& out,
                                const Supply& supply) {
  constexpr size_t kWidestId = 40;  // longer ones push what follows
  size_t id = 0;
  for (const Finding& f : findings) id = std::max(id, std::min(kWidestId, width_of(f.rule)));
  for (const FindingStatus status :
       {FindingStatus::fires, FindingStatus::unknown, FindingStatus::no}) {
    for (const Finding& f : findings) {
      if (f.status != status || wants_configuration(f)) continue;
      const std::string first = fmt::format("{}  {}  ", pad_right(status_words(status), 13),
                                            pad_right(escape_text(f.rule), id));
      const std::string why =
          escape_text(status == FindingStatus::fires ? f.title : reason_of(f, supply));
      out << hanging(first, why);
    }
  }
  if (const auto silent = std::count_if(findings.begin(), findings.end(), wants_configuration);
      silent > 0) {
    out << hanging(fmt::format("{}  ", pad_right(status_words(FindingStatus::no), 13)),
                   fmt::format("{} rule{} on the run configuration, since none was given: analyze "
                               "with --config FILE",
                               silent, silent == 1 ? "" : "s"));
  }
  out << "\nwith the id of a rule, or --all: its clauses and values\n";
}

void render_explanations(const std::vector<Finding>& findings, std::ostream& out,
                         const Supply& supply) {
  bool first = true;
  for (const Finding& f : findings) {
    if (!first) out << '\n';
    first = false;
    explain(f, supply, out);
  }
}

}  // namespace ws
