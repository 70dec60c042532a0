#pragma once
// What the facts stand for that a rule would need, and what supplies them.
#include <string>
#include <vector>

#include "advise/finding.h"
#include "base/recorders.h"
#include "facts/fact_db.h"

namespace ws {

// "fact_memory.headroom_share": "memory events".
std::string missing_words(const std::string& fact);
// Of the run at hand: whether its configuration was given, and what records it.
struct Supply {
  bool config_given = false;
  std::string framework{};  // of the configuration, may be empty
  std::string spelled{};    // fact_config.spelled
  Recorders recorders{};
  // Settings on which computed facts rest and that the file has not.
  std::vector<std::string> absent{};
};
// As the findings leave it: a configuration that they say is another run's is none.
Supply supply_of(const FactDb& facts, const std::vector<Finding>& findings = {});

// "torch.profiler with profile_memory=True, or nsys with --cuda-memory-usage=true"; of a setting
// that the given configuration has not, its key.
std::string how_to_supply(const std::string& fact, const Supply& supply = {});
// Both of all of them, each way once: "EP, TP of the run configuration: --config FILE; ..."
std::string facts_words(const std::vector<std::string>& facts, const Supply& supply = {});

}  // namespace ws
