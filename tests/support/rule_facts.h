#pragma once
// Facts as the analysis writes them: every member of the sets that always have all rows.
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "facts/fact_db.h"

namespace ws::test {

// Adds the rows that `facts` does not mention: each kind, idle cause, leaf, loss and class, with 0.
inline nlohmann::json complete_facts(nlohmann::json facts) {
  static const std::map<std::string, std::string> kSets = {{"fact_comm", "kind"},
                                                           {"fact_idle", "cause"},
                                                           {"fact_leaf", "leaf"},
                                                           {"fact_loss", "loss"},
                                                           {"fact_kernel_class", "class"}};
  for (const FactColumn& c : facts_columns()) {
    const auto set = kSets.find(c.table);
    if (set == kSets.end() || set->second != c.column) continue;
    auto& rows = facts[c.table];
    if (rows.is_null()) rows = nlohmann::json::array();
    for (const std::string& value : c.allowed) {
      bool given = false;
      for (const auto& row : rows) given = given || row.value(c.column, "") == value;
      if (!given) rows.push_back({{c.column, value}});
    }
  }
  return facts;
}

}  // namespace ws::test
