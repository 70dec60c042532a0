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

// A recording need not be of a transformer: its parts are named only where a condition says so.
TEST_CASE("what is said to any run names no part of a transformer") {
  const auto check = [](const std::string& text) {
    for (const char* part :
         {"transformer block", "rotary", "residual", "dropout", "attention head"})
      CHECK(text.find(part) == std::string::npos);
  };
  for (const Rule& rule : catalogue().rules) {
    const bool of_attention = rule.id.find("attention") != std::string::npos;
    if (of_attention || rule.phase == "data" || !rule.kind.empty()) continue;
    INFO(rule.id);
    for (const auto* lines : {&rule.why, &rule.pitfalls, &rule.verify})
      for (const RuleLine& line : *lines)
        if (line.when.empty() && line.frameworks.empty()) check(line.text);
    for (const RuleAction& a : rule.actions)
      if (a.framework == "any" || a.framework == "pytorch") check(a.set + a.to + a.note);
  }
}

// Words of a kind of run stand in rules that ask for it, or in lines that do.
struct RunWords {
  const char* of;
  std::vector<const char*> words, asked_by;
};
const RunWords kRunWords[] = {
    {"experts",
     {"expert", "MoE", "dispatcher", "ETP"},
     {"'ep'", "experts", "cfg.ep", "moe_", "expert", "dispatcher", "offload_modules"}},
    {"stages",
     {"pipeline stage", "pipeline rank", "virtual stage", "with pipeline"},
     {"'pp'", "cfg.pp", "bubble", "pipeline", "stages", "cfg.vpp", "cfg.ep "}},
    {"Megatron", {"Megatron", "distributed optimizer", "cfg.", "NVTE_"}, {"framework"}}};

bool has_any(const std::string& text, const std::vector<const char*>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return text.find(part) != std::string::npos; });
}

// "(Megatron-Bridge performance guide)" and the like say where a figure is from.
std::string without_sources(std::string text) {
  for (size_t at = text.find("(Megatron"); at != std::string::npos; at = text.find("(Megatron"))
    text.erase(at, std::min(text.find(')', at), text.size() - 1) - at + 1);
  return text;
}

TEST_CASE("what is said to any run is not of experts, stages or Megatron alone") {
  for (const Rule& rule : catalogue().rules) {
    std::string asks;
    for (const Clause& c : rule.when) asks += c.sql + " ";
    for (const std::string& cause : rule.causes) asks += cause + " ";
    std::vector<std::string> said = {rule.title};
    for (const auto* lines : {&rule.why, &rule.published, &rule.pitfalls, &rule.verify})
      for (const RuleLine& line : *lines)
        if (line.when.empty() && line.frameworks.empty()) said.push_back(line.text);
    for (const RuleAction& a : rule.actions)
      if (a.when.empty() &&
          (a.framework == "any" || a.framework == "pytorch" || a.framework == "env"))
        said.push_back(a.set + " " + a.to + " " + a.note);
    for (const RunWords& run : kRunWords) {
      // Rules on a configuration ask for settings, most of which one framework has.
      const bool settings = !rule.kind.empty() && std::string(run.of) == "Megatron";
      if (settings || has_any(asks, run.asked_by)) continue;
      for (const std::string& text : said) {
        INFO(rule.id << ": of " << run.of << ": " << text);
        CHECK_FALSE(has_any(without_sources(text), run.words));
      }
    }
  }
}

TEST_CASE("texts of rules: whole sentences in why, no line feeds, flags that exist") {
  // Spellings that circulate in documents and that no release accepts.
  const std::vector<std::string> wrong = {
      "--fake-init-process-group",     "--overlap-p2p-comm ",        "--cpu-offloading ",
      "--fp8-recipe blockwise --fp8 ", "--offload-optimizer-states", "--grad-reduce-in-fp32",
      "--use-flash-attention"};
  for (const Rule& rule : catalogue().rules) {
    INFO(rule.id);
    for (const RuleLine& line : rule.why) {
      CHECK(line.text.back() == '.');
      CHECK(std::isupper(static_cast<unsigned char>(line.text.front())) != 0);
    }
    CHECK(rule.title.back() != '.');
    for (const Action& a : rule.actions) {
      if (a.takes_away()) continue;  // one rule says to leave them out
      for (const std::string& w : wrong)
        CHECK((a.set + " " + a.to + " " + a.note + " ").find(w) == std::string::npos);
    }
  }
}
