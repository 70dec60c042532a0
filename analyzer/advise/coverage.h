#pragma once
// Coverage: whether the cases of a rule try each of its conditions. A condition that can be turned
// round or left out while every case says the same could as well be wrong; and where a fact can be
// missing, one case says so. `rules check` and the tests ask the same.
#include <optional>
#include <string>
#include <vector>

#include "advise/cases.h"
#include "advise/sandbox.h"

namespace ws {

enum class ClauseChange { none, negated, dropped };

// What the conditions of a rule say of the facts of one case, asked once.
class ClauseValues {
 public:
  static Result<ClauseValues> of(const RuleSandbox& sandbox, const Rule& rule);
  // As evaluate() tells it, with one condition changed.
  FindingStatus status(size_t clause, ClauseChange change) const;

 private:
  std::vector<std::vector<std::optional<bool>>> by_clause_;  // its values, row by row
  size_t rows_ = 0;  // of the join; 0: a table is empty, values are of the tables with rows
};

// `values`: one for each case. Empty: every condition is tried.
std::vector<Error> untried_clauses(const Rule& rule, const std::vector<ClauseValues>& values,
                                   const std::string& place);

// The case that fires again, without the facts of one condition after the other: where that is
// unknown, a case with `unknown` is needed. `facts` holds that case and is left as it was.
std::vector<Error> missing_unknown(const FactDb& facts, const Rule& rule, const std::string& place);

}  // namespace ws
