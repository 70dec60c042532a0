// What `rules check` asks of the cases, and of a folder beside the built-in rules.
#include "advise/coverage.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "advise/evaluate.h"
#include "support/rule_text.h"
#include "support/scratch_folder.h"

using namespace ws;
using nlohmann::json;

namespace {

// Conditions: the cause, and little room. The memory is not known everywhere.
json all_cases() {
  return json::parse(R"([
    {"name": "thrash, full", "expect": "fires",
     "facts": {"fact_run": {"cause": "allocator"}, "fact_memory": {"headroom_share": 0.05, "alloc_share": 0.2}}},
    {"name": "another cause", "expect": "no",
     "facts": {"fact_run": {"cause": "host_sync"}, "fact_memory": {"headroom_share": 0.05}}},
    {"name": "room", "expect": "no",
     "facts": {"fact_run": {"cause": "allocator"}, "fact_memory": {"headroom_share": 0.5}}},
    {"name": "memory not recorded", "expect": "unknown", "facts": {"fact_run": {"cause": "allocator"}}}])");
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// Every problem of a folder with this rule and these cases, a line each.
std::string told(const json& rule, const json& cases, const RuleSet& beside = {}) {
  const test::ScratchFolder folder;
  const auto at = std::filesystem::path(folder.path()) / "memory";
  write(at / "sample.json", rule.dump());
  if (!cases.is_null()) write(at / "sample.cases.json", cases.dump());
  const auto problems = check_rule_folder(folder.path(), beside);
  if (!problems) FAIL(problems.error().message);
  std::string out;
  for (const Error& e : *problems) out += e.message + "\n";
  return out;
}

bool holds(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

RuleSet set_of(const char* id) {
  RuleSet out;
  out.rules.push_back(test::good_rule(test::plain_rule()));
  out.rules.front().id = id;
  return out;
}

}  // namespace

TEST_CASE("cases that try every condition are accepted") {
  CHECK(told(test::plain_rule(), all_cases()) == "");
}

TEST_CASE("a condition that no case tries is told, and an unknown that is missing") {
  json cases = all_cases();
  cases.erase(1);
  const auto without_cause = told(test::plain_rule(), cases);
  CHECK(holds(without_cause, "expected a case where only /when/0 (`run.cause = 'allocator'`)"));
  CHECK_FALSE(holds(without_cause, "/when/1"));
  cases = all_cases();
  cases.erase(3);
  const auto without_unknown = told(test::plain_rule(), cases);
  CHECK(holds(without_unknown, "expected a case with `unknown`, found none; /when/1"));
  CHECK(holds(without_unknown, "fact_memory.headroom_share is not known"));
  cases = json::array({all_cases()[0]});
  const auto only_fires = told(test::plain_rule(), cases);
  for (const char* words : {"expected a case with `no`", "/when/0", "/when/1", "`unknown`"})
    CHECK(holds(only_fires, words));
}

TEST_CASE("absent cases are told first, also where the rule is wrong") {
  json rule = test::plain_rule();
  rule["causes"] = {"dp_gradients"};
  const auto all = told(rule, nullptr);
  CHECK(all.find("sample.cases.json: expected the cases of memory/sample") < all.find('\n'));
  CHECK(holds(all, "found `dp_gradients`; did you mean `dp_gradient`?"));
}

TEST_CASE("values with conditions changed are what evaluate says of the changed rule") {
  const Rule rule = test::good_rule(test::plain_rule());
  const auto cases = read_cases(all_cases().dump(), "x");
  REQUIRE(cases);
  for (const RuleCase& c : *cases) {
    const auto facts = case_facts(c);
    REQUIRE(facts);
    const auto values = ClauseValues::of(RuleSandbox(*facts), rule);
    REQUIRE(values);
    for (size_t i = 0; i < rule.when.size(); ++i) {
      INFO(c.name << " " << i);
      Rule changed = rule;
      const auto status = [&] { return evaluate(RuleSandbox(*facts), changed)->status; };
      CHECK(values->status(i, ClauseChange::none) == status());
      changed.when[i].sql = "NOT (" + rule.when[i].sql + ")";
      CHECK(values->status(i, ClauseChange::negated) == status());
      changed.when[i].sql = "1";
      CHECK(values->status(i, ClauseChange::dropped) == status());
    }
  }
}

TEST_CASE("built-in rules may be named, and their ids are taken") {
  json rule = test::plain_rule();
  for (const char* key : {"after", "unless", "conflicts"}) {
    INFO(key);
    rule = test::plain_rule();
    rule[key] = {"memory/built_in"};
    CHECK(told(rule, all_cases(), set_of("memory/built_in")) == "");
    CHECK(holds(told(rule, all_cases()), "expected the id of a rule, found `memory/built_in`"));
    rule[key] = {"memory/sample"};
    CHECK(holds(told(rule, all_cases()), std::string(key) + ": expected another rule than this"));
  }
  CHECK(holds(told(test::plain_rule(), all_cases(), set_of("memory/sample")),
              "expected new rule ids, found `memory/sample` again"));
}

TEST_CASE("gains that can not be meant are refused") {
  json rule = test::plain_rule();
  rule["gain"]["what_if"] = {{"id", "moon_zero"}, {"lo", 0}, {"hi", 1}};
  CHECK(holds(told(rule, all_cases()), "/gain/what_if/id: expected a change"));
  rule["gain"]["what_if"]["id"] = "alloc_zero+gc_zero";
  CHECK(told(rule, all_cases()) == "");
  rule["gain"] = {{"lo_share", "1"}, {"hi_share", "1"}, {"basis", "ceiling"}};
  CHECK(holds(told(rule, all_cases()), "expected less than the whole step"));
  rule["gain"] = {{"hi_share", "mem.alloc_share"}, {"basis", "ceiling"}};
  const auto one = told(rule, all_cases());
  CHECK(std::count(one.begin(), one.end(), '\n') == 1);
  CHECK(holds(one, "expected the key `lo_share`"));
}
