// Tested by: tests/unit/advise/cases_test.cpp, tests/rules/catalogue_test.cpp
#include "advise/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "advise/evaluate.h"
#include "advise/json_text.h"
#include "advise/sandbox.h"
#include "advise/sql_text.h"
#include "base/check.h"
#include "base/text.h"

namespace ws {
namespace {

using nlohmann::json;

constexpr size_t kCaseLimit = 200;
constexpr std::string_view kOneRowTables[] = {"fact_run",  "fact_config", "fact_layout",
                                              "fact_host", "fact_memory", "fact_throughput"};

// Parsed once: hundreds of cases ask for them.
const std::vector<FactColumn>& known_columns() {
  static const std::vector<FactColumn> kColumns = facts_columns();
  return kColumns;
}

std::string shown(std::string_view s) { return shorten(one_line(to_utf8(s)), 60); }

Result<FactValue> value_of(const json& v) {
  if (v.is_null()) return FactValue{};
  if (v.is_number_integer()) return FactValue{v.get<int64_t>()};
  if (v.is_number()) return FactValue{v.get<double>()};
  if (v.is_string()) return FactValue{v.get<std::string>()};
  return Error{fmt::format("expected a number, text or null, found {}", v.type_name())};
}

class CaseReader {
 public:
  CaseReader(const std::string& place, const std::vector<FactColumn>& columns)
      : place_(place), columns_(columns) {}

  Result<RuleCase> read(const json& o, size_t index) const {
    const std::string base = fmt::format("/{}", index);
    if (!o.is_object()) return fail(base, "expected an object, found something else");
    for (const auto& [key, value] : o.items()) {
      static constexpr std::string_view kKeys[] = {"name",     "facts", "expect",
                                                   "evidence", "says",  "says_not"};
      if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys))
        return fail(base,
                    fmt::format("expected {}, found `{}`", fmt::join(kKeys, " "), shown(key)));
    }
    RuleCase out;
    if (!o.contains("name") || !o["name"].is_string())
      return fail(base + "/name", "expected text, found none");
    out.name = o["name"].get<std::string>();
    if (auto ok = read_expect(o, out); !ok) return fail(base + "/expect", ok.error().message);
    if (!o.contains("facts") || !o["facts"].is_object())
      return fail(base + "/facts", "expected an object, found none");
    for (const auto& [table, rows] : o["facts"].items()) {
      if (auto ok = read_table(table, rows, out); !ok)
        return fail(fmt::format("{}/facts/{}", base, shown(table)), ok.error().message);
    }
    const json evidence = o.value("evidence", json::object());
    for (const auto& [expression, v] : evidence.items()) {
      auto value = value_of(v);
      if (!value) return fail(base + "/evidence", value.error().message);
      out.evidence.emplace_back(expression, std::move(*value));
    }
    for (auto [key, words] : {std::pair("says", &out.says), std::pair("says_not", &out.says_not)}) {
      const json list = o.value(key, json::array());
      const bool texts =
          list.is_array() &&
          std::all_of(list.begin(), list.end(), [](const json& w) { return w.is_string(); });
      if (!texts) return fail(base + "/" + key, "expected a list of texts, found something else");
      *words = list.get<std::vector<std::string>>();
    }
    return out;
  }

 private:
  Error fail(const std::string& pointer, const std::string& text) const {
    return {fmt::format("{}: {}: {}", place_, pointer, text)};
  }

  static Result<void> read_expect(const json& o, RuleCase& out) {
    for (FindingStatus s : {FindingStatus::fires, FindingStatus::no, FindingStatus::unknown}) {
      if (o.contains("expect") && o["expect"] == std::string(name_of(s))) {
        out.expect = s;
        return {};
      }
    }
    return Error{"expected fires, no or unknown, found something else"};
  }

  Result<void> read_table(const std::string& table, const json& rows, RuleCase& out) const {
    const json list = rows.is_array() ? rows : json::array({rows});
    for (const json& row : list) {
      if (!row.is_object()) return Error{"expected a row as an object, found something else"};
      FactRow fact{table, {}};
      for (const auto& [name, v] : row.items()) {
        const FactColumn* column = find(table, name);
        if (column == nullptr)
          return Error{fmt::format("expected a column of schemas/facts.sql, found `{}.{}`",
                                   shown(table), shown(name))};
        auto value = value_of(v);
        if (!value) return value.error();
        if (auto ok = fits(*column, *value); !ok) return ok;
        fact.values.emplace_back(name, std::move(*value));
      }
      out.rows.push_back(std::move(fact));
    }
    return {};
  }

  const FactColumn* find(std::string_view table, std::string_view name) const {
    for (const FactColumn& c : columns_) {
      if (c.table == table && c.column == name) return &c;
    }
    return nullptr;
  }

  Result<void> fits(const FactColumn& column, const FactValue& value) const {
    const auto* text = std::get_if<std::string>(&value);
    const auto allowed = allowed_values(column, columns_);
    if (text == nullptr || allowed.empty()) return {};
    if (std::find(allowed.begin(), allowed.end(), *text) != allowed.end()) return {};
    return Error{fmt::format("expected a value that {}.{} can hold, {}", column.table,
                             column.column, choice_words(allowed, *text))};
  }

  const std::string& place_;
  const std::vector<FactColumn>& columns_;
};

void bind_value(Statement& s, int i, const FactValue& v) {
  if (const auto* n = std::get_if<int64_t>(&v)) {
    s.bind(i, *n);
  } else if (const auto* d = std::get_if<double>(&v)) {
    s.bind(i, *d);
  } else if (const auto* t = std::get_if<std::string>(&v)) {
    s.bind(i, std::string_view(*t));
  } else {
    s.bind_null(i);
  }
}

Result<void> insert_row(const Database& db, const std::vector<FactColumn>& columns,
                        const FactRow& row) {
  std::string names, marks;
  std::vector<FactValue> values;
  for (const FactColumn& c : columns) {
    if (c.table != row.table) continue;
    const auto given = std::find_if(row.values.begin(), row.values.end(),
                                    [&](const auto& v) { return v.first == c.column; });
    FactValue value;
    if (given != row.values.end()) value = given->second;
    if (std::holds_alternative<std::monostate>(value) && c.not_null)
      value = c.type == "TEXT" ? FactValue{std::string()} : FactValue{int64_t{0}};
    names += (names.empty() ? "" : ", ") + c.column;
    marks += marks.empty() ? "?" : ", ?";
    values.push_back(std::move(value));
  }
  auto insert = db.prepare(fmt::format("INSERT INTO {} ({}) VALUES ({})", row.table, names, marks));
  if (!insert) return insert.error();
  for (size_t i = 0; i < values.size(); ++i)
    bind_value(*insert, static_cast<int>(i) + 1, values[i]);
  insert->step();
  if (insert->failed()) return Error{fmt::format("{}: {}", row.table, db.last_error())};
  return {};
}

bool same_value(const EvidenceValue& got, const FactValue& want) {
  if (const auto* n = std::get_if<int64_t>(&want))
    return got.number && *got.number == static_cast<double>(*n);
  if (const auto* d = std::get_if<double>(&want))
    return got.number && std::abs(*got.number - *d) <= 1e-9;
  if (const auto* t = std::get_if<std::string>(&want)) return !got.number && got.value == *t;
  return got.is_unknown();
}

// A gain is a part of the step: 0 <= lo <= hi <= 1. Asked as it is written, before evaluate()
// forces it into those bounds; `when`: only rows for which all of these hold.
std::optional<Error> gain_problem(const RuleSandbox& sandbox, const Rule& rule,
                                  const std::vector<Clause>& when, const std::string& at) {
  constexpr double kRounding = 1e-9;
  std::vector<std::string> expressions = {rule.gain->lo_share, rule.gain->hi_share};
  for (const Clause& c : when) expressions.push_back(c.sql);
  auto query = sandbox.prepare(select_sql(expressions, rule.from));
  if (!query) return Error{fmt::format("{}: {}", at, query.error().message)};
  const Statement& row = query->statement;
  while (query->statement.step()) {
    bool asked = !row.is_null(0) && !row.is_null(1);
    for (int i = 2; asked && i < static_cast<int>(expressions.size()); ++i)
      asked = !row.is_null(i) && row.real(i) != 0;
    const double lo = row.real(0), hi = row.real(1);
    if (asked && !when.empty() && std::abs(lo - 1) <= kRounding && hi >= lo)
      return Error{
          fmt::format("{}: /gain/lo_share: expected less than the whole step, found {:.6g}; "
                      "a step can not take no time",
                      at, lo)};
    if (!asked || (lo >= -kRounding && lo <= hi + kRounding && hi <= 1 + kRounding)) continue;
    return Error{
        fmt::format("{}: /gain: expected 0 <= lo_share <= hi_share <= 1 (shares of the "
                    "step), found {:.6g} and {:.6g}",
                    at, lo, hi)};
  }
  return std::nullopt;
}

bool is_share(const std::string& column) {
  static constexpr std::string_view kShares[] = {"share", "share_lo", "share_hi", "price_lo",
                                                 "price_hi"};
  constexpr std::string_view kEnd = "_share";
  return std::find(std::begin(kShares), std::end(kShares), column) != std::end(kShares) ||
         (column.size() > kEnd.size() &&
          column.compare(column.size() - kEnd.size(), kEnd.size(), kEnd) == 0);
}

// "exposed_share - wait_share": the second is a part of the first, and may be none of it.
bool is_taken_off(const Rule& rule, const TableColumn& column) {
  for (const TableRef& t : rule.from) {
    const std::string term = fmt::format("- {}.{}", t.alias, column.column);
    if (t.table == column.table && (rule.gain->lo_share.find(term) != std::string::npos ||
                                    rule.gain->hi_share.find(term) != std::string::npos))
      return true;
  }
  return false;
}

// Every share that the gain reads at one value, what is taken off at 0.
Result<void> set_shares(const Database& db, const Rule& rule, const std::vector<TableColumn>& reads,
                        double value) {
  for (const TableColumn& read : reads) {
    if (!is_share(read.column)) continue;
    auto update = db.prepare(fmt::format("UPDATE {} SET {} = ?1", read.table, read.column));
    if (!update) return update.error();
    update->bind(1, is_taken_off(rule, read) ? 0 : value);
    update->step();
  }
  return {};
}

Result<std::vector<TableColumn>> gain_reads(const FactDb& facts, const Rule& rule) {
  const RuleSandbox sandbox(facts);
  auto gain = sandbox.prepare(select_sql({rule.gain->lo_share, rule.gain->hi_share}, rule.from));
  if (!gain) return gain.error();
  return gain->reads;
}

// As the case has it, and with small and large shares: most cases leave them at 0, where every
// formula looks right. The facts are left as they were.
std::optional<Error> gain_problems(const FactDb& facts, const Rule& rule, const RuleCase& rule_case,
                                   const std::string& at) {
  if (!rule.gain) return std::nullopt;
  if (auto problem = gain_problem(RuleSandbox(facts), rule, rule.when, at)) return problem;
  if (rule_case.expect != FindingStatus::fires) return std::nullopt;
  const auto reads = gain_reads(facts, rule);
  if (!reads) return reads.error();
  const CaseFacts held(facts);
  for (const double share : {0.01, 0.5}) {
    if (auto ok = set_shares(facts.db(), rule, *reads, share); !ok) return ok.error();
    const std::string place = fmt::format("{} with its shares at {}", at, share);
    if (auto problem = gain_problem(RuleSandbox(facts), rule, {}, place)) return problem;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(FindingStatus s) {
  switch (s) {
    case FindingStatus::fires:
      return "fires";
    case FindingStatus::no:
      return "no";
    case FindingStatus::unknown:
      break;
  }
  return "unknown";
}

CaseFile read_case_file(std::string_view json_text, const std::string& place) {
  CaseFile out;
  const auto parsed = parse_json(json_text, place);
  if (!parsed) {
    out.problems.push_back(parsed.error());
    return out;
  }
  if (!parsed->is_array() || parsed->empty() || parsed->size() > kCaseLimit) {
    out.problems.push_back({fmt::format(
        "{}: expected a list of 1 to {} cases, found something else", place, kCaseLimit)});
    return out;
  }
  const CaseReader reader(place, known_columns());
  for (size_t i = 0; i < parsed->size(); ++i) {
    auto one = reader.read((*parsed)[i], i);
    if (one)
      out.cases.push_back(std::move(*one));
    else
      out.problems.push_back(one.error());
  }
  return out;
}

Result<std::vector<RuleCase>> read_cases(std::string_view json_text, const std::string& place) {
  CaseFile file = read_case_file(json_text, place);
  if (!file.problems.empty()) return file.problems.front();
  return std::move(file.cases);
}

CaseFacts::CaseFacts(const FactDb& facts) : facts_(facts) {
  WS_CHECK(facts_.db().exec("SAVEPOINT case_facts"));
}

CaseFacts::~CaseFacts() {
  WS_CHECK(facts_.db().exec("ROLLBACK TO case_facts; RELEASE case_facts"));
}

Result<void> write_case(const FactDb& facts, const RuleCase& rule_case) {
  std::vector<FactRow> rows = rule_case.rows;
  for (std::string_view table : kOneRowTables) {
    const bool given =
        std::any_of(rows.begin(), rows.end(), [&](const FactRow& r) { return r.table == table; });
    if (!given) rows.push_back({std::string(table), {}});
  }
  for (const FactRow& row : rows) {
    if (auto ok = insert_row(facts.db(), known_columns(), row); !ok) return ok;
  }
  return {};
}

Result<FactDb> case_facts(const RuleCase& rule_case) {
  auto facts = FactDb::in_memory();
  if (!facts) return facts.error();
  if (auto ok = write_case(*facts, rule_case); !ok) return ok.error();
  return facts;
}

std::vector<Error> run_case(const Rule& rule, const RuleCase& rule_case, const std::string& place) {
  const auto facts = case_facts(rule_case);
  if (!facts)
    return {
        {fmt::format("{}: case `{}`: {}", place, shown(rule_case.name), facts.error().message)}};
  return run_case_on(*facts, rule, rule_case, place);
}

std::vector<Error> run_case_on(const FactDb& facts, const Rule& rule, const RuleCase& rule_case,
                               const std::string& place) {
  const std::string at = fmt::format("{}: case `{}`", place, shown(rule_case.name));
  const auto finding = evaluate(RuleSandbox(facts), rule);
  if (!finding) return {{fmt::format("{}: {}", at, finding.error().message)}};
  std::vector<Error> problems;
  if (auto gain = gain_problems(facts, rule, rule_case, at)) problems.push_back(*gain);
  if (finding->status != rule_case.expect)
    problems.push_back({fmt::format("{}: expected {}, found {}", at, name_of(rule_case.expect),
                                    name_of(finding->status))});
  for (const auto& [expression, want] : rule_case.evidence) {
    const auto it = std::find_if(
        finding->evidence.begin(), finding->evidence.end(),
        [&, key = std::string_view(expression)](const auto& e) { return e.expression == key; });
    if (it == finding->evidence.end() || !same_value(*it, want)) {
      problems.push_back(
          {fmt::format("{}: expected another value of `{}`, found {}", at, shown(expression),
                       it == finding->evidence.end() ? "none" : it->value)});
    }
  }
  std::vector<std::string> lines = {finding->why};
  for (const Action& a : finding->actions)
    lines.push_back(fmt::format("{} {} {}", a.set, a.to, a.note));
  for (const auto* more : {&finding->published, &finding->pitfalls, &finding->verify})
    lines.insert(lines.end(), more->begin(), more->end());
  const auto said = [&](const std::string& words) {
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.find(words) != std::string::npos;
    });
  };
  for (const std::string& words : rule_case.says)
    if (!said(words))
      problems.push_back({fmt::format("{}: expected the words `{}`, found none", at, words)});
  for (const std::string& words : rule_case.says_not)
    if (said(words))
      problems.push_back({fmt::format("{}: expected no words `{}`, found some", at, words)});
  return problems;
}

}  // namespace ws
