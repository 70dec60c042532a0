// fact_recorder: what our own recorder cost the job.
// Tested by: write_facts_test.cpp, recorder_test.py
#include "facts/fact_writers.h"

namespace ws {
namespace {

std::optional<double> share(TimeNs part, TimeNs whole) {
  if (part < 0 || whole <= 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}
std::optional<TimeNs> known(TimeNs ns) { return ns < 0 ? std::nullopt : std::optional(ns); }

}  // namespace

Result<void> write_recorder(const Database& db, const FactInput& in) {
  FactTable table(db, "fact_recorder");
  for (const RankAnalysis& rank : in.run.ranks) {
    const RecorderCost& c = rank.recorder;
    if (c.window_ns < 0 && c.writer_cpu_ns < 0 && c.recorded_step_ns < 0) continue;
    auto slowdown = share(c.recorded_step_ns, c.bare_step_ns);
    if (slowdown) *slowdown -= 1;
    table.row(rank.rank, known(c.window_ns), share(c.writer_cpu_ns, c.window_ns),
              share(c.tool_ns, c.window_ns), known(c.bare_step_ns), known(c.recorded_step_ns),
              slowdown);
  }
  return table.result();
}

}  // namespace ws
