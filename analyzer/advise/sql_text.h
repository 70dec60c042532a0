#pragma once
// The words of a rule's SQL. SQLite and its authorizer decide what may run; this looks at the
// text before and catches what they can not see: a second expression smuggled in by a comma or a
// comment, aggregates that would fold the rows, integer division, and misspelt text literals.
#include <string>
#include <string_view>
#include <vector>

#include "advise/rule.h"
#include "base/result.h"
#include "facts/fact_db.h"

namespace ws {

struct SqlToken {
  enum class Kind { word, number, text, symbol };
  Kind kind;
  std::string text;  // of a text literal: its value
  size_t at;         // byte in the expression
};

struct SqlProblem {
  size_t at;
  std::string text;  // "expected ..., found ..."
};

// One expression: balanced, no statement, comment, parameter, quoted name or `/`.
std::vector<SqlProblem> scan_expression(std::string_view sql, std::vector<SqlToken>& tokens);

// Text literals that the column they are compared with can never hold.
std::vector<SqlProblem> check_literals(const std::vector<SqlToken>& tokens,
                                       const std::vector<TableRef>& from,
                                       const std::vector<FactColumn>& columns);

// "fact_run run, fact_comm AS ep": names and commas, nothing else.
Result<std::vector<TableRef>> parse_from(std::string_view from,
                                         const std::vector<FactColumn>& columns);

// Values a column can hold; empty: any.
std::vector<std::string> allowed_values(const FactColumn& column,
                                        const std::vector<FactColumn>& columns);

// "one of a b c, found `x`; did you mean `b`?": what to write instead of a value not allowed.
std::string choice_words(const std::vector<std::string>& allowed, const std::string& found);

}  // namespace ws
