#pragma once
// Parts of the plan that have a file of their own. Private to plan/.
#include <string>
#include <vector>

#include "advise/finding.h"
#include "advise/rule.h"
#include "base/result.h"
#include "config/config_study.h"
#include "config/run_config.h"

namespace ws {

// What to look at first, as this configuration makes it likely; "": nothing of it tells.
std::string profile_first(const RunConfig& config, const ConfigStudy& study,
                          const std::vector<ProfileStep>& steps);

// Lines to type for a run of one rank on one GPU, or why there are none.
std::vector<std::string> dry_run(const RunConfig& config, const Layout& layout);

// Does on a copy of the configuration what the findings advise, all of it, and asks the estimate of
// the memory and `errors`, the rules on what does not work, again. An action that makes a job that
// fits one that may not, or a new error, is not offered; a note says why. Of what does not work, or
// does something else, it stays with that reason, or its alternative takes its place.
Result<void> prove_findings(std::vector<Finding>& findings, std::vector<std::string>& notes,
                            const RunConfig& config, const Platforms& platforms,
                            const RuleSet& errors);

}  // namespace ws
