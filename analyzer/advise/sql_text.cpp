// Tested by: tests/unit/advise/rule_test.cpp, tests/rules/hostile_test.cpp
#include "advise/sql_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "base/nearest.h"
#include "base/text.h"

namespace ws {
namespace {

constexpr size_t kExpressionLimit = 1000;
constexpr size_t kTableLimit = 6;

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_any_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view w) { return same_ignoring_case(w, word); });
}

bool is_query_word(std::string_view w) {
  return is_any_of(w, {"select", "with", "values", "exists", "raise", "over", "filter", "glob",
                       "regexp", "match", "collate", "current_time", "current_date",
                       "current_timestamp", "rowid", "_rowid_", "oid"});
}

// The text literal that starts at sql[i]; false when it never ends.
bool read_text(std::string_view sql, size_t& i, std::string& value) {
  for (size_t k = i + 1; k < sql.size(); ++k) {
    if (sql[k] != '\'') {
      value += sql[k];
    } else if (k + 1 < sql.size() && sql[k + 1] == '\'') {
      value += '\'';
      ++k;
    } else {
      i = k + 1;
      return true;
    }
  }
  return false;
}

std::optional<std::string> read_symbol(std::string_view sql, size_t& i) {
  static constexpr std::array<std::string_view, 16> kSymbols = {
      "==", "!=", "<>", "<=", ">=", "||", "=", "<", ">", "(", ")", ",", ".", "+", "-", "*"};
  if (sql.substr(i, 2) == "--") return std::nullopt;
  for (std::string_view s : kSymbols) {
    if (sql.substr(i, s.size()) != s) continue;
    i += s.size();
    return std::string(s);
  }
  return std::nullopt;
}

std::string shown(char c) {
  const auto u = static_cast<unsigned char>(c);
  return u > 0x20 && u < 0x7f ? fmt::format("`{}`", c) : fmt::format("byte 0x{:02x}", u);
}

std::string symbol_problem(char c) {
  if (c == '/' || c == '%') {
    return fmt::format(
        "expected no division, found {}; integers would lose their fraction, "
        "multiply or add a share to the facts",
        shown(c));
  }
  return fmt::format("expected one SQL expression, found {}", shown(c));
}

// Commas outside parentheses, parentheses that do not pair, min/max of one argument (they are
// aggregates then), words of queries.
void check_structure(const std::vector<SqlToken>& tokens, std::vector<SqlProblem>& out) {
  struct Open {
    bool needs_comma;
    size_t at;
  };
  std::vector<Open> open;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const SqlToken& t = tokens[i];
    const bool symbol = t.kind == SqlToken::Kind::symbol;
    if (t.kind == SqlToken::Kind::word && is_query_word(t.text)) {
      out.push_back({t.at, fmt::format("expected a plain expression, found `{}`; compute it as a "
                                       "fact instead",
                                       lower_ascii(t.text))});
    }
    if (symbol && t.text == "(") {
      const bool extreme = i > 0 && is_any_of(tokens[i - 1].text, {"min", "max"}) &&
                           tokens[i - 1].kind == SqlToken::Kind::word;
      open.push_back({extreme, t.at});
    } else if (symbol && t.text == ")") {
      if (open.empty()) {
        out.push_back({t.at, "expected one expression, found `)` without `(`"});
        return;
      }
      if (open.back().needs_comma) {
        out.push_back({open.back().at,
                       "expected two or more values in min() or max(), found one; "
                       "a single one folds all rows"});
      }
      open.pop_back();
    } else if (symbol && t.text == ",") {
      if (open.empty()) out.push_back({t.at, "expected one expression, found `,`"});
      if (!open.empty()) open.back().needs_comma = false;
    }
  }
  if (!open.empty()) out.push_back({open.back().at, "expected `)`, found the end"});
}

}  // namespace

std::vector<SqlProblem> scan_expression(std::string_view sql, std::vector<SqlToken>& tokens) {
  std::vector<SqlProblem> out;
  if (sql.size() > kExpressionLimit)
    return {{0, fmt::format("expected at most {} characters, found {}; split it", kExpressionLimit,
                            sql.size())}};
  size_t i = 0;
  while (i < sql.size()) {
    const size_t at = i;
    const char c = sql[i];
    if (c == ' ') {
      ++i;
    } else if (c == '\'') {
      std::string value;
      if (!read_text(sql, i, value)) return {{at, "expected the closing `'`, found the end"}};
      const bool blob = !tokens.empty() && tokens.back().kind == SqlToken::Kind::word &&
                        tokens.back().at + tokens.back().text.size() == at;
      if (blob) return {{at, "expected a text literal, found a blob"}};
      tokens.push_back({SqlToken::Kind::text, std::move(value), at});
    } else if (is_letter(c)) {
      while (i < sql.size() && (is_letter(sql[i]) || is_digit(sql[i]))) ++i;
      tokens.push_back({SqlToken::Kind::word, std::string(sql.substr(at, i - at)), at});
    } else if (is_digit(c)) {
      while (i < sql.size() && (is_letter(sql[i]) || is_digit(sql[i]) || sql[i] == '.')) ++i;
      tokens.push_back({SqlToken::Kind::number, std::string(sql.substr(at, i - at)), at});
    } else if (auto symbol = read_symbol(sql, i)) {
      tokens.push_back({SqlToken::Kind::symbol, std::move(*symbol), at});
    } else {
      return {{at, symbol_problem(c)}};
    }
  }
  if (tokens.empty()) return {{0, "expected an SQL expression, found nothing"}};
  check_structure(tokens, out);
  return out;
}

std::vector<std::string> allowed_values(const FactColumn& column,
                                        const std::vector<FactColumn>& columns) {
  if (!column.allowed.empty() || column.type != "TEXT") return column.allowed;
  const bool is_cause = column.comment.find("a value of fact_run.cause") != std::string::npos ||
                        column.comment.find("a value of `cause`") != std::string::npos;
  if (!is_cause) return {};
  for (const FactColumn& c : columns) {
    if (c.table == "fact_run" && c.column == "cause") return c.allowed;
  }
  return {};
}

std::string choice_words(const std::vector<std::string>& allowed, const std::string& found) {
  const std::string near = nearest_word(found, allowed);
  return fmt::format("one of {}, found `{}`{}", fmt::join(allowed, " "),
                     shorten(one_line(to_utf8(found)), 60),
                     near.empty() ? "" : fmt::format("; did you mean `{}`?", near));
}

namespace {

class LiteralCheck {
 public:
  LiteralCheck(const std::vector<SqlToken>& tokens, const std::vector<TableRef>& from,
               const std::vector<FactColumn>& columns)
      : tokens_(tokens), from_(from), columns_(columns), of_table_(from.size()) {
    for (size_t t = 0; t < from.size(); ++t) {
      const auto of_it = [&](const FactColumn& c) { return c.table == from[t].table; };
      const auto begin = std::find_if(columns.begin(), columns.end(), of_it);
      of_table_[t] = {begin, std::find_if_not(begin, columns.end(), of_it)};
    }
  }

  std::vector<SqlProblem> run() const {
    std::vector<SqlProblem> out;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind == SqlToken::Kind::text) check(i, out);
    }
    return out;
  }

 private:
  bool is(size_t i, std::initializer_list<std::string_view> words) const {
    return i < tokens_.size() && tokens_[i].kind != SqlToken::Kind::text &&
           is_any_of(tokens_[i].text, words);
  }
  bool compares(size_t i) const {
    return is(i, {"=", "==", "!=", "<>", "is", "<", ">", "<=", ">="});
  }

  const FactColumn* column(std::string_view alias, std::string_view name) const {
    for (size_t t = 0; t < from_.size(); ++t) {
      if (!alias.empty() && !same_ignoring_case(alias, from_[t].alias)) continue;
      for (auto c = of_table_[t].first; c != of_table_[t].second; ++c)
        if (same_ignoring_case(c->column, name)) return &*c;
    }
    return nullptr;
  }
  // The column whose name ends, or begins, at token i.
  const FactColumn* column_ending(size_t i) const {
    if (i >= tokens_.size() || tokens_[i].kind != SqlToken::Kind::word) return nullptr;
    const bool dotted = i >= 2 && tokens_[i - 1].text == ".";
    return column(dotted ? tokens_[i - 2].text : "", tokens_[i].text);
  }
  const FactColumn* column_starting(size_t i) const {
    const bool dotted = i + 2 < tokens_.size() && tokens_[i + 1].text == ".";
    return column_ending(dotted ? i + 2 : i);
  }
  // Token before the list's `(` that encloses i; npos when it is not `x IN (`.
  size_t before_list(size_t i) const {
    int depth = 0;
    for (size_t k = i; k-- > 0;) {
      if (tokens_[k].kind != SqlToken::Kind::symbol) continue;
      if (tokens_[k].text == ")") ++depth;
      if (tokens_[k].text == "(" && depth-- == 0) {
        if (k == 0 || !is(k - 1, {"in"})) return std::string::npos;
        return k >= 2 && is(k - 2, {"not"}) ? k - 3 : k - 2;
      }
    }
    return std::string::npos;
  }

  const FactColumn* compared_with(size_t i) const {
    if (i >= 2 && compares(i - 1)) return column_ending(i - 2);
    if (i >= 3 && is(i - 1, {"not"}) && is(i - 2, {"is"})) return column_ending(i - 3);
    if (compares(i + 1)) return column_starting(is(i + 2, {"not"}) ? i + 3 : i + 2);
    if (const size_t k = before_list(i); k != std::string::npos) return column_ending(k);
    return nullptr;
  }

  void check(size_t i, std::vector<SqlProblem>& out) const {
    const SqlToken& t = tokens_[i];
    if (const FactColumn* c = compared_with(i)) {
      if (c->type != "TEXT") {
        out.push_back({t.at, fmt::format("expected a number beside {}.{}, found the text '{}'",
                                         c->table, c->column, t.text)});
      } else if (!holds(*c, t.text)) {
        out.push_back(
            {t.at, fmt::format("expected a value that {}.{} can hold, {}", c->table, c->column,
                               choice_words(allowed_values(*c, columns_), t.text))});
      }
      return;
    }
    if (i > 0 && is(i - 1, {"like"})) return;
    // Compared through a function: one of the columns in the clause must be able to hold it.
    for (size_t k = 0; k < tokens_.size(); ++k) {
      const FactColumn* c = column_ending(k);
      if (c != nullptr && c->type == "TEXT" && holds(*c, t.text)) return;
    }
    out.push_back(
        {t.at, fmt::format("expected a value of a column in this clause, found '{}'", t.text)});
  }
  bool holds(const FactColumn& c, const std::string& value) const {
    const auto allowed = allowed_values(c, columns_);
    return allowed.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end();
  }

  const std::vector<SqlToken>& tokens_;
  const std::vector<TableRef>& from_;
  const std::vector<FactColumn>& columns_;
  using Columns = std::vector<FactColumn>::const_iterator;
  std::vector<std::pair<Columns, Columns>>
      of_table_;  // of from_[i]; those of a table stand together
};

}  // namespace

std::vector<SqlProblem> check_literals(const std::vector<SqlToken>& tokens,
                                       const std::vector<TableRef>& from,
                                       const std::vector<FactColumn>& columns) {
  const bool any = std::any_of(tokens.begin(), tokens.end(),
                               [](const SqlToken& t) { return t.kind == SqlToken::Kind::text; });
  if (!any) return {};
  return LiteralCheck(tokens, from, columns).run();
}

Result<std::vector<TableRef>> parse_from(std::string_view from,
                                         const std::vector<FactColumn>& columns) {
  std::vector<SqlToken> tokens;
  size_t i = 0;
  while (i < from.size()) {
    const size_t at = i;
    if (from[i] == ' ') {
      ++i;
    } else if (from[i] == ',') {
      tokens.push_back({SqlToken::Kind::symbol, ",", i++});
    } else if (is_letter(from[i])) {
      while (i < from.size() && (is_letter(from[i]) || is_digit(from[i]))) ++i;
      tokens.push_back({SqlToken::Kind::word, std::string(from.substr(at, i - at)), at});
    } else {
      return Error{fmt::format("expected table names with aliases, found {} at character {}",
                               shown(from[i]), i)};
    }
  }
  std::vector<TableRef> out;
  for (size_t k = 0; k <= tokens.size();) {
    std::vector<std::string> words;
    while (k < tokens.size() && tokens[k].text != ",") words.push_back(tokens[k++].text);
    ++k;
    if (words.size() == 3 && same_ignoring_case(words[1], "as")) words.erase(words.begin() + 1);
    if (words.empty() || words.size() > 2) return Error{"expected `table alias, table alias`"};
    const bool known = std::any_of(columns.begin(), columns.end(),
                                   [&](const FactColumn& c) { return c.table == words[0]; });
    if (!known)
      return Error{
          fmt::format("expected a fact table, found `{}`; see schemas/facts.sql", words[0])};
    for (const TableRef& t : out) {
      if (same_ignoring_case(t.alias, words.back()))
        return Error{fmt::format("expected different aliases, found `{}` twice", words.back())};
    }
    out.push_back({words[0], words.back()});
  }
  if (out.size() > kTableLimit)
    return Error{fmt::format("expected at most {} tables, found {}", kTableLimit, out.size())};
  return out;
}

}  // namespace ws
