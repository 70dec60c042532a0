// Tested by: write_facts_test.cpp
#include "facts/write_facts.h"

#include "facts/fact_writers.h"

namespace ws {

Result<FactDb> write_facts(const RunAnalysis& run, const Platforms& platforms,
                           const FactOptions& options) {
  auto facts = FactDb::in_memory();
  if (!facts) return facts.error();
  const Database& db = facts->db();
  if (auto ok = db.exec("BEGIN"); !ok) return ok.error();
  FactInput in{run, platforms, options, evidence_of(run.ranks, run.means), std::nullopt};
  if (options.config != nullptr)
    in.merge = merge_config(config_row(*options.config), recorded_config(run));
  for (auto write : {write_run, write_config, write_layout, write_ranks, write_steps, write_losses,
                     write_kernels, write_collectives, write_idle, write_host, write_memory,
                     write_across, write_what_if, write_recorder, write_notes})
    if (auto ok = write(db, in); !ok) return ok.error();
  if (auto ok = db.exec("COMMIT"); !ok) return ok.error();
  return facts;
}

}  // namespace ws
