// `wallsight rules check`: a folder of rules, their cases, what the cases leave untried and the
// links between the rules. One fact database serves all cases.
// Tested by: tests/unit/advise/coverage_test.cpp, tests/rules/catalogue_test.cpp
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "advise/cases.h"
#include "advise/coverage.h"
#include "advise/json_text.h"
#include "base/text.h"

namespace ws {
namespace {

std::string printable(const std::string& path) { return one_line(to_utf8(path)); }

std::string cases_path(const std::string& folder, const std::string& id) {
  return fmt::format("{}/{}.cases.json", folder, id);
}

// Told first, whatever else is wrong with the rules.
std::vector<Error> absent_cases(const std::string& folder, const RuleFolder& read) {
  std::vector<Error> problems;
  for (const std::string& id : read.ids) {
    const std::string path = cases_path(folder, id);
    std::error_code ec;
    if (std::filesystem::exists(path, ec)) continue;
    problems.push_back({fmt::format(
        "{}: expected the cases of {} in this file, found no such file; a rule without cases is "
        "not accepted: write one that fires and, for every condition, one where it fails",
        printable(path), id)});
  }
  return problems;
}

bool has_case(const std::vector<RuleCase>& cases, FindingStatus status) {
  return std::any_of(cases.begin(), cases.end(),
                     [&](const RuleCase& c) { return c.expect == status; });
}

// The cases one after the other; `values` of those that could be judged.
std::vector<Error> run_cases(const FactDb& facts, const Rule& rule,
                             const std::vector<RuleCase>& cases, const std::string& path,
                             std::vector<ClauseValues>& values) {
  std::vector<Error> problems;
  const auto add = [&](const std::vector<Error>& more) {
    problems.insert(problems.end(), more.begin(), more.end());
  };
  bool asked_for_unknown = has_case(cases, FindingStatus::unknown);
  for (const RuleCase& c : cases) {
    const CaseFacts held(facts);
    if (auto ok = write_case(facts, c); !ok) {
      add({{fmt::format("{}: case `{}`: {}", path, printable(c.name), ok.error().message)}});
      continue;
    }
    add(run_case_on(facts, rule, c, path));
    auto one = ClauseValues::of(RuleSandbox(facts), rule);
    if (one) values.push_back(std::move(*one));
    if (asked_for_unknown || c.expect != FindingStatus::fires) continue;
    asked_for_unknown = true;
    add(missing_unknown(facts, rule, path));
  }
  return problems;
}

std::vector<Error> check_cases(const FactDb& facts, const Rule& rule, const std::string& path) {
  const auto text = read_small_file(path, kCaseFileLimit);
  if (!text) return {text.error()};
  CaseFile file = read_case_file(*text, path);
  const std::vector<RuleCase>* cases = &file.cases;
  std::vector<Error> problems = std::move(file.problems);
  // What the wrong cases try is not known: only the others are run.
  const bool all = problems.empty();
  if (cases->empty()) return problems;
  for (FindingStatus s : {FindingStatus::fires, FindingStatus::no}) {
    if (all && !has_case(*cases, s))
      problems.push_back(
          {fmt::format("{}: expected a case with `{}`, found none", path, name_of(s))});
  }
  std::vector<ClauseValues> values;
  for (Error& e : run_cases(facts, rule, *cases, path, values)) problems.push_back(std::move(e));
  // Without a case that fires nothing shows what any condition does.
  if (!all || !has_case(*cases, FindingStatus::fires)) return problems;
  for (Error& e : untried_clauses(rule, values, path)) problems.push_back(std::move(e));
  return problems;
}

}  // namespace

Result<std::vector<Error>> check_rule_folder(const std::string& folder, const RuleSet& beside) {
  const auto read = read_rule_folder(folder);
  if (!read) return read.error();
  std::vector<Error> problems = absent_cases(folder, *read);
  problems.insert(problems.end(), read->problems.begin(), read->problems.end());
  for (const std::string& stray : read->stray) {
    problems.push_back(
        {fmt::format("{}/{}: expected rules in <family>/<name>.json, found a file "
                     "beside the families, which is not read; move it into one",
                     folder, stray)});
  }
  const auto facts = FactDb::in_memory();
  if (!facts) return facts.error();
  for (const Rule& rule : read->set.rules) {
    const std::string path = cases_path(folder, rule.id);
    std::error_code ec;
    if (!std::filesystem::exists(path, ec)) continue;
    for (Error& e : check_cases(*facts, rule, path)) problems.push_back(std::move(e));
  }
  RuleSet all = beside;
  for (Error& e : add_rules(all, read->set.rules, folder)) problems.push_back(std::move(e));
  // A rule that could not be read is there all the same: links to it are not what is wrong.
  const auto links = check_links(all, read->ids);
  problems.insert(problems.end(), links.begin(), links.end());
  return problems;
}

}  // namespace ws
