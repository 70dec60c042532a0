#pragma once
// --fail-on: conditions on the verdict and the findings, for CI. "a,b" holds when any part holds.
//
//   wall=communication   wall, loss, cause, kind, also: = or != and a name of the contract
//   share>0.2            lower end of the verdict's share of the step: > >= < <=
//   confidence>=medium   = != > >= < <= in the order low medium high
//   finding:RULE         the rule fires
#include <string>
#include <vector>

#include "base/result.h"
#include "report/report.h"

namespace ws::cli {

struct FailCondition {
  std::string text, key, op, value;  // as written; finding: key "finding", op ":"
  double number = 0;
};

// Misspelt keys and values are refused, so that a condition can not silently never hold.
Result<std::vector<FailCondition>> parse_fail_on(const std::string& spec);

// Texts of the conditions that hold.
std::vector<std::string> conditions_met(const std::vector<FailCondition>& conditions,
                                        const Report& report);

}  // namespace ws::cli
