// Tested by: tests/unit/advise/cases_test.cpp, tests/rules/catalogue_test.cpp
#include "advise/advise.h"

#include "advise/evaluate.h"
#include "advise/order.h"
#include "advise/sandbox.h"

namespace ws {
namespace {

Result<VerdictFacts> read_verdict(const FactDb& facts) {
  auto row = facts.db().prepare("SELECT verdict_kind, cause, also_cause FROM fact_run");
  if (!row) return row.error();
  if (!row->step())
    return Error{"fact_run: expected one row, found none; analyze the recording again"};
  return VerdictFacts{row->text(0) == "insufficient", std::string(row->text(1)),
                      std::string(row->text(2))};
}

}  // namespace

Result<std::vector<Finding>> advise(const FactDb& facts, const RuleSet& rules) {
  const auto verdict = read_verdict(facts);
  if (!verdict) return verdict.error();
  const RuleSandbox sandbox(facts);
  std::vector<Finding> findings;
  findings.reserve(rules.rules.size());
  for (const Rule& rule : rules.rules) {
    auto finding = evaluate(sandbox, rule);
    if (!finding) return finding.error();
    findings.push_back(std::move(*finding));
  }
  return order_findings(std::move(findings), rules, *verdict);
}

}  // namespace ws
