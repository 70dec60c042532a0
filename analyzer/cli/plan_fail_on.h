#pragma once
// --fail-on of plan, for CI. "a,b" holds when any part holds.
//
//   violations        settings that do not work
//   silent            settings that the framework ignores or takes as something else
//   does_not_fit      the memory estimate exceeds the GPU even at its lower end
//   may_not_fit       so does its upper end
//   not_enough_known  GPUs, sizes or memory are not known
//   finding:RULE      the rule fires
#include <string>
#include <vector>

#include "advise/rule.h"
#include "base/result.h"
#include "plan/plan.h"

namespace ws::cli {

// Misspelt names and rules are refused, so that a condition can not silently never hold.
Result<std::vector<std::string>> parse_plan_fail_on(const std::string& spec, const RuleSet& rules);

// Those that hold.
std::vector<std::string> conditions_met(const std::vector<std::string>& conditions,
                                        const Plan& plan);

}  // namespace ws::cli
