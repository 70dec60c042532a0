// Rows per rank and per step, each with its partition.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "report/build_parts.h"
#include "report/numbers.h"
#include "report/phrases.h"

namespace ws {
namespace {

using StepKey = std::tuple<int64_t, int64_t, int64_t>;

// Why the step does not count, else what an outlier has more or less of.
std::optional<std::string> note_of(const Statement& s) {
  if (!s.is_null(9) || s.is_null(10)) return maybe_text(s, 9);
  const LeafPhrase* words = phrase_of_leaf(s.text(10));
  const int64_t excess = s.int64(11);
  return fmt::format("{} {} {} than the median step", duration_text(std::abs(excess)),
                     excess < 0 ? "less" : "more", words != nullptr ? words->label : s.text(10));
}

Result<void> read_step_rows(const Database& db, Report& report) {
  std::map<StepKey, size_t> row_of;
  auto& rows = report.steps.rows;
  auto ok = each_row(db,
                     "SELECT rank, device, step, name, begin_ns, end_ns, steady, complete, "
                     "outlier, note, excess_leaf, excess_ns FROM fact_step "
                     "ORDER BY rank, device, begin_ns, step, rowid",
                     [&](const Statement& s) {
                       row_of.emplace(StepKey{s.int64(0), s.int64(1), s.int64(2)}, rows.size());
                       rows.push_back({s.int64(0),
                                       s.int64(1),
                                       s.int64(2),
                                       text_of(s, 3),
                                       s.int64(4),
                                       s.int64(5),
                                       s.int64(6) != 0,
                                       s.int64(7) != 0,
                                       s.int64(8) != 0,
                                       note_of(s),
                                       {}});
                     });
  if (!ok) return ok;
  return each_row(db, "SELECT rank, device, step, leaf, ns FROM fact_step_leaf ORDER BY rowid",
                  [&](const Statement& s) {
                    const auto it = row_of.find(StepKey{s.int64(0), s.int64(1), s.int64(2)});
                    if (it != row_of.end())
                      rows[it->second].partition.emplace_back(text_of(s, 3), s.int64(4));
                  });
}

Result<void> read_rank_rows(const Database& db, Report& report) {
  std::map<std::pair<int64_t, int64_t>, size_t> row_of;
  auto& rows = report.ranks;
  auto ok = each_row(
      db,
      "SELECT rank, device, host, rank_source, gpu, clock_offset_ns, clock_error_ns, step_mean_ns, "
      "late_ns, launch_latency_ns, kernel_gap_ns, ops, ops_with_launch, stage_idle_ns FROM "
      "fact_rank "
      "ORDER BY rank, device, rowid",
      [&](const Statement& s) {
        row_of.emplace(std::pair{s.int64(0), s.int64(1)}, rows.size());
        rows.push_back({s.int64(0),
                        s.int64(1),
                        text_of(s, 2),
                        text_of(s, 3),
                        maybe_text(s, 4),
                        s.maybe_int64(5),
                        s.maybe_int64(6),
                        s.maybe_int64(7),
                        s.maybe_int64(8),
                        s.int64(9),
                        s.int64(10),
                        s.int64(11),
                        s.int64(12),
                        {},
                        s.maybe_int64(13)});
      });
  if (!ok) return ok;
  return each_row(db, "SELECT rank, device, leaf, ns FROM fact_rank_leaf ORDER BY rowid",
                  [&](const Statement& s) {
                    const auto it = row_of.find(std::pair{s.int64(0), s.int64(1)});
                    if (it != row_of.end())
                      rows[it->second].partition.emplace_back(text_of(s, 2), s.int64(3));
                  });
}

void read_clocks(Report& report) {
  ReportRun& run = report.run;
  run.clocks_aligned = report.ranks.size() > 1;
  for (const ReportRank& r : report.ranks) {
    run.clocks_aligned = run.clocks_aligned && r.clock_offset_ns.has_value();
    if (r.clock_error_ns)
      run.clock_max_error_ns = std::max(run.clock_max_error_ns.value_or(0), *r.clock_error_ns);
  }
}

// Why steps do not count, in order of first appearance; one entry per reason.
void count_left_out(ReportSteps& steps) {
  for (const ReportStep& s : steps.rows) {
    if (s.steady) continue;
    const std::string reason = s.note       ? *s.note
                               : s.complete ? "not steady"
                                            : "cut by the recording";
    const auto it = std::find_if(steps.left_out.begin(), steps.left_out.end(),
                                 [&](const auto& e) { return e.first == reason; });
    if (it != steps.left_out.end()) {
      ++it->second;
    } else {
      steps.left_out.emplace_back(reason, 1);
    }
  }
}

}  // namespace

Result<void> read_steps(const Database& db, Report& report) {
  if (auto ok = read_step_rows(db, report); !ok) return ok;
  if (auto ok = read_rank_rows(db, report); !ok) return ok;
  read_clocks(report);
  count_left_out(report.steps);
  return {};
}

}  // namespace ws
