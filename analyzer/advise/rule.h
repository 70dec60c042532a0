#pragma once
// Rule: one piece of advice as data (schemas/rule.schema.json). rules/<family>/<stem>.json holds
// it, <stem>.cases.json beside it shows when it speaks. The engine knows no rule by name.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "advise/finding.h"
#include "advise/spellings.h"
#include "base/result.h"

namespace ws {

struct TableRef {
  std::string table, alias;  // "fact_run", "run"
};

struct TableColumn {
  std::string table, column;
  friend bool operator==(const TableColumn&, const TableColumn&) = default;
};

struct Clause {
  std::string sql;
  std::vector<TableColumn> reads;  // told by SQLite when the rule was checked
};

// An action and the SQL expression that says for which runs; "": for all. It is left out only where
// that is known not to hold.
struct RuleAction : Action {
  std::string when;
};

// Words and for which runs they are said: `frameworks`: for these alone, where the run's is known;
// `when` as of an action.
struct RuleLine {
  std::string text;
  std::vector<std::string> frameworks;
  std::string when;
};

struct GainRule {
  std::string lo_share, hi_share;  // SQL expressions
  std::string basis;
  // Where this change was re-simulated its gain takes their place: lo and hi are the parts of it
  // that the advice reaches. Of several the first whose `when` is known to hold.
  struct WhatIf {
    std::string id;
    double lo = 1, hi = 1;
    std::string when;  // "": always
  };
  std::vector<WhatIf> what_if;
};

struct Rule {
  std::string id, title;
  std::string wall;   // "" for data quality
  std::string phase;  // data fit scale profile retune
  std::vector<std::string> causes;
  int rank = 50;
  std::vector<TableRef> from;
  std::vector<Clause> when;
  std::vector<std::string> evidence;
  std::vector<RuleAction> actions;
  std::optional<GainRule> gain;
  std::string safety, since;
  std::vector<std::string> frameworks;  // it is asked of these alone, where the run's is known
  std::string kind;     // "" or of error silent advice: a framework stops, ignores it, or would run
  bool breaks = false;  // what it finds makes later phases pointless; every kind `error` does
  std::vector<RuleLine> why, published, pitfalls, verify;
  std::vector<std::string> after, unless, conflicts, sources;
};

struct RuleSet {
  std::vector<Rule> rules;  // by id
  FlagTable flag_table;     // of the first folder that has frameworks.json
  const Rule* find(std::string_view id) const;
};

class RuleChecker;  // advise/rule_check.h

// Every problem of one rule text, each with `place` and the JSON pointer; empty: `rule` is good.
// `id` is what the path says ("memory/allocator").
std::vector<Error> read_rule(std::string_view json_text, const std::string& place,
                             const std::string& id, const RuleChecker& checker, Rule& rule);

// A folder with <family>/<stem>.json: all good rules and all problems, in the order of the paths.
struct RuleFolder {
  RuleSet set;
  std::vector<std::string> ids;  // of every rule file, good or not
  std::vector<Error> problems;
  std::vector<std::string> stray;  // JSON files beside the families that are no tables of ours
};
Result<RuleFolder> read_rule_folder(const std::string& folder);

// Links that lead nowhere, to the rule itself, in a circle or only one way. `also`: ids of rules
// that are there but not in the set.
std::vector<Error> check_links(const RuleSet& set, const std::vector<std::string>& also = {});

// Rules of a further folder; those whose id is taken are left out and told.
std::vector<Error> add_rules(RuleSet& set, const std::vector<Rule>& rules,
                             const std::string& folder);

// Several folders as one set; the first problem, or an id that comes twice, is the error.
Result<RuleSet> load_rules(const std::vector<std::string>& folders);

}  // namespace ws
