#pragma once
// advise: all rules against one run, in the order in which to act. Rules that do not fire are in
// it too, for `explain`; a report shows what fires and what is unknown.
#include <vector>

#include "advise/finding.h"
#include "advise/rule.h"
#include "facts/fact_db.h"

namespace ws {

Result<std::vector<Finding>> advise(const FactDb& facts, const RuleSet& rules);

}  // namespace ws
