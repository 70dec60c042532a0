// Tested by: cli_test (plan_fail_on_test.cpp), tests/cli/plan_result_check.py
#include "cli/plan_fail_on.h"

#include <fmt/format.h>

#include <algorithm>

namespace ws::cli {
namespace {

struct Condition {
  std::string_view name;
  bool (*holds)(const PlanResult&);
};
constexpr Condition kConditions[] = {
    {"violations", [](const PlanResult& r) { return r.violations > 0; }},
    {"silent", [](const PlanResult& r) { return r.silent > 0; }},
    {"does_not_fit", [](const PlanResult& r) { return r.memory == "does_not_fit"; }},
    {"may_not_fit",
     [](const PlanResult& r) { return r.memory == "does_not_fit" || r.memory == "may_not_fit"; }},
    {"not_enough_known", [](const PlanResult& r) { return !r.unknown.empty(); }}};
constexpr std::string_view kFinding = "finding:";

Result<void> check(const std::string& condition, const RuleSet& rules) {
  std::vector<std::string_view> names;
  for (const Condition& c : kConditions) names.push_back(c.name);
  if (std::find(names.begin(), names.end(), condition) != names.end()) return {};
  if (condition.rfind(kFinding, 0) != 0)
    return Error{fmt::format("--fail-on: expected one of {} finding:RULE, found `{}`",
                             fmt::join(names, " "), condition)};
  const std::string rule = condition.substr(kFinding.size());
  if (rules.find(rule) != nullptr) return {};
  return Error{fmt::format(
      "--fail-on: expected the id of a rule (`wallsight rules list`), found `{}`", rule)};
}

bool holds(const std::string& condition, const PlanResult& result, const Plan& plan) {
  for (const Condition& c : kConditions)
    if (c.name == condition) return c.holds(result);
  return std::any_of(plan.findings.begin(), plan.findings.end(),
                     [&](const Finding& f) { return f.rule == condition.substr(kFinding.size()); });
}

}  // namespace

Result<std::vector<std::string>> parse_plan_fail_on(const std::string& spec, const RuleSet& rules) {
  std::vector<std::string> out;
  for (size_t at = 0; !spec.empty() && at <= spec.size();) {
    const size_t comma = std::min(spec.find(',', at), spec.size());
    out.push_back(spec.substr(at, comma - at));
    if (auto ok = check(out.back(), rules); !ok) return ok.error();
    at = comma + 1;
  }
  return out;
}

std::vector<std::string> conditions_met(const std::vector<std::string>& conditions,
                                        const Plan& plan) {
  const PlanResult result = result_of(plan);
  std::vector<std::string> out;
  for (const std::string& c : conditions)
    if (holds(c, result, plan)) out.push_back(c);
  return out;
}

}  // namespace ws::cli
