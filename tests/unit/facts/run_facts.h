#pragma once
// Facts of a made run beside the text of a configuration, and one value of them.
#include <string>
#include <utility>

#include "config/read_config.h"
#include "facts/write_facts.h"
#include "support/catch.h"
#include "unit/analysis/made_rank.h"

namespace ws::made {

inline FactDb run_facts(RunAnalysis run, const std::string& yaml) {
  static const auto platforms = Platforms::load(WS_SOURCE_DIR "/rules/platforms.json");
  run.means = means_of(run.ranks);
  run.verdict = judge(run.ranks, run.means);
  const auto config = read_config(yaml, "run.yaml");
  if (!config) FAIL(config.error().message);
  FactOptions options;
  options.config = &*config;
  auto facts = write_facts(run, *platforms, options);
  if (!facts) FAIL(facts.error().message);
  return std::move(*facts);
}

// "NULL" where there is none.
inline std::string value(const FactDb& facts, const std::string& sql) {
  auto row = facts.db().prepare(sql);
  if (!row) FAIL(row.error().message);
  REQUIRE(row->step());
  return row->is_null(0) ? "NULL" : std::string(row->text(0));
}

}  // namespace ws::made
