#include "advise/advise.h"
#include "support/rule_text.h"

using namespace ws;

namespace {

std::string case_error(const std::string& text) {
  const auto cases = read_cases(text, "x.cases.json");
  return cases ? "" : cases.error().message;
}

}  // namespace

TEST_CASE("a case file that can not be meant is refused") {
  const std::string ok = R"({"name": "n", "expect": "no", "facts": {}})";
  CHECK(case_error("[" + ok + "]") == "");
  CHECK(case_error("{}").find("expected a list of 1 to") != std::string::npos);
  CHECK(case_error("[]").find("expected a list of 1 to") != std::string::npos);
  CHECK(case_error("[1]").find("/0: expected an object") != std::string::npos);
  CHECK(case_error(R"([{"expect": "no", "facts": {}}])").find("/0/name: ") != std::string::npos);
  CHECK(case_error(R"([{"name": "n", "expect": "maybe", "facts": {}}])").find("/0/expect: ") !=
        std::string::npos);
  CHECK(case_error(R"([{"name": "n", "expect": "no"}])").find("/0/facts: ") != std::string::npos);
  CHECK(case_error(R"([{"name": "n", "expect": "no", "facts": {}, "more": 1}])").find("`more`") !=
        std::string::npos);
  CHECK(case_error(R"([{"name": "n", "expect": "no", "facts": {"fact_moon": {"x": 1}}}])")
            .find("`fact_moon.x`") != std::string::npos);
  CHECK(
      case_error(R"([{"name": "n", "expect": "no", "facts": {"fact_run": {"cause": "alocator"}}}])")
          .find("found `alocator`; did you mean `allocator`?") != std::string::npos);
  CHECK(case_error(R"([{"name": "n", "expect": "no", "facts": {"fact_run": {"gpu": [1]}}}])")
            .find("expected a number, text or null") != std::string::npos);
}

TEST_CASE("every case that can not be meant is told, and the others are there") {
  const CaseFile file = read_case_file(R"([
      {"name": "a", "expect": "maybe", "facts": {}},
      {"name": "b", "expect": "no", "facts": {}},
      {"name": "c", "expect": "no", "facts": {"fact_moon": {"x": 1}}}])",
                                       "x");
  REQUIRE(file.problems.size() == 2);
  CHECK(file.problems[0].message.find("x: /0/expect: ") == 0);
  CHECK(file.problems[1].message.find("x: /2/facts/fact_moon: ") == 0);
  REQUIRE(file.cases.size() == 1);
  CHECK(file.cases[0].name == "b");
}

TEST_CASE("facts of a case: defaults, NULLs and the one-row tables") {
  const FactDb facts = test::facts_of(R"({"fact_run": {"cause": "unknown"}, "fact_idle":
      [{"cause": "gc", "share": 0.5}, {"cause": "host"}]})");
  auto run = facts.db().prepare("SELECT cause, rank_count, gpu, verdict_kind FROM fact_run");
  REQUIRE(run);
  REQUIRE(run->step());
  CHECK(run->text(0) == "unknown");
  CHECK(run->int64(1) == 0);
  CHECK(run->is_null(2));
  CHECK(run->text(3).empty());
  CHECK(!run->step());
  for (const char* count :
       {"SELECT count(*) = 1 FROM fact_config", "SELECT count(*) = 1 FROM fact_host",
        "SELECT count(*) = 1 FROM fact_memory", "SELECT count(*) = 2 FROM fact_idle",
        "SELECT count(*) = 0 FROM fact_comm"}) {
    auto s = facts.db().prepare(count);
    REQUIRE(s);
    REQUIRE(s->step());
    INFO(count);
    CHECK(s->int64(0) == 1);
  }
}

TEST_CASE("a case that is not met is told with its name") {
  const Rule rule = test::good_rule(test::plain_rule());
  const auto cases = read_cases(R"([
      {"name": "good", "expect": "fires", "evidence": {"mem.alloc_share": 0.25},
       "facts": {"fact_run": {"cause": "allocator"}, "fact_memory": {"headroom_share": 0.01, "alloc_share": 0.25}}},
      {"name": "wrong outcome", "expect": "no",
       "facts": {"fact_run": {"cause": "allocator"}, "fact_memory": {"headroom_share": 0.01}}},
      {"name": "wrong value", "expect": "fires", "evidence": {"mem.alloc_share": 0.5, "run.gpu": null},
       "facts": {"fact_run": {"cause": "allocator"}, "fact_memory": {"headroom_share": 0.01}}}])",
                                "x.cases.json");
  REQUIRE(cases);
  CHECK(run_case(rule, (*cases)[0], "x").empty());
  const auto outcome = run_case(rule, (*cases)[1], "x");
  REQUIRE(outcome.size() == 1);
  CHECK(outcome[0].message == "x: case `wrong outcome`: expected no, found fires");
  CHECK(run_case(rule, (*cases)[2], "x").size() == 2);
}

TEST_CASE("a gain is a part of the step, in every case and with other shares") {
  const auto problems = [](const std::string& lo, const std::string& hi) {
    nlohmann::json o = test::plain_rule();
    o["gain"] = {{"lo_share", lo}, {"hi_share", hi}, {"basis", "ceiling"}};
    const Rule rule = test::good_rule(o);
    const auto cases = read_cases(R"([{"name": "n", "expect": "fires", "facts": {"fact_run":
        {"cause": "allocator"}, "fact_memory": {"headroom_share": 0.01}}}])",
                                  "x.cases.json");
    REQUIRE(cases);
    std::string out;
    for (const Error& e : run_case(rule, cases->front(), "x.cases.json")) out += e.message;
    return out;
  };
  CHECK(problems("0.5 * mem.alloc_share", "mem.alloc_share").empty());
  CHECK(problems("0", "1").empty());
  CHECK(problems("5", "mem.alloc_share")
            .find("x.cases.json: case `n`: /gain: expected 0 <= lo_share <= hi_share <= 1 (shares "
                  "of the "
                  "step), found 5 and 0") == 0);
  // Right only while the share is 0, as it is in this case.
  CHECK(problems("0", "mem.alloc_share * 1000").find("case `n` with its shares at 0.01: /gain: ") !=
        std::string::npos);
  CHECK(problems("mem.alloc_share", "0.5 * mem.alloc_share").find("found 0.01 and 0.005") !=
        std::string::npos);
  CHECK(problems("-1 * mem.alloc_share", "mem.alloc_share").find("found -0.01 and 0.01") !=
        std::string::npos);
  CHECK_FALSE(problems("0", "3 * mem.alloc_share").empty());
}

TEST_CASE("advise judges with every rule and orders the findings") {
  const FactDb facts = test::facts_of(
      R"({"fact_run": {"cause": "allocator"}, "fact_memory": {"headroom_share": 0.01}})");
  RuleSet set;
  set.rules.push_back(test::good_rule(test::plain_rule()));
  set.rules.push_back(set.rules[0]);
  set.rules[0].id = "memory/a";
  set.rules[0].when = {{"0", {}}};
  const auto findings = advise(facts, set);
  REQUIRE(findings);
  REQUIRE(findings->size() == 2);
  CHECK((*findings)[0].rule == "memory/sample");
  CHECK((*findings)[0].leads);
  CHECK((*findings)[1].status == FindingStatus::no);
}

TEST_CASE("one GPU alone has no fullest rank") {
  RuleSet set;
  set.rules.push_back(test::good_rule(test::plain_rule()));
  set.rules[0].pitfalls = {RuleLine{"read the peak of the fullest rank first", {}, ""}};
  const auto pitfall = [&](int lone) {
    const FactDb facts =
        test::facts_of(R"({"fact_run": {"cause": "allocator", "lone_gpu": )" +
                       std::to_string(lone) + R"(}, "fact_memory": {"headroom_share": 0.01}})");
    const auto findings = advise(facts, set);
    REQUIRE(findings);
    return findings->at(0).pitfalls.at(0);
  };
  CHECK(pitfall(0) == "read the peak of the fullest rank first");
  CHECK(pitfall(1) == "read the peak of the GPU first");
}

TEST_CASE("facts without a run are refused") {
  auto facts = FactDb::in_memory();
  REQUIRE(facts);
  const auto findings = advise(*facts, RuleSet{});
  REQUIRE(!findings);
  CHECK(findings.error().message.find("fact_run: expected one row") == 0);
}

TEST_CASE("an action that is known not to apply is left out, and cases can tell") {
  nlohmann::json o = test::plain_rule();
  o["from"] = "fact_run run, fact_memory mem, fact_config cfg";
  o["actions"].push_back(
      {{"framework", "any"}, {"set", "more"}, {"when", "cfg.manual_gc IS NOT 1"}});
  o["actions"].push_back({{"framework", "any"}, {"set", "most"}, {"when", "cfg.ep > 1"}});
  const Rule rule = test::good_rule(o);
  const auto problems = [&](const std::string& config, const std::string& expected) {
    const auto cases = read_cases(R"([{"name": "n", "expect": "fires", "facts": {"fact_run":
        {"cause": "allocator"}, "fact_memory": {"headroom_share": 0.01}, "fact_config": )" +
                                      config + "}, " + expected + "}]",
                                  "x.cases.json");
    if (!cases) FAIL(cases.error().message);
    return run_case(rule, cases->front(), "x.cases.json").size();
  };
  CHECK(problems("{}", R"("says": ["a setting", "more", "most"])") == 0);
  CHECK(problems(R"({"manual_gc": 1, "ep": 2})", R"("says": ["most"], "says_not": ["more"])") == 0);
  CHECK(problems(R"({"ep": 1})", R"("says": ["more"], "says_not": ["most"])") == 0);
  CHECK(problems(R"({"ep": 1})", R"("says": ["most"], "says_not": ["more"])") == 2);
  CHECK(case_error(R"([{"name": "n", "expect": "no", "facts": {}, "says": [1]}])")
            .find("/0/says: expected a list of texts") != std::string::npos);
}

TEST_CASE("the condition of an action is checked, and one action has none") {
  nlohmann::json o = test::plain_rule();
  o["actions"][0]["when"] = "mem.headroom_share > 0";
  CHECK(test::problems_of(o.dump()).at(0).find("/actions: expected one without `when`") !=
        std::string::npos);
  o["actions"].push_back({{"framework", "any"}, {"set", "more"}});
  CHECK(test::problems_of(o.dump()).empty());
  o["actions"][0]["when"] = "mem.no_such_column > 0";
  CHECK(test::problems_of(o.dump()).at(0).find("/actions/0/when") != std::string::npos);
}
