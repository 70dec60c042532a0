#pragma once
// A small good rule as JSON, to be bent by a test, and helpers to read and run it.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "advise/cases.h"
#include "advise/rule_check.h"
#include "support/catch.h"

namespace ws::test {

inline nlohmann::json plain_rule() {
  return nlohmann::json::parse(R"({
    "id": "memory/sample", "title": "a sample of a rule", "wall": "memory", "phase": "fit",
    "causes": ["allocator"], "rank": 20, "from": "fact_run run, fact_memory mem",
    "when": ["run.cause = 'allocator'", "mem.headroom_share < 0.1"],
    "evidence": ["mem.alloc_share"],
    "actions": [{"framework": "any", "set": "a setting", "to": "a value"}],
    "gain": {"lo_share": "0.5 * mem.alloc_share", "hi_share": "mem.alloc_share", "basis": "ceiling"},
    "why": "because this is how a sample of a rule looks", "pitfalls": [], "sources": ["a page"],
    "since": "0.1"})");
}

inline std::vector<std::string> problems_of(const std::string& text, Rule* out = nullptr) {
  const auto checker = RuleChecker::make();
  REQUIRE(checker);
  Rule rule;
  std::vector<std::string> messages;
  for (const Error& e :
       read_rule(text, "rules/memory/sample.json", "memory/sample", *checker, rule))
    messages.push_back(e.message);
  if (out != nullptr) *out = rule;
  return messages;
}

inline Rule good_rule(const nlohmann::json& o) {
  Rule rule;
  for (const std::string& m : problems_of(o.dump(), &rule)) FAIL(m);
  return rule;
}

// Facts as a case file states them.
inline FactDb facts_of(const std::string& facts_json) {
  const auto cases =
      read_cases(R"([{"name": "facts", "expect": "no", "facts": )" + facts_json + "}]", "facts");
  if (!cases) FAIL(cases.error().message);
  auto facts = case_facts(cases->front());
  if (!facts) FAIL(facts.error().message);
  return std::move(*facts);
}

}  // namespace ws::test
