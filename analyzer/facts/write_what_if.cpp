// Tested by: write_facts_test.cpp
#include <algorithm>

#include "facts/fact_writers.h"

namespace ws {
namespace {

Result<void> write_path(const Database& db, const CriticalPath& path) {
  FactTable table(db, "fact_path");
  for (const PathPart& part : path.parts)
    table.row(part.rank, name_of(part.leaf), part.ns,
              static_cast<double>(part.ns) / static_cast<double>(path.length_ns));
  return table.result();
}

std::optional<std::string_view> known_text(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

}  // namespace

Result<void> write_what_if(const Database& db, const FactInput& in) {
  const PricedRun& run = in.run.what_if;
  const std::vector<std::string>& asked = in.options.asked_changes;
  FactTable rows(db, "fact_what_if");
  for (const WhatIfRow& row : run.rows) {
    std::optional<std::string_view> loss, cause;
    if (row.next) {
      loss = name_of(row.next->loss);
      cause = name_of(row.next->cause);
    }
    rows.row(row.id, row.step_lo_ns, row.step_hi_ns, row.saved_lo_share, row.saved_hi_share, loss,
             cause, std::count(asked.begin(), asked.end(), row.id) > 0);
  }
  if (auto ok = rows.result(); !ok) return ok;
  const bool built = run.steps > 0;
  const auto when_built = [&](auto value) { return built ? std::optional(value) : std::nullopt; };
  FactTable replay(db, "fact_replay");
  replay.row(run.steps, when_built(run.unexplained_share), when_built(run.recorded_edges),
             when_built(run.inferred_edges), when_built(run.violated_edges), run.prices.has_value(),
             known_text(run.why_not), known_text(run.why_no_prices));
  if (auto ok = replay.result(); !ok) return ok;
  return write_path(db, run.path);
}

}  // namespace ws
