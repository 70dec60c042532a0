// The advice that an expert expects first, for facts of typical runs (leads.json): one of `leads`
// comes first, none of `never_first` does, what `says` names stands in the leading findings, all
// of `fires` fire, none of `silent` does, and `before` come in this order.
#include <algorithm>
#include <fstream>

#include "advise/advise.h"
#include "support/rule_facts.h"
#include "support/rule_text.h"

using namespace ws;
using nlohmann::json;

namespace {

// Everything a reader sees of the leading findings: words, flags and the names of the evidence.
std::string words_of_leads(const std::vector<Finding>& findings) {
  std::string all;
  for (const Finding& f : findings) {
    if (!f.leads) continue;
    all += f.title + "|" + f.why + "|";
    for (const Action& a : f.actions) all += a.set + " " + a.to + " " + a.note + "|";
    for (const EvidenceValue& e : f.evidence) all += e.expression + "|";
    for (const std::string& p : f.pitfalls) all += p + "|";
  }
  return all;
}

size_t place_of(const std::vector<Finding>& findings, const std::string& id) {
  const auto it = std::find_if(findings.begin(), findings.end(),
                               [&](const Finding& f) { return f.rule == id; });
  if (it == findings.end() || it->status != FindingStatus::fires) FAIL(id + " does not fire");
  return static_cast<size_t>(it - findings.begin());
}

}  // namespace

TEST_CASE("the first advice for typical runs") {
  const auto rules = load_rules({WS_SOURCE_DIR "/rules"});
  if (!rules) FAIL(rules.error().message);
  std::ifstream in(WS_SOURCE_DIR "/tests/rules/leads.json");
  const json cases = json::parse(in);
  CHECK(cases.size() >= 20);
  for (const json& c : cases) {
    INFO(c["name"].get<std::string>());
    const FactDb facts = test::facts_of(test::complete_facts(c["facts"]).dump());
    const auto findings = advise(facts, *rules);
    REQUIRE(findings);
    const std::string first = findings->front().rule;
    INFO("first: " << first);
    CHECK(findings->front().status == FindingStatus::fires);
    const auto leads = c["leads"].get<std::vector<std::string>>();
    CHECK(std::count(leads.begin(), leads.end(), first) == 1);
    for (const std::string never : c["never_first"]) {
      INFO("never first: " << never);
      CHECK(first.compare(0, never.size(), never) != 0);
    }
    const std::string words = words_of_leads(*findings);
    for (const std::string said : c["says"]) {
      INFO("says: " << said);
      CHECK(words.find(said) != std::string::npos);
    }
    for (const std::string id : c.value("fires", json::array())) place_of(*findings, id);
    for (const std::string id : c.value("silent", json::array())) {
      INFO("silent: " << id);
      CHECK(rules->find(id) != nullptr);
      for (const Finding& f : *findings) {
        if (f.rule == id) CHECK(f.status == FindingStatus::no);
      }
    }
    const auto before = c.value("before", std::vector<std::string>());
    for (size_t i = 1; i < before.size(); ++i)
      CHECK(place_of(*findings, before[i - 1]) < place_of(*findings, before[i]));
  }
}
