#pragma once
// Parts of the plan that have a file of their own. Private to plan/.
#include <string>
#include <vector>

#include "config/config_study.h"
#include "config/run_config.h"

namespace ws {

// What to look at first, as this configuration makes it likely; "": nothing of it tells.
std::string profile_first(const RunConfig& config, const ConfigStudy& study,
                          const std::vector<ProfileStep>& steps);

// Lines to type for a run of one rank on one GPU, or why there are none.
std::vector<std::string> dry_run(const RunConfig& config, const Layout& layout);

}  // namespace ws
