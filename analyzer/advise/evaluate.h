#pragma once
// evaluate: one rule against the facts of one run. Every clause is a column of its own, so each
// has a value to show: a row where all hold fires; else a row where none fails but one is NULL is
// unknown; else no. No row at all is unknown: an absent row means "not looked for".
#include "advise/finding.h"
#include "advise/rule.h"
#include "advise/sandbox.h"
#include "base/result.h"

namespace ws {

// `leads` and the order are order_findings' work. Among rows that fire the one with the largest
// gain speaks, then the one whose evidence sorts first. Where none fires, the row that holds the
// most clauses from the front is shown: a rule's first clause says which row it is about.
Result<Finding> evaluate(const RuleSandbox& sandbox, const Rule& rule);

}  // namespace ws
