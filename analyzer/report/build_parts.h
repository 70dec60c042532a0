#pragma once
// The parts of build_report, one per group of fact tables. Not for use outside report/.
#include <fmt/format.h>

#include <vector>

#include "facts/fact_db.h"
#include "report/report.h"

namespace ws {

Result<void> read_run(const Database& db, Report& report);     // fact_run, _source, _config
Result<void> read_steps(const Database& db, Report& report);   // fact_step, fact_rank and leaves
Result<void> read_tables(const Database& db, Report& report);  // partition, losses, kernels, ...
Result<void> read_notes(const Database& db, Report& report);   // fact_note, fact_verdict_text
void add_where_table(Report& report);                          // from partition, memory and losses
void add_headline(Report& report);                             // words of the verdict
void add_findings(const std::vector<Finding>& findings, Report& report);

inline Error fact_error(const std::string& what) {
  return Error{fmt::format("fact database: {}; analyze the recording again", what)};
}

// Runs a query of ours and calls `row` for each result; columns count from 0.
template <class F>
Result<void> each_row(const Database& db, std::string_view sql, F row) {
  auto statement = db.prepare(sql);
  if (!statement) return fact_error(statement.error().message);
  while (statement->step()) row(*statement);
  if (statement->failed()) return fact_error(db.last_error());
  return {};
}

inline std::string text_of(const Statement& s, int i) { return std::string(s.text(i)); }
inline std::optional<std::string> maybe_text(const Statement& s, int i) {
  if (s.is_null(i)) return std::nullopt;
  return text_of(s, i);
}
inline std::optional<double> maybe_real(const Statement& s, int i) {
  if (s.is_null(i)) return std::nullopt;
  return s.real(i);
}

}  // namespace ws
