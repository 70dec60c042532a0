#pragma once
// Cases: what a rule must say of small made facts (schemas/cases.schema.json). `rules check` and
// the tests run them; a rule without cases is not accepted.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "advise/finding.h"
#include "advise/rule.h"
#include "facts/fact_db.h"

namespace ws {

using FactValue = std::variant<std::monostate, int64_t, double, std::string>;

struct FactRow {
  std::string table;
  std::vector<std::pair<std::string, FactValue>> values;
};

struct RuleCase {
  std::string name;
  std::vector<FactRow> rows;
  FindingStatus expect = FindingStatus::no;
  std::vector<std::pair<std::string, FactValue>> evidence;  // expression -> value
  std::vector<std::string> says, says_not;  // words that some action has, that none has
};

// Unknown tables, columns and values outside a column's set are refused: a problem for each case
// that can not be meant, the others are there.
struct CaseFile {
  std::vector<RuleCase> cases;
  std::vector<Error> problems;
};
CaseFile read_case_file(std::string_view json_text, const std::string& place);

// All of them, or the first problem.
Result<std::vector<RuleCase>> read_cases(std::string_view json_text, const std::string& place);

// While it lives, what is written to the facts is for this time only: one database serves many
// cases.
class CaseFacts {
 public:
  explicit CaseFacts(const FactDb& facts);
  ~CaseFacts();
  CaseFacts(const CaseFacts&) = delete;
  CaseFacts& operator=(const CaseFacts&) = delete;

 private:
  const FactDb& facts_;
};

// Facts of a case: given rows, and one default row of each one-row table. Columns not given are
// NULL, or 0 or '' where NULL is not allowed. write_case: into an empty database.
Result<void> write_case(const FactDb& facts, const RuleCase& rule_case);
Result<FactDb> case_facts(const RuleCase& rule_case);

// What went wrong; empty: the rule said what the case expects. run_case_on: on its facts.
std::vector<Error> run_case(const Rule& rule, const RuleCase& rule_case, const std::string& place);
std::vector<Error> run_case_on(const FactDb& facts, const Rule& rule, const RuleCase& rule_case,
                               const std::string& place);

// Every rule of a folder with its cases: problems of both, in order. The links between rules too,
// among them and with `beside`, the rules that the folder is used with.
Result<std::vector<Error>> check_rule_folder(const std::string& folder, const RuleSet& beside = {});

std::string_view name_of(FindingStatus s);

}  // namespace ws
