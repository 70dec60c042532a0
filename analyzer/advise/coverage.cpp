// Tested by: tests/unit/advise/coverage_test.cpp, tests/rules/catalogue_test.cpp
#include "advise/coverage.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace ws {
namespace {

using Values = std::vector<std::optional<bool>>;

std::optional<bool> changed(std::optional<bool> value, ClauseChange change) {
  if (change == ClauseChange::dropped) return true;
  if (change == ClauseChange::negated && value) return !*value;
  return value;
}

std::string named(const Rule& rule, size_t clause) {
  return fmt::format("/when/{} (`{}`)", clause,
                     shorten(one_line(to_utf8(rule.when[clause].sql)), 100));
}

Result<std::vector<TableRef>> tables_with_rows(const RuleSandbox& sandbox, const Rule& rule) {
  std::vector<TableRef> out;
  for (const TableRef& t : rule.from) {
    auto query = sandbox.prepare(select_sql({"1"}, {t}) + " LIMIT 1");
    if (!query) return query.error();
    if (query->statement.step()) out.push_back(t);
  }
  return out;
}

bool can_be_null(const TableColumn& read) {
  static const std::vector<FactColumn> kColumns = facts_columns();
  return std::any_of(kColumns.begin(), kColumns.end(), [&](const FactColumn& c) {
    return c.table == read.table && c.column == read.column && !c.not_null;
  });
}

// The values of the clauses at `asked`, a row of the join of `tables` each.
Result<std::vector<Values>> ask(const RuleSandbox& sandbox, const Rule& rule,
                                const std::vector<size_t>& asked,
                                const std::vector<TableRef>& tables) {
  std::vector<std::string> expressions;
  for (const size_t i : asked) expressions.push_back(rule.when[i].sql);
  auto query = sandbox.prepare(select_sql(expressions, tables));
  if (!query) return query.error();
  std::vector<Values> out(asked.size());
  while (query->statement.step()) {
    for (size_t k = 0; k < asked.size(); ++k) {
      const int column = static_cast<int>(k);
      out[k].push_back(query->statement.is_null(column)
                           ? std::nullopt
                           : std::optional<bool>(query->statement.real(column) != 0));
    }
  }
  if (query->statement.failed()) return Error{sandbox.why_stopped()};
  return out;
}

}  // namespace

Result<ClauseValues> ClauseValues::of(const RuleSandbox& sandbox, const Rule& rule) {
  ClauseValues out;
  const auto tables = tables_with_rows(sandbox, rule);
  if (!tables) return tables.error();
  const bool joined = tables->size() == rule.from.size();
  const auto has_rows = [&](const TableColumn& read) {
    return std::any_of(tables->begin(), tables->end(),
                       [&](const TableRef& t) { return t.table == read.table; });
  };
  std::vector<size_t> asked;
  for (size_t i = 0; i < rule.when.size(); ++i) {
    const auto& reads = rule.when[i].reads;
    if (joined || (!reads.empty() && std::all_of(reads.begin(), reads.end(), has_rows)))
      asked.push_back(i);
  }
  out.by_clause_.resize(rule.when.size());
  if (asked.empty()) return out;
  auto values = ask(sandbox, rule, asked, *tables);
  if (!values) return values.error();
  for (size_t k = 0; k < asked.size(); ++k) out.by_clause_[asked[k]] = std::move((*values)[k]);
  if (joined) out.rows_ = out.by_clause_.front().size();
  return out;
}

FindingStatus ClauseValues::status(size_t clause, ClauseChange change) const {
  const auto value = [&](size_t i, size_t row) {
    return changed(by_clause_[i][row], i == clause ? change : ClauseChange::none);
  };
  bool maybe = false;
  for (size_t row = 0; row < rows_; ++row) {
    size_t failed = 0, unknown = 0;
    for (size_t i = 0; i < by_clause_.size(); ++i) {
      const auto v = value(i, row);
      failed += v.has_value() && !*v;
      unknown += !v.has_value();
    }
    if (failed == 0 && unknown == 0) return FindingStatus::fires;
    maybe = maybe || failed == 0;
  }
  if (rows_ > 0) return maybe ? FindingStatus::unknown : FindingStatus::no;
  for (size_t i = 0; i < by_clause_.size(); ++i) {
    bool fails = !by_clause_[i].empty();
    for (size_t row = 0; row < by_clause_[i].size(); ++row)
      fails = fails && value(i, row) == std::optional<bool>(false);
    if (fails) return FindingStatus::no;
  }
  return FindingStatus::unknown;
}

std::vector<Error> untried_clauses(const Rule& rule, const std::vector<ClauseValues>& values,
                                   const std::string& place) {
  std::vector<Error> problems;
  for (size_t i = 0; i < rule.when.size(); ++i) {
    const auto tried = [&](ClauseChange change) {
      return std::any_of(values.begin(), values.end(), [&](const ClauseValues& v) {
        return v.status(i, change) != v.status(i, ClauseChange::none);
      });
    };
    if (!tried(ClauseChange::dropped)) {
      problems.push_back(
          {fmt::format("{}: expected a case where only {} does not hold, found "
                       "none; add one with `no`",
                       place, named(rule, i))});
    } else if (!tried(ClauseChange::negated)) {
      problems.push_back(
          {fmt::format("{}: expected a case that hangs on {}, found none; turned "
                       "round, every case says the same",
                       place, named(rule, i))});
    }
  }
  return problems;
}

std::vector<Error> missing_unknown(const FactDb& facts, const Rule& rule,
                                   const std::string& place) {
  for (size_t i = 0; i < rule.when.size(); ++i) {
    const CaseFacts held(facts);
    std::vector<std::string> missing;
    for (const TableColumn& read : rule.when[i].reads) {
      if (!can_be_null(read)) continue;
      missing.push_back(read.table + "." + read.column);
      const auto ok =
          facts.db().exec(fmt::format("UPDATE {} SET {} = NULL", read.table, read.column));
      if (!ok) return {ok.error()};
    }
    if (missing.empty()) continue;
    const auto values = ClauseValues::of(RuleSandbox(facts), rule);
    if (!values) return {{fmt::format("{}: {}", place, values.error().message)}};
    if (values->status(i, ClauseChange::none) == FindingStatus::unknown)
      return {
          {fmt::format("{}: expected a case with `unknown`, found none; {} says neither yes "
                       "nor no where {} is not known (NULL)",
                       place, named(rule, i), fmt::join(missing, " and "))}};
  }
  return {};
}

}  // namespace ws
