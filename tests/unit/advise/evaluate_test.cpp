#include "advise/evaluate.h"

#include <sqlite3.h>

#include "support/rule_text.h"

using namespace ws;
using nlohmann::json;

namespace {

Finding judge(const json& rule_json, const std::string& facts_json) {
  const Rule rule = test::good_rule(rule_json);
  const FactDb facts = test::facts_of(facts_json);
  const RuleSandbox sandbox(facts);
  auto finding = evaluate(sandbox, rule);
  if (!finding) FAIL(finding.error().message);
  return *finding;
}

json comm_rule() {
  json o = test::plain_rule();
  o["from"] = "fact_run run, fact_comm comm";
  o["when"] = {"run.cause = 'ep_all_to_all'", "comm.exposed_share >= 0.1",
               "comm.overlap_share < 0.5"};
  o["evidence"] = {"comm.kind", "comm.exposed_share", "comm.overlap_share", "run.rank_count"};
  o["gain"] = {{"lo_share", "0.5 * comm.exposed_share"},
               {"hi_share", "comm.exposed_share"},
               {"basis", "ceiling"}};
  return o;
}

}  // namespace

TEST_CASE("all clauses hold: fires, with values") {
  const Finding f = judge(comm_rule(), R"({"fact_run": {"cause": "ep_all_to_all", "rank_count": 8},
      "fact_comm": [{"kind": "ep", "exposed_share": 0.4, "overlap_share": 0.25}]})");
  CHECK(f.status == FindingStatus::fires);
  CHECK(f.rule == "memory/sample");
  CHECK(*f.gain_lo_share == Approx(0.2));
  CHECK(*f.gain_hi_share == Approx(0.4));
  CHECK(f.gain_basis == "ceiling");
  REQUIRE(f.evidence.size() == 4);
  CHECK(f.evidence[0].value == "ep");
  CHECK(!f.evidence[0].number);
  CHECK(f.evidence[1].value == "0.4");
  CHECK(*f.evidence[1].number == 0.4);
  CHECK(f.evidence[3].value == "8");
  for (const ClauseValue& c : f.clauses) CHECK(c.holds == true);
}

TEST_CASE("a NULL without a failing clause: unknown, and the missing fact is named") {
  const Finding f = judge(comm_rule(), R"({"fact_run": {"cause": "ep_all_to_all"},
      "fact_comm": [{"kind": "ep", "exposed_share": 0.4}]})");
  CHECK(f.status == FindingStatus::unknown);
  CHECK(!f.clauses[2].holds);
  CHECK(f.clauses[2].missing_facts == std::vector<std::string>{"fact_comm.overlap_share"});
  CHECK(f.clauses[1].missing_facts.empty());
  CHECK(f.evidence[2].value == "unknown");
}

TEST_CASE("a failing clause decides, whatever else is unknown") {
  const Finding f = judge(comm_rule(), R"({"fact_run": {"cause": "launch_bound"},
      "fact_comm": [{"kind": "ep", "exposed_share": 0.4}]})");
  CHECK(f.status == FindingStatus::no);
  CHECK(f.clauses[0].holds == false);
}

TEST_CASE("only the columns that are NULL are missing") {
  json o = test::plain_rule();
  o["from"] = "fact_config cfg";
  o["when"] = {"cfg.tp * cfg.pp > cfg.ep"};
  o["evidence"] = json::array();
  o.erase("gain");
  const Finding f = judge(o, R"({"fact_config": {"pp": 4}})");
  CHECK(f.clauses[0].missing_facts == std::vector<std::string>{"fact_config.tp", "fact_config.ep"});
}

TEST_CASE("no row at all is unknown, and names the empty table") {
  const Finding f = judge(comm_rule(), R"({"fact_run": {"cause": "ep_all_to_all"}})");
  CHECK(f.status == FindingStatus::unknown);
  CHECK(f.clauses[0].holds == true);  // its table has a row
  CHECK(f.clauses[1].missing_facts == std::vector<std::string>{"fact_comm"});
  CHECK(f.evidence[0].value == "unknown");
}

TEST_CASE("of several rows the one with the largest gain speaks, in any order of the rows") {
  const std::string a = R"({"kind": "dp", "exposed_share": 0.2, "overlap_share": 0.1})";
  const std::string b = R"({"kind": "ep", "exposed_share": 0.5, "overlap_share": 0.1})";
  const std::string c = R"({"kind": "tp", "exposed_share": 0.9, "overlap_share": 0.9})";
  for (const std::string& rows :
       {a + "," + b + "," + c, c + "," + b + "," + a, b + "," + c + "," + a}) {
    const Finding f = judge(comm_rule(), R"({"fact_run": {"cause": "ep_all_to_all"},
        "fact_comm": [)" + rows + "]}");
    CHECK(f.status == FindingStatus::fires);
    CHECK(f.evidence[0].value == "ep");
  }
}

TEST_CASE("equal gains are decided by the evidence, not by the order of the rows") {
  const std::string a = R"({"kind": "dp", "exposed_share": 0.2, "overlap_share": 0.1})";
  const std::string b = R"({"kind": "ep", "exposed_share": 0.2, "overlap_share": 0.1})";
  for (const std::string& rows : {a + "," + b, b + "," + a}) {
    const Finding f = judge(comm_rule(), R"({"fact_run": {"cause": "ep_all_to_all"},
        "fact_comm": [)" + rows + "]}");
    CHECK(f.evidence[0].value == "dp");
  }
}

TEST_CASE("a row that is unknown outranks rows that fail; the nearest failing row is shown") {
  const Finding unknown = judge(comm_rule(), R"({"fact_run": {"cause": "ep_all_to_all"},
      "fact_comm": [{"kind": "dp", "exposed_share": 0.01, "overlap_share": 0.9},
                    {"kind": "ep", "exposed_share": 0.3}]})");
  CHECK(unknown.status == FindingStatus::unknown);
  CHECK(unknown.evidence[0].value == "ep");
  const Finding no = judge(comm_rule(), R"({"fact_run": {"cause": "ep_all_to_all"},
      "fact_comm": [{"kind": "dp", "exposed_share": 0.01, "overlap_share": 0.9},
                    {"kind": "ep", "exposed_share": 0.3, "overlap_share": 0.9}]})");
  CHECK(no.status == FindingStatus::no);
  CHECK(no.evidence[0].value == "ep");
}

TEST_CASE("gains are held inside 0..1 and in order") {
  json o = test::plain_rule();
  o["when"] = {"1"};
  o["gain"]["lo_share"] = "mem.alloc_share * 3";
  o["gain"]["hi_share"] = "mem.alloc_share * 2";
  const Finding f = judge(o, R"({"fact_memory": {"alloc_share": 0.3}})");
  CHECK(*f.gain_lo_share == Approx(0.6));
  CHECK(*f.gain_hi_share == Approx(0.6));
  const Finding big = judge(o, R"({"fact_memory": {"alloc_share": 0.7}})");
  CHECK(*big.gain_hi_share == 1.0);
}

TEST_CASE("text from the facts is made one printable line") {
  json o = test::plain_rule();
  o["when"] = {"1"};
  o["evidence"] = {"run.gpu"};
  const Finding f = judge(o, R"({"fact_run": {"gpu": "a\u001b[31m\nb"}})");
  CHECK(f.evidence[0].value.find('\x1b') == std::string::npos);
  CHECK(f.evidence[0].value.find('\n') == std::string::npos);
}

TEST_CASE("the connection is the caller's again after the sandbox") {
  const FactDb facts = test::facts_of("{}");
  sqlite3* db = facts.db().handle();
  const int length = sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1);
  int dqs = -1;
  sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, -1, &dqs);
  {
    const RuleSandbox sandbox(facts);
    CHECK(!facts.db().exec("DELETE FROM fact_run"));
    CHECK(!facts.db().exec("PRAGMA user_version"));
    CHECK(sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1) < length);
  }
  CHECK(sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1) == length);
  int now = -1;
  sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, -1, &now);
  CHECK(now == dqs);
  CHECK(facts.db().exec("DELETE FROM fact_run"));
}

TEST_CASE("words are said for the runs they are meant for, and where that is not known") {
  json o = test::plain_rule();
  o["from"] = "fact_config cfg";
  o["when"] = {"cfg.given = 1"};
  o["evidence"] = json::array();
  o.erase("gain");
  o["why"] = {"Said to all of them.", {{"text", "Of one tensor rank."}, {"when", "cfg.tp = 1"}}};
  o["pitfalls"] = {"for all",
                   {{"text", "of a flag"}, {"frameworks", {"megatron_lm", "megatron_bridge"}}}};
  o["published"] = {
      {{"text", "of small groups"}, {"when", "cfg.ep <= 8"}, {"frameworks", {"pytorch"}}}};
  o["verify"] = {{{"text", "of groups"}, {"when", "cfg.tp > 1"}}};
  const Finding bare = judge(o, R"({"fact_config": {"given": 1}})");
  CHECK(bare.why == "Said to all of them. Of one tensor rank.");
  CHECK(bare.pitfalls == std::vector<std::string>{"for all", "of a flag"});
  CHECK(bare.published == std::vector<std::string>{"of small groups"});
  const Finding f =
      judge(o, R"({"fact_config": {"given": 1, "framework": "pytorch", "tp": 2, "ep": 16}})");
  CHECK(f.why == "Said to all of them.");
  CHECK(f.pitfalls == std::vector<std::string>{"for all"});
  CHECK(f.published.empty());
  CHECK(f.verify == std::vector<std::string>{"of groups"});
  const auto pitfalls_of = [&](const std::string& run) {
    return judge(o, R"({"fact_config": {"given": 1}, "fact_run": )" + run + "}").pitfalls;
  };
  const std::vector<std::string> all = {"for all", "of a flag"}, some = {"for all"};
  CHECK(pitfalls_of(R"({"framework": "pytorch", "framework_by": "operators"})") == some);
  CHECK(pitfalls_of(R"({"framework": "pytorch", "framework_by": "kernels"})") == all);
  CHECK(pitfalls_of(R"({"framework": "megatron_lm", "framework_by": "core"})") ==
        std::vector<std::string>{"of a flag", "for all"});
}

TEST_CASE("neither an action nor a sentence has a value that is not known") {
  json o = test::plain_rule();
  o["from"] = "fact_config cfg";
  o["when"] = {"cfg.given = 1"};
  o["evidence"] = {"cfg.tp"};
  o.erase("gain");
  o["actions"] = {{{"framework", "any"}, {"set", "TP"}, {"to", "half of {cfg.tp}"}},
                  {{"framework", "any"}, {"set", "PP"}, {"to", "larger"}}};
  o["why"] = {"Always so.", "TP is {cfg.tp}."};
  const Finding known = judge(o, R"({"fact_config": {"given": 1, "tp": 8}})");
  CHECK(known.actions.size() == 2);
  CHECK(known.why == "Always so. TP is 8.");
  const Finding not_known = judge(o, R"({"fact_config": {"given": 1}})");
  REQUIRE(not_known.actions.size() == 1);
  CHECK(not_known.actions[0].set == "PP");
  CHECK(not_known.why == "Always so.");
}

TEST_CASE("an empty table leaves nothing open where another one decides") {
  const Finding f = judge(comm_rule(), R"({"fact_run": {"cause": "launch_bound"}})");
  CHECK(f.status == FindingStatus::no);
  CHECK(f.clauses[0].holds == false);
  CHECK(!f.clauses[1].holds);
}

TEST_CASE("beside an empty table what is known is not missing") {
  json rule = comm_rule();
  rule["when"].push_back("run.world_size > 1");
  rule["evidence"].push_back("run.cause");
  const Finding f = judge(rule, R"({"fact_run": {"cause": "ep_all_to_all"}})");
  CHECK(f.status == FindingStatus::unknown);
  CHECK(f.clauses[0].holds == true);
  CHECK(f.clauses[0].missing_facts.empty());
  CHECK(f.clauses[1].missing_facts == std::vector<std::string>{"fact_comm"});
  CHECK(f.clauses[3].missing_facts == std::vector<std::string>{"fact_run.world_size"});
  CHECK(f.evidence.back().value == "ep_all_to_all");
  CHECK(f.evidence[0].value == "unknown");
}

TEST_CASE("of several re-simulated changes those count whose condition is known to hold") {
  json o = comm_rule();
  o["gain"]["what_if"] = json::parse(R"([
      {"id": "ep_removed", "lo": 1, "hi": 1, "when": "run.rank_count = 8"},
      {"id": "ep_zero", "lo": 0.2, "hi": 0.6},
      {"id": "tp_zero", "lo": 0, "hi": 1, "when": "run.world_size = 8"}])");
  const auto changes = [&](const char* run) {
    std::string out;
    for (const Finding::FromWhatIf& w :
         judge(o, std::string(R"({"fact_run": {"cause": "ep_all_to_all", )") + run +
                      R"(}, "fact_comm": [{"kind": "ep", "exposed_share": 0.4,
                          "overlap_share": 0.1}]})")
             .what_ifs)
      out += w.id + " ";
    return out;
  };
  CHECK(changes(R"("rank_count": 8)") == "ep_removed ep_zero ");
  CHECK(changes(R"("rank_count": 4)") == "ep_zero ");
  CHECK(changes(R"("rank_count": 4, "world_size": 8)") == "ep_zero tp_zero ");
}

TEST_CASE("cautions that matter for the run come first") {
  json o = comm_rule();
  o["pitfalls"] = json::parse(R"([
      {"text": "not known", "when": "run.world_size = 8"},
      "any run",
      {"text": "another framework", "frameworks": ["megatron_lm"]},
      {"text": "its framework", "frameworks": ["pytorch"]},
      {"text": "does not hold", "when": "run.rank_count = 4"},
      {"text": "holds", "when": "run.rank_count = 8"}])");
  const char* facts = R"({"fact_run": {"cause": "ep_all_to_all", "rank_count": 8},
      "fact_config": {"framework": "pytorch"},
      "fact_comm": [{"kind": "ep", "exposed_share": 0.4, "overlap_share": 0.1}]})";
  CHECK(judge(o, facts).pitfalls ==
        std::vector<std::string>{"holds", "its framework", "any run", "not known"});
}
