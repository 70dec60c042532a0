#pragma once
// Projects a run on the fact tables (schemas/facts.sql). Means are over counted steps per device,
// then over devices, rounded so that leaves sum to the step (analysis/losses.h); totals are exact.
#include "analysis/run_analysis.h"
#include "config/platforms.h"
#include "config/run_config.h"
#include "facts/fact_db.h"

namespace ws {

struct FactOptions {
  bool show_names = false;  // host names and paths as given instead of host0 and base names
  const RunConfig* config = nullptr;  // of the run; null: none was given
  // Framework and releases that the user states without a configuration; null: none.
  const RunConfig* stated = nullptr;
  std::vector<std::string> asked_changes;  // ids of --what-if
};

Result<FactDb> write_facts(const RunAnalysis& run, const Platforms& platforms,
                           const FactOptions& options = {});

}  // namespace ws
