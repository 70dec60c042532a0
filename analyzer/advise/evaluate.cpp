// Tested by: tests/unit/advise/evaluate_test.cpp, rules/**/*.cases.json
#include "advise/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace ws {
namespace {

constexpr size_t kEvidenceColumns = 320;  // of one printed value, which may be a list

// What of a clause can be NULL, as columns of the SELECT: `alias.column IS NULL`.
struct NullProbe {
  size_t clause;
  std::string fact;  // "fact_config.ep"
  std::string sql;
};

std::vector<NullProbe> null_probes(const Rule& rule) {
  std::vector<NullProbe> out;
  for (size_t i = 0; i < rule.when.size(); ++i) {
    for (const TableColumn& read : rule.when[i].reads) {
      for (const TableRef& t : rule.from) {
        if (t.table != read.table) continue;
        out.push_back({i, read.table + "." + read.column,
                       fmt::format("{}.{} IS NULL", t.alias, read.column)});
      }
    }
  }
  return out;
}

std::vector<const RuleLine*> lines_of(const Rule& rule) {
  std::vector<const RuleLine*> out;
  for (const auto* lines : {&rule.why, &rule.published, &rule.pitfalls, &rule.verify})
    for (const RuleLine& line : *lines) out.push_back(&line);
  return out;
}

std::string query_text(const Rule& rule, const std::vector<NullProbe>& probes) {
  std::vector<std::string> expressions;
  for (const Clause& c : rule.when) expressions.push_back(c.sql);
  expressions.insert(expressions.end(), rule.evidence.begin(), rule.evidence.end());
  expressions.push_back(rule.gain ? rule.gain->lo_share : "NULL");
  expressions.push_back(rule.gain ? rule.gain->hi_share : "NULL");
  for (const RuleAction& a : rule.actions) expressions.push_back(a.when.empty() ? "1" : a.when);
  for (const RuleLine* l : lines_of(rule)) expressions.push_back(l->when.empty() ? "1" : l->when);
  if (rule.gain)
    for (const GainRule::WhatIf& w : rule.gain->what_if)
      expressions.push_back(w.when.empty() ? "1" : w.when);
  for (const NullProbe& p : probes) expressions.push_back(p.sql);
  return select_sql(expressions, rule.from);
}

EvidenceValue evidence_value(const Statement& row, int column, const std::string& expression) {
  EvidenceValue out{expression, "unknown", std::nullopt};
  if (row.is_null(column)) return out;
  if (row.is_integer(column)) {
    out.value = fmt::format("{}", row.int64(column));
    out.number = static_cast<double>(row.int64(column));
  } else if (row.is_real(column)) {
    out.value = fmt::format("{:.6g}", row.real(column));
    out.number = row.real(column);
  } else {
    std::string text = shorten(one_line(to_utf8(row.text(column))), kEvidenceColumns);
    while (!text.empty() && text.back() == ' ') text.pop_back();  // lists stand between blanks
    text.erase(0, text.find_first_not_of(' '));
    out.value = std::move(text);
  }
  return out;
}

std::optional<double> share_value(const Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return std::clamp(row.real(column), 0.0, 1.0);
}

// One row of the rule's join, as a finding without the rule's own words.
struct Row {
  std::vector<ClauseValue> clauses;
  std::vector<EvidenceValue> evidence;
  std::vector<bool> offered;  // by action
  std::vector<bool> said;     // by line, as lines_of
  std::vector<bool> sure;     // by line: its `when` is there and known to hold
  std::vector<bool> counts;   // by re-simulated change of the gain
  std::optional<double> lo, hi;
  int failed = 0, unknown = 0;

  FindingStatus status() const {
    if (failed > 0) return FindingStatus::no;
    return unknown > 0 ? FindingStatus::unknown : FindingStatus::fires;
  }
  // Smaller is better: what holds longest from the front (rules name their row first), then the
  // fewest unknowns, then the largest gain.
  std::tuple<int, int, int, double, double> standing() const {
    int held = 0;
    for (const ClauseValue& c : clauses) {
      if (c.holds.has_value() && !*c.holds) break;
      ++held;
    }
    return {-held, failed, unknown, -hi.value_or(-1), -lo.value_or(-1)};
  }
  bool better_than(const Row& o) const {
    if (standing() != o.standing()) return standing() < o.standing();
    return std::lexicographical_compare(
        evidence.begin(), evidence.end(), o.evidence.begin(), o.evidence.end(),
        [](const EvidenceValue& a, const EvidenceValue& b) { return a.value < b.value; });
  }
};

Row read_row(const Statement& s, const Rule& rule, const std::vector<NullProbe>& probes) {
  Row row;
  int column = 0;
  for (const Clause& c : rule.when) {
    ClauseValue v{c.sql, std::nullopt, {}};
    if (!s.is_null(column)) v.holds = s.real(column) != 0;
    row.failed += v.holds.has_value() && !*v.holds;
    row.unknown += !v.holds.has_value();
    row.clauses.push_back(std::move(v));
    ++column;
  }
  for (const std::string& e : rule.evidence) row.evidence.push_back(evidence_value(s, column++, e));
  row.lo = share_value(s, column++);
  row.hi = share_value(s, column++);
  if (row.lo && row.hi) row.lo = std::min(*row.lo, *row.hi);
  for (size_t i = 0; i < rule.actions.size(); ++i, ++column)
    row.offered.push_back(s.is_null(column) || s.real(column) != 0);
  for (const RuleLine* line : lines_of(rule)) {
    row.said.push_back(s.is_null(column) || s.real(column) != 0);
    row.sure.push_back(!line->when.empty() && !s.is_null(column) && s.real(column) != 0);
    ++column;
  }
  for (size_t i = 0; rule.gain && i < rule.gain->what_if.size(); ++i, ++column)
    row.counts.push_back(!s.is_null(column) && s.real(column) != 0);
  for (const NullProbe& p : probes) {
    ClauseValue& clause = row.clauses[p.clause];
    if (s.int64(column++) != 0 && !clause.holds) clause.missing_facts.push_back(p.fact);
  }
  return row;
}

// `alias.` of one of the tables: "run.idle_share", not "rerun.idle_share".
bool names_any(const std::string& expression, const std::vector<TableRef>& tables) {
  const auto is_name = [](char c) {
    return c == '_' || c == '.' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  };
  return std::any_of(tables.begin(), tables.end(), [&](const TableRef& t) {
    const std::string head = t.alias + ".";
    for (size_t at = expression.find(head); at != std::string::npos;
         at = expression.find(head, at + 1))
      if (at == 0 || !is_name(expression[at - 1])) return true;
    return false;
  });
}

bool reads_any(const Clause& clause, const std::vector<TableRef>& tables) {
  return names_any(clause.sql, tables) ||
         std::any_of(clause.reads.begin(), clause.reads.end(), [&](const TableColumn& read) {
           return std::any_of(tables.begin(), tables.end(),
                              [&](const TableRef& t) { return t.table == read.table; });
         });
}

std::optional<Result<Row>> best_row(const RuleSandbox& sandbox, const Rule& rule) {
  const auto probes = null_probes(rule);
  auto query = sandbox.prepare(query_text(rule, probes));
  if (!query) return Result<Row>(query.error());
  std::optional<Result<Row>> best;
  while (query->statement.step()) {
    Row row = read_row(query->statement, rule, probes);
    if (!best || row.better_than(**best)) best = Result<Row>(std::move(row));
  }
  if (query->statement.failed()) return Result<Row>(Error{sandbox.why_stopped()});
  return best;
}

// A table has no row. What reads it is unknown and it is what is missing; what the other tables say
// is said of their best row, and may decide.
Result<Row> empty_row(const RuleSandbox& sandbox, const Rule& rule) {
  std::vector<TableRef> empty;
  Rule known;  // as much of the rule as the tables with rows can tell
  for (const TableRef& t : rule.from) {
    auto query = sandbox.prepare(select_sql({"1"}, {t}) + " LIMIT 1");
    if (!query) return query.error();
    (query->statement.step() ? known.from : empty).push_back(t);
  }
  for (const Clause& c : rule.when)
    if (!reads_any(c, empty)) known.when.push_back(c);
  for (const std::string& e : rule.evidence)
    if (!names_any(e, empty)) known.evidence.push_back(e);
  Row found;
  if (!known.from.empty())
    if (auto best = best_row(sandbox, known); best && *best) found = std::move(**best);
  Row row;
  size_t clause = 0, evidence = 0;
  for (const Clause& c : rule.when) {
    ClauseValue v{c.sql, std::nullopt, {}};
    if (!reads_any(c, empty) && clause < found.clauses.size()) v = found.clauses[clause++];
    for (const TableRef& t : empty)
      if (reads_any(c, {t})) v.missing_facts.push_back(t.table);
    row.failed += v.holds.has_value() && !*v.holds;
    row.unknown += !v.holds.has_value();
    row.clauses.push_back(std::move(v));
  }
  if (row.failed + row.unknown == 0)
    row.unknown = 1;  // no clause reads what is empty: evidence does
  for (const std::string& e : rule.evidence)
    row.evidence.push_back(!names_any(e, empty) && evidence < found.evidence.size()
                               ? found.evidence[evidence++]
                               : EvidenceValue{e, "unknown", std::nullopt});
  row.offered.assign(rule.actions.size(), true);
  row.said.assign(lines_of(rule).size(), true);
  row.sure.assign(lines_of(rule).size(), false);
  for (size_t i = 0; rule.gain && i < rule.gain->what_if.size(); ++i)
    row.counts.push_back(rule.gain->what_if[i].when.empty());
  return row;
}

// As the configuration tells, else names in the recording that no other framework has; empty: any.
Result<std::vector<std::string>> frameworks_of(const RuleSandbox& sandbox) {
  auto config = sandbox.prepare("SELECT framework FROM fact_config");
  if (!config) return config.error();
  if (config->statement.step() && !config->statement.is_null(0))
    return std::vector<std::string>{std::string(config->statement.text(0))};
  auto run = sandbox.prepare("SELECT framework, framework_by FROM fact_run");
  if (!run) return run.error();
  if (!run->statement.step() || run->statement.is_null(0)) return std::vector<std::string>{};
  const std::string_view by = run->statement.text(1);
  if (by == "core") return std::vector<std::string>{"megatron_lm", "megatron_bridge"};
  if (by != "program" && by != "operators") return std::vector<std::string>{};
  return std::vector<std::string>{std::string(run->statement.text(0))};
}

// "{lay.min_gpus}" becomes the value of that evidence; the rule was checked to have it.
std::string filled(std::string text, const std::vector<EvidenceValue>& evidence) {
  for (const EvidenceValue& e : evidence) {
    const std::string mark = "{" + e.expression + "}";
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
      text.replace(at, mark.size(), e.value);
      at += e.value.size();
    }
  }
  return text;
}

// An action or a sentence with a value that is not known says nothing.
bool lacks_value(const std::string& text, const std::vector<EvidenceValue>& evidence) {
  return std::any_of(evidence.begin(), evidence.end(), [&](const EvidenceValue& e) {
    return e.is_unknown() && text.find("{" + e.expression + "}") != std::string::npos;
  });
}

// Of a rule or a line: `frameworks` are those that the run may be of.
template <class T>
bool is_for(const T& line, const std::vector<std::string>& frameworks) {
  const auto& of = line.frameworks;
  return frameworks.empty() || of.empty() ||
         std::find_first_of(of.begin(), of.end(), frameworks.begin(), frameworks.end()) != of.end();
}

// What matters for this run comes first: 0 a condition that is known to hold, 1 the framework of
// the run, 2 what is true of any run, 3 a condition that is not known to hold or to fail.
int standing_of(const RuleLine& line, bool sure, const std::vector<std::string>& frameworks) {
  if (sure) return 0;
  if (!line.when.empty()) return 3;
  return line.frameworks.empty() || frameworks.empty() ? 2 : 1;
}

Finding finding_of(const Rule& rule, Row row, const std::vector<std::string>& frameworks) {
  Finding f;
  f.rule = rule.id;
  f.title = rule.title;
  f.wall = rule.wall;
  f.phase = rule.phase;
  f.status = row.status();
  f.clauses = std::move(row.clauses);
  f.evidence = std::move(row.evidence);
  f.gain_lo_share = row.lo;
  f.gain_hi_share = row.hi;
  f.gain_basis = rule.gain ? rule.gain->basis : "";
  for (size_t i = 0; i < rule.actions.size(); ++i) {
    const RuleAction& a = rule.actions[i];
    if (!row.offered[i] || lacks_value(a.set + a.to + a.note, f.evidence)) continue;
    f.actions.push_back({a.framework, filled(a.set, f.evidence), filled(a.to, f.evidence),
                         filled(a.note, f.evidence)});
  }
  for (size_t i = 0; i < row.counts.size(); ++i) {
    const GainRule::WhatIf& w = rule.gain->what_if[i];
    if (row.counts[i]) f.what_ifs.push_back({w.id, w.lo, w.hi});
  }
  size_t at = 0;
  const auto said = [&](const std::vector<RuleLine>& lines, bool by_standing) {
    std::vector<std::pair<int, std::string>> found;
    for (const RuleLine& line : lines) {
      const size_t i = at++;
      if (!row.said[i] || !is_for(line, frameworks) || lacks_value(line.text, f.evidence)) continue;
      found.emplace_back(by_standing ? standing_of(line, row.sure[i], frameworks) : 0,
                         filled(line.text, f.evidence));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> out;
    for (auto& line : found) out.push_back(std::move(line.second));
    return out;
  };
  f.why = fmt::format("{}", fmt::join(said(rule.why, false), " "));
  f.published = said(rule.published, true);
  f.pitfalls = said(rule.pitfalls, true);
  f.verify = said(rule.verify, false);
  f.kind = rule.kind;
  f.safety = rule.safety;
  f.conflicts = rule.conflicts;
  f.sources = rule.sources;
  return f;
}

}  // namespace

Result<Finding> evaluate(const RuleSandbox& sandbox, const Rule& rule) {
  auto best = best_row(sandbox, rule);
  if (best && !*best) return Error{fmt::format("{}: {}", rule.id, best->error().message)};
  auto frameworks = frameworks_of(sandbox);
  if (!frameworks) return Error{fmt::format("{}: {}", rule.id, frameworks.error().message)};
  auto row = best ? std::move(*best) : empty_row(sandbox, rule);
  if (!row) return Error{fmt::format("{}: {}", rule.id, row.error().message)};
  if (!is_for(rule, *frameworks)) {
    row->clauses.push_back(
        {fmt::format("framework IN ({})", fmt::join(rule.frameworks, ", ")), false, {}});
    ++row->failed;
  }
  return finding_of(rule, std::move(*row), *frameworks);
}

}  // namespace ws
