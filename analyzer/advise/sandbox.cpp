// Defense in layers: text checks (sql_text), this authorizer, SQLite's limits, query_only, and an
// instruction budget. The authorizer is told of every SELECT, so a second one is a subquery.
// source: sqlite.org "Defense Against The Dark Arts". Tested by: tests/rules/hostile_test.cpp
#include "advise/sandbox.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace ws {
namespace {

constexpr int kOpsPerCall = 1000;
constexpr int64_t kOpsPerQuery = 20'000'000;     // about a third of a second
constexpr int64_t kOpsPerSession = 400'000'000;  // of all rules together
constexpr size_t kReadLimit = 4000;

constexpr std::array<std::string_view, 13> kFunctions = {
    "abs", "coalesce", "iif",    "ifnull", "length", "like",  "lower",
    "max", "min",      "nullif", "round",  "upper",  "typeof"};

struct Limit {
  int id, value;
};
constexpr std::array<Limit, 11> kLimits = {{{SQLITE_LIMIT_LENGTH, 4 << 20},
                                            {SQLITE_LIMIT_SQL_LENGTH, 100'000},
                                            {SQLITE_LIMIT_COLUMN, 1000},
                                            {SQLITE_LIMIT_EXPR_DEPTH, 60},
                                            {SQLITE_LIMIT_COMPOUND_SELECT, 1},
                                            {SQLITE_LIMIT_VDBE_OP, 50'000},
                                            {SQLITE_LIMIT_FUNCTION_ARG, 10},
                                            {SQLITE_LIMIT_ATTACHED, 0},
                                            {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100},
                                            {SQLITE_LIMIT_VARIABLE_NUMBER, 1},
                                            {SQLITE_LIMIT_TRIGGER_DEPTH, 1}}};

struct Switch {
  int id, value;
};
constexpr std::array<Switch, 4> kSwitches = {{{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                              {SQLITE_DBCONFIG_DQS_DML, 0},
                                              {SQLITE_DBCONFIG_DQS_DDL, 0},
                                              {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0}}};

std::string_view view(const char* s) {
  return s != nullptr ? std::string_view(s) : std::string_view();
}

}  // namespace

struct RuleSandbox::State {
  const Database* db = nullptr;
  std::array<int, kLimits.size()> old_limits{};
  std::array<int, kSwitches.size()> old_switches{};
  bool was_query_only = false;
  // of the statement being prepared or run
  int selects = 0;
  std::string denied;
  std::vector<TableColumn> reads;
  int64_t ops = 0, session_ops = 0;

  int deny(std::string what) {
    if (denied.empty()) denied = std::move(what);
    return SQLITE_DENY;
  }
  int on_read(std::string_view table, std::string_view column) {
    if (table.substr(0, 5) != "fact_")
      return deny(fmt::format("table `{}`; only fact tables may be read", table));
    if (column.empty()) return SQLITE_OK;  // the table itself, no column of it
    if (column == "ROWID") return deny("`rowid`; rows have no order");
    TableColumn read{std::string(table), std::string(column)};
    if (std::find(reads.begin(), reads.end(), read) != reads.end()) return SQLITE_OK;
    if (reads.size() >= kReadLimit) return deny("too many columns");
    reads.push_back(std::move(read));
    return SQLITE_OK;
  }
  int on_function(std::string_view name) {
    for (std::string_view f : kFunctions) {
      if (sqlite3_strnicmp(name.data(), f.data(), static_cast<int>(f.size()) + 1) == 0)
        return SQLITE_OK;
    }
    return deny(fmt::format("function `{}`; allowed are {}", name, fmt::join(kFunctions, " ")));
  }
};

namespace {

int authorize(void* p, int action, const char* a, const char* b, const char*, const char*) {
  auto& state = *static_cast<RuleSandbox::State*>(p);
  switch (action) {
    case SQLITE_SELECT:
      return ++state.selects == 1 ? SQLITE_OK : state.deny("a subquery; compute it as a fact");
    case SQLITE_READ:
      return state.on_read(view(a), view(b));
    case SQLITE_FUNCTION:
      return state.on_function(view(b));
    default:
      return state.deny("a statement that is no plain expression");
  }
}

int progress(void* p) {
  auto& state = *static_cast<RuleSandbox::State*>(p);
  state.ops += kOpsPerCall;
  state.session_ops += kOpsPerCall;
  return state.ops > kOpsPerQuery || state.session_ops > kOpsPerSession ? 1 : 0;
}

}  // namespace

RuleSandbox::RuleSandbox(const FactDb& facts) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.db = &facts.db();
  sqlite3* db = s.db->handle();
  if (auto q = s.db->prepare("PRAGMA query_only"); q && q->step()) s.was_query_only = q->int64(0);
  sqlite3_exec(db, "PRAGMA query_only = 1", nullptr, nullptr, nullptr);
  for (size_t i = 0; i < kSwitches.size(); ++i) {
    sqlite3_db_config(db, kSwitches[i].id, -1, &s.old_switches[i]);
    sqlite3_db_config(db, kSwitches[i].id, kSwitches[i].value, nullptr);
  }
  for (size_t i = 0; i < kLimits.size(); ++i)
    s.old_limits[i] = sqlite3_limit(db, kLimits[i].id, kLimits[i].value);
  sqlite3_set_authorizer(db, authorize, &s);
  sqlite3_progress_handler(db, kOpsPerCall, progress, &s);
}

RuleSandbox::~RuleSandbox() {
  const State& s = *state_;
  sqlite3* db = s.db->handle();
  sqlite3_progress_handler(db, 0, nullptr, nullptr);
  sqlite3_set_authorizer(db, nullptr, nullptr);
  for (size_t i = 0; i < kLimits.size(); ++i) sqlite3_limit(db, kLimits[i].id, s.old_limits[i]);
  for (size_t i = 0; i < kSwitches.size(); ++i)
    sqlite3_db_config(db, kSwitches[i].id, s.old_switches[i], nullptr);
  if (!s.was_query_only) sqlite3_exec(db, "PRAGMA query_only = 0", nullptr, nullptr, nullptr);
}

Result<RuleSandbox::Query> RuleSandbox::prepare(const std::string& sql) const {
  State& s = *state_;
  s.selects = 0;
  s.ops = 0;
  s.denied.clear();
  s.reads.clear();
  auto statement = s.db->prepare(sql);
  if (!s.denied.empty())
    return Error{fmt::format("expected a plain expression, found {}", s.denied)};
  if (!statement) return Error{statement.error().message};
  if (s.selects == 0) return Error{"expected a plain expression, found no SELECT"};
  return Query{std::move(*statement), s.reads};
}

std::string RuleSandbox::why_stopped() const {
  if (state_->session_ops > kOpsPerSession)
    return "expected all rules to finish in bounded work, found no end; use fewer rules";
  if (state_->ops > kOpsPerQuery)
    return fmt::format("expected an end within {} instructions, found none; join fewer tables",
                       kOpsPerQuery);
  return fmt::format("expected a value, found an error of SQLite ({})", state_->db->last_error());
}

std::string select_sql(const std::vector<std::string>& expressions,
                       const std::vector<TableRef>& from) {
  std::string sql = "SELECT ";
  for (size_t i = 0; i < expressions.size(); ++i)
    sql += fmt::format("{}({})", i == 0 ? "" : ", ", expressions[i]);
  sql += " FROM ";
  for (size_t i = 0; i < from.size(); ++i)
    sql += fmt::format("{}{} AS {}", i == 0 ? "" : ", ", from[i].table, from[i].alias);
  return sql;
}

}  // namespace ws
