// What every rule of the catalogue must hold to, whoever writes it.
#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "advise/advise.h"
#include "advise/claims.h"
#include "advise/coverage.h"
#include "advise/evaluate.h"
#include "advise/spellings.h"
#include "support/rule_facts.h"
#include "support/rule_text.h"
#include "unit/house/source_tree.h"

using namespace ws;

namespace {

const std::string kFolder = WS_SOURCE_DIR "/rules";

const RuleSet& catalogue() {
  static const RuleSet set = [] {
    auto loaded = load_rules({kFolder});
    if (!loaded) FAIL(loaded.error().message);
    return std::move(*loaded);
  }();
  return set;
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE(in);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

std::vector<RuleCase> cases_of(const Rule& rule) {
  const std::string path = kFolder + "/" + rule.id + ".cases.json";
  auto cases = read_cases(text_of(path), path);
  if (!cases) FAIL(cases.error().message);
  return std::move(*cases);
}

FindingStatus status_of(const FactDb& facts, const Rule& rule) {
  const RuleSandbox sandbox(facts);
  const auto finding = evaluate(sandbox, rule);
  if (!finding) FAIL(finding.error().message);
  return finding->status;
}

std::vector<std::string> allowed(const std::string& table, const std::string& column) {
  for (const FactColumn& c : facts_columns()) {
    if (c.table == table && c.column == column) return c.allowed;
  }
  return {};
}

std::vector<Finding> advice_for(const nlohmann::json& facts_json) {
  const FactDb facts = test::facts_of(test::complete_facts(facts_json).dump());
  auto findings = advise(facts, catalogue());
  if (!findings) FAIL(findings.error().message);
  return std::move(*findings);
}

// A fault of the configuration is one whatever was recorded.
bool on_configuration(const Rule& rule) { return rule.id.rfind("configuration/", 0) == 0; }

std::string kind_for(const std::string& cause) {
  static const std::set<std::string> kInsufficient = {"only_warmup",   "too_few_steps",
                                                      "records_lost",  "graph_level_trace",
                                                      "peers_missing", "no_gpu_events"};
  static const std::set<std::string> kNone = {"compute_bound", "gemm_bound", "attention_bound",
                                              "membound_kernels", "comm_contention"};
  return kInsufficient.count(cause) ? "insufficient" : kNone.count(cause) ? "none" : "dominant";
}

}  // namespace

TEST_CASE("every rule and every case of the catalogue holds, and cases try every condition") {
  const auto problems = check_rule_folder(kFolder);
  REQUIRE(problems);
  for (const Error& e : *problems) FAIL_CHECK(e.message);
  CHECK(catalogue().rules.size() >= 60);
}

// The check judges changed conditions from their values alone; here a part of them is evaluated.
TEST_CASE("what the check says of changed conditions is what the rule would say") {
  size_t at = 0;
  for (const Rule& rule : catalogue().rules) {
    const auto cases = cases_of(rule);
    const size_t i = at++ % rule.when.size();
    for (const RuleCase& c : cases) {
      const auto facts = case_facts(c);
      REQUIRE(facts);
      const auto finding = evaluate(RuleSandbox(*facts), rule);
      REQUIRE(finding);
      if (finding->clauses.size() != rule.when.size()) continue;  // not asked of this framework
      const auto values = ClauseValues::of(RuleSandbox(*facts), rule);
      REQUIRE(values);
      INFO(rule.id << " /when/" << i << ": " << rule.when[i].sql << ": " << c.name);
      CHECK(values->status(i, ClauseChange::none) == c.expect);
      Rule mutant = rule;
      mutant.when[i].sql = "NOT (" + rule.when[i].sql + ")";
      CHECK(values->status(i, ClauseChange::negated) == status_of(*facts, mutant));
      mutant.when[i].sql = "1";
      CHECK(values->status(i, ClauseChange::dropped) == status_of(*facts, mutant));
    }
  }
}

TEST_CASE("every cause has a rule that leads when nothing but the cause is known") {
  for (const std::string& cause : allowed("fact_run", "cause")) {
    INFO(cause);
    const auto findings =
        advice_for({{"fact_run", {{"cause", cause}, {"verdict_kind", kind_for(cause)}}}});
    const Rule* first = catalogue().find(findings.front().rule);
    REQUIRE(first != nullptr);
    INFO(first->id);
    CHECK(findings.front().status == FindingStatus::fires);
    CHECK(findings.front().leads);
    CHECK(std::count(first->causes.begin(), first->causes.end(), cause) == 1);
  }
}

TEST_CASE("every cause has a rule that leads when all known levers are in use already") {
  const FactDb facts = test::facts_of(test::complete_facts(nlohmann::json::parse(R"({
      "fact_run": {}, "fact_memory": {"headroom_share": 0.02},
      "fact_config": {"moe_token_dispatcher_type": "flex", "overlap_moe_expert_parallel_comm": 1,
          "overlap_grad_reduce": 1, "overlap_param_gather": 1, "tp_comm_overlap": 1, "vpp": 4,
          "recompute_granularity": "selective", "cuda_graphs": 1, "cuda_device_max_connections": 8,
          "expandable_segments": 1, "manual_gc": 1, "precision": "mxfp8"}})"))
                                          .dump());
  auto run = facts.db().prepare("UPDATE fact_run SET cause = ?1, verdict_kind = ?2, platform = ?3");
  auto config = facts.db().prepare("UPDATE fact_config SET moe_flex_dispatcher_backend = ?1");
  REQUIRE(run);
  REQUIRE(config);
  for (const std::string& cause : allowed("fact_run", "cause")) {
    for (const char* platform : {"a100", "h100", "gb200", "mi300x"}) {
      const char* backend = std::string_view(platform) == "gb200" ? "hybridep" : "deepep";
      INFO(cause << " " << platform);
      run->reset();
      run->bind(1, std::string_view(cause)).bind(2, std::string_view(kind_for(cause)));
      run->bind(3, std::string_view(platform)).step();
      config->reset();
      config->bind(1, std::string_view(backend)).step();
      const auto findings = advise(facts, catalogue());
      REQUIRE(findings);
      const auto leads = std::find_if(findings->begin(), findings->end(),
                                      [](const Finding& f) { return f.leads; });
      REQUIRE(leads != findings->end());
      const Rule* rule = catalogue().find(leads->rule);
      REQUIRE(rule != nullptr);
      CHECK(std::count(rule->causes.begin(), rule->causes.end(), cause) == 1);
    }
  }
}

TEST_CASE("no tuning is offered when the verdict is insufficient") {
  for (const Rule& rule : catalogue().rules) {
    if (rule.phase == "data" || on_configuration(rule)) continue;
    INFO(rule.id);
    const auto cases = cases_of(rule);
    for (const RuleCase& c : cases) {
      const auto facts = case_facts(c);
      REQUIRE(facts);
      REQUIRE(facts->db().exec("UPDATE fact_run SET verdict_kind = 'insufficient'"));
      CHECK(status_of(*facts, rule) != FindingStatus::fires);
    }
  }
}

TEST_CASE("tuning rules speak to every framework; data rules say how to record") {
  for (const Rule& rule : catalogue().rules) {
    INFO(rule.id);
    std::set<std::string> spoken;
    for (const Action& a : rule.actions) spoken.insert(a.framework);
    if (rule.phase == "data") {
      CHECK(spoken.count("nsys") + spoken.count("any") >= 1);
      CHECK(spoken.count("pytorch") + spoken.count("any") >= 1);
      continue;
    }
    const size_t everybody = spoken.count("any") + spoken.count("env");
    const auto is_of = [&](const std::string& framework) {
      const std::string clause = "cfg.framework IS '" + framework + "'";
      return std::any_of(rule.when.begin(), rule.when.end(),
                         [&](const Clause& c) { return c.sql == clause; });
    };
    const std::vector<std::string> all = {"megatron_lm", "megatron_bridge", "pytorch"};
    const bool of_one = std::any_of(all.begin(), all.end(), is_of);
    for (const std::string& f : all)
      if (!of_one || is_of(f)) CHECK(spoken.count(f) + everybody >= 1);
    CHECK((!rule.safety.empty() || !rule.gain));
  }
}

TEST_CASE("rules on the configuration read nothing else and say how bad it is") {
  size_t count = 0;
  for (const Rule& rule : catalogue().rules) {
    INFO(rule.id);
    CHECK(on_configuration(rule) == !rule.kind.empty());
    if (!on_configuration(rule)) continue;
    ++count;
    CHECK(rule.when[0].sql == "cfg.given = 1");
    CHECK(rule.causes.empty());
    CHECK_FALSE(rule.gain);
    for (const TableRef& t : rule.from)
      CHECK((t.table == "fact_config" || t.table == "fact_layout"));
  }
  CHECK(count >= 60);
}

TEST_CASE("families are the folders, and the data family is the phase data") {
  const std::set<std::string> families = {"data_quality",  "fit",          "parallelism",  "memory",
                                          "communication", "compute_host", "configuration"};
  for (const Rule& rule : catalogue().rules) {
    INFO(rule.id);
    const std::string family = rule.id.substr(0, rule.id.find('/'));
    CHECK(families.count(family) == 1);
    // A file that is not what ran is a fault of the data as well.
    const bool of_the_file =
        family == "configuration" && !rule.kind.empty() && rule.kind != "advice";
    CHECK((family == "data_quality" || (of_the_file && rule.phase == "data")) ==
          (rule.phase == "data"));
    CHECK((rule.phase == "data") == rule.wall.empty());
  }
}

TEST_CASE("gains are in order and inside the step wherever a rule fires") {
  for (const Rule& rule : catalogue().rules) {
    if (!rule.gain) continue;
    Rule raw = rule;  // the expressions themselves, before they are held inside 0..1
    raw.evidence = {rule.gain->lo_share, rule.gain->hi_share};
    for (const RuleCase& c : cases_of(rule)) {
      if (c.expect != FindingStatus::fires) continue;
      const auto facts = case_facts(c);
      REQUIRE(facts);
      const RuleSandbox sandbox(*facts);
      const auto f = evaluate(sandbox, raw);
      REQUIRE(f);
      INFO(rule.id << ": " << c.name);
      const double lo = f->evidence[0].number.value_or(0), hi = f->evidence[1].number.value_or(lo);
      CHECK(lo >= 0);
      CHECK(lo <= hi);
      CHECK(hi <= 1);
    }
  }
}

// Else two findings on the same time could promise it twice.
TEST_CASE("every gain is of a time that is known by name") {
  for (const Rule& rule : catalogue().rules) {
    if (!rule.gain) continue;
    INFO(rule.id);
    for (const GainRule::WhatIf& w : rule.gain->what_if) CHECK(!times_of_change(w.id).empty());
    const VerdictFacts verdict{false, rule.causes.empty() ? "" : rule.causes.front(), ""};
    CHECK(!gain_times(rule, {}, verdict).empty());
  }
}

TEST_CASE("every condition of an action or a line holds in a case that fires, and fails in one") {
  for (const Rule& rule : catalogue().rules) {
    const auto cases = cases_of(rule);
    std::vector<std::string> conditions;
    for (const RuleAction& action : rule.actions) conditions.push_back(action.when);
    for (const auto* lines : {&rule.why, &rule.published, &rule.pitfalls, &rule.verify})
      for (const RuleLine& line : *lines) conditions.push_back(line.when);
    if (rule.gain)
      for (const GainRule::WhatIf& w : rule.gain->what_if) conditions.push_back(w.when);
    for (const std::string& condition : conditions) {
      if (condition.empty()) continue;
      Rule raw = rule;
      raw.evidence = {condition};
      bool kept = false, left_out = false;
      for (const RuleCase& c : cases) {
        if (c.expect != FindingStatus::fires) continue;
        const auto facts = case_facts(c);
        REQUIRE(facts);
        const auto f = evaluate(RuleSandbox(*facts), raw);
        REQUIRE(f);
        (f->evidence[0].number.value_or(1) != 0 ? kept : left_out) = true;
      }
      INFO(rule.id << ": " << condition);
      CHECK(kept);
      CHECK(left_out);
    }
  }
}

TEST_CASE("no action sets what the stated release lacks") {
  const auto table = load_spellings(kFolder + "/frameworks.json");
  REQUIRE(table);
  for (const Rule& rule : catalogue().rules) {
    for (const RuleCase& c : cases_of(rule)) {
      if (c.expect != FindingStatus::fires) continue;
      const auto facts = case_facts(c);
      REQUIRE(facts);
      for (int minor = 12; minor <= 19; ++minor) {
        const std::string release = "0." + std::to_string(minor);
        REQUIRE(facts->db().exec(
            "UPDATE fact_config SET framework = 'megatron_lm', framework_version = '" + release +
            "', core_release = " + std::to_string(minor)));
        auto finding = evaluate(RuleSandbox(*facts), rule);
        REQUIRE(finding);
        if (finding->status != FindingStatus::fires) continue;
        std::vector<Finding> findings = {std::move(*finding)};
        spell_for_version(findings, *table, release, own_keys(*facts, *table), "megatron_lm");
        if (findings[0].status != FindingStatus::fires) continue;
        for (const Action& a : findings[0].actions) {
          if (a.takes_away() || a.framework == "megatron_bridge") continue;
          for (const FlagSpelling& row : table->flags) {
            INFO(rule.id << " in " << release << ": " << a.set << " " << a.to);
            CHECK((!is_older(release, row.since) ||
                   word_at(a.set + " " + a.to, row.flag) == std::string::npos));
          }
        }
      }
    }
  }
}

TEST_CASE("the program knows no rule by its name") {
  for (const std::string& file : house::sources_of("analyzer")) {
    const std::string text = house::read_text(house::root() / file);
    for (const Rule& rule : catalogue().rules) {
      INFO(file << ": " << rule.id);
      CHECK(text.find(rule.id) == std::string::npos);
    }
  }
}
