// Tested by: tests/unit/advise/rule_test.cpp, tests/rules/hostile_test.cpp
#include "advise/rule_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "advise/sandbox.h"
#include "base/text.h"

namespace ws {
namespace {

using Sound = std::map<std::pair<std::string, std::string>, std::vector<TableColumn>>;

class ExpressionCheck {
 public:
  ExpressionCheck(const RuleSandbox& sandbox, const Rule& rule, const std::string& from,
                  const std::vector<FactColumn>& columns, Sound& sound,
                  std::vector<Error>& problems)
      : sandbox_(sandbox),
        tables_(rule.from),
        from_(from),
        columns_(columns),
        sound_(sound),
        problems_(problems) {}

  std::vector<TableColumn> run(const std::string& sql, const std::string& place) {
    if (const auto known = sound_.find({from_, sql}); known != sound_.end()) return known->second;
    std::vector<SqlToken> tokens;
    auto found = scan_expression(sql, tokens);
    if (found.empty()) {
      auto query = sandbox_.prepare(select_sql({sql}, tables_));
      if (query) {
        found = check_literals(tokens, tables_, columns_);
        report(found, sql, place);
        if (found.empty()) sound_[{from_, sql}] = query->reads;
        return query->reads;
      }
      problems_.push_back({fmt::format("{}: {}; see schemas/facts.sql", place,
                                       without_prefix(query.error().message))});
    }
    report(found, sql, place);
    return {};
  }

 private:
  // SQLite counts characters from the start of the SELECT; the author of the rule does not.
  static std::string without_prefix(const std::string& message) {
    const size_t at = message.rfind("(at character ");
    if (at == std::string::npos) return message;
    constexpr int kPrefix = 8;  // "SELECT ("
    const int n = std::atoi(message.c_str() + at + 14) - kPrefix;
    return fmt::format("{}(at character {})", message.substr(0, at), n > 0 ? n : 0);
  }
  void report(const std::vector<SqlProblem>& found, const std::string& sql,
              const std::string& place) {
    for (const SqlProblem& p : found) {
      problems_.push_back(
          {fmt::format("{}: {} (at character {} of `{}`)", place, one_line(to_utf8(p.text)), p.at,
                       shorten(one_line(to_utf8(sql)), 100))});
    }
  }

  const RuleSandbox& sandbox_;
  const std::vector<TableRef>& tables_;
  const std::string& from_;
  const std::vector<FactColumn>& columns_;
  Sound& sound_;
  std::vector<Error>& problems_;
};

std::vector<std::pair<const std::vector<RuleLine>*, const char*>> lines_of(const Rule& rule) {
  return {{&rule.why, "why"},
          {&rule.published, "published"},
          {&rule.pitfalls, "pitfalls"},
          {&rule.verify, "verify"}};
}

// "{expr}" in words to print must be one of the evidence.
void check_marks(const Rule& rule, const std::string& place, std::vector<Error>& problems) {
  const auto check = [&](const std::string& text, const std::string& where) {
    for (size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
      const size_t dot = text.find('.', at), end = text.find('}', at);
      if (end == std::string::npos || dot > end) continue;  // braces of code, not a mark
      const std::string mark = text.substr(at + 1, end - at - 1);
      if (std::find(rule.evidence.begin(), rule.evidence.end(), mark) != rule.evidence.end())
        continue;
      problems.push_back({fmt::format("{}: {}: expected an expression of `evidence`, found `{}`",
                                      place, where, shorten(one_line(to_utf8(mark)), 60))});
    }
  };
  for (const auto& [lines, key] : lines_of(rule))
    for (const RuleLine& line : *lines) check(line.text, fmt::format("/{}", key));
  for (size_t i = 0; i < rule.actions.size(); ++i) {
    const Action& a = rule.actions[i];
    check(a.set + " " + a.to + " " + a.note, fmt::format("/actions/{}", i));
  }
}

}  // namespace

Result<RuleChecker> RuleChecker::make() {
  auto facts = FactDb::in_memory();
  if (!facts) return facts.error();
  return RuleChecker(std::move(*facts));
}

void RuleChecker::check(Rule& rule, const std::string& from, const std::string& place,
                        std::vector<Error>& problems) const {
  auto tables = parse_from(from, columns_);
  if (!tables) {
    problems.push_back({fmt::format("{}: /from: {}", place, tables.error().message)});
    return;
  }
  rule.from = *tables;
  const RuleSandbox sandbox(facts_);
  ExpressionCheck expression(sandbox, rule, from, columns_, sound_, problems);
  for (size_t i = 0; i < rule.when.size(); ++i) {
    rule.when[i].reads = expression.run(rule.when[i].sql, fmt::format("{}: /when/{}", place, i));
  }
  for (size_t i = 0; i < rule.evidence.size(); ++i)
    expression.run(rule.evidence[i], fmt::format("{}: /evidence/{}", place, i));
  for (size_t i = 0; i < rule.actions.size(); ++i)
    if (!rule.actions[i].when.empty())
      expression.run(rule.actions[i].when, fmt::format("{}: /actions/{}/when", place, i));
  for (const auto& [lines, key] : lines_of(rule))
    for (size_t i = 0; i < lines->size(); ++i)
      if (!(*lines)[i].when.empty())
        expression.run((*lines)[i].when, fmt::format("{}: /{}/{}/when", place, key, i));
  check_marks(rule, place, problems);
  if (!rule.gain) return;
  for (const auto& [sql, key] :
       {std::pair(&rule.gain->lo_share, "lo_share"), std::pair(&rule.gain->hi_share, "hi_share")})
    if (!sql->empty()) expression.run(*sql, fmt::format("{}: /gain/{}", place, key));
  for (const GainRule::WhatIf& w : rule.gain->what_if)
    if (!w.when.empty()) expression.run(w.when, place + ": /gain/what_if/when");
}

}  // namespace ws
