#pragma once
// RuleChecker: does a rule's SQL mean what it says? Every expression is prepared alone over an
// empty fact database, so a mistake is named with its place and character.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "advise/rule.h"
#include "advise/sql_text.h"

namespace ws {

class RuleChecker {
 public:
  static Result<RuleChecker> make();
  // Fills rule.from and the `reads` of the clauses.
  void check(Rule& rule, const std::string& from, const std::string& place,
             std::vector<Error>& problems) const;
  const std::vector<FactColumn>& columns() const { return columns_; }

 private:
  explicit RuleChecker(FactDb facts) : facts_(std::move(facts)), columns_(facts_columns()) {}
  FactDb facts_;
  std::vector<FactColumn> columns_;
  // What is read by {from, expression} that is sound: a third of a catalogue is the same again.
  mutable std::map<std::pair<std::string, std::string>, std::vector<TableColumn>> sound_;
};

}  // namespace ws
