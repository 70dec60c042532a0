// Tested by: tests/unit/advise/order_test.cpp
#include "advise/order.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "advise/told_once.h"
#include "base/check.h"

namespace ws {
namespace {

int phase_index(std::string_view phase) {
  static constexpr std::array<std::string_view, 5> kPhases = {"data", "fit", "scale", "profile",
                                                              "retune"};
  return static_cast<int>(std::find(kPhases.begin(), kPhases.end(), phase) - kPhases.begin());
}

bool answers(const Rule& rule, const std::string& cause) {
  return !cause.empty() && std::count(rule.causes.begin(), rule.causes.end(), cause) > 0;
}

struct Tier {
  int number, cause;  // cause: 0 the verdict's, 1 also_cause, 2 neither
};

Tier tier_of(const Rule& rule, const VerdictFacts& verdict) {
  if (rule.breaks) return {0, 2};
  // Where the file is not what ran, that is known before any lever is pulled.
  const int cause = answers(rule, verdict.cause) ? 0 : answers(rule, verdict.also_cause) ? 1 : 2;
  if (rule.phase == "data" && (verdict.insufficient || !rule.kind.empty())) return {0, cause};
  if (cause < 2) return {1, cause};
  return {rule.phase == "data" ? 3 : 2, cause};
}

using Key = std::tuple<int, int, int, int, int, double, std::string>;

Key key_of(const Finding& f, const Rule& rule, const VerdictFacts& verdict) {
  const Tier tier = tier_of(rule, verdict);
  return {static_cast<int>(f.status == FindingStatus::unknown ? 1
                           : f.status == FindingStatus::no    ? 2
                                                              : 0),
          tier.number,
          tier.cause,
          phase_index(rule.phase),
          rule.rank,
          -f.gain_hi_share.value_or(0),
          f.rule};
}

// Depth first over `after`, along the sorted order: predecessors directly before who needs them, in
// the order of work, but for the very first, which answers the verdict.
class AfterOrder {
 public:
  AfterOrder(const std::vector<Finding>& findings, const RuleSet& rules)
      : findings_(findings), rules_(rules), done_(findings.size(), false) {
    for (size_t i = 0; i < findings.size(); ++i) at_[findings[i].rule] = i;
  }
  std::vector<size_t> run() {
    for (size_t i = 0; i < findings_.size(); ++i) emit(i);
    return std::move(out_);
  }

 private:
  void emit(size_t i) {
    if (done_[i]) return;
    done_[i] = true;
    const Rule* rule = rules_.find(findings_[i].rule);
    const bool fires = findings_[i].status == FindingStatus::fires;
    std::vector<size_t> before;
    for (const std::string& id :
         fires&& rule != nullptr ? rule->after : std::vector<std::string>{}) {
      const auto it = at_.find(id);
      if (it != at_.end() && findings_[it->second].status == FindingStatus::fires)
        before.push_back(it->second);
    }
    const bool answered = !out_.empty();
    std::sort(before.begin(), before.end(), [&](size_t a, size_t b) {
      return std::pair(answered ? phase_index(findings_[a].phase) : 0, a) <
             std::pair(answered ? phase_index(findings_[b].phase) : 0, b);
    });
    for (size_t k : before) emit(k);
    out_.push_back(i);
  }

  const std::vector<Finding>& findings_;
  const RuleSet& rules_;
  std::vector<bool> done_;
  std::map<std::string, size_t> at_;
  std::vector<size_t> out_;
};

// A fault that the recording shows is told by the rule with the numbers, not by the one that only
// read the configuration.
void silence_repeated(std::vector<Finding>& findings, const RuleSet& rules) {
  std::map<std::string, bool> fires;
  for (const Finding& f : findings) fires[f.rule] = f.status == FindingStatus::fires;
  for (size_t i = 0; i < findings.size(); ++i) {
    const auto& unless = rules.rules[i].unless;
    const bool told = std::any_of(unless.begin(), unless.end(), [&](const std::string& id) {
      return fires.count(id) > 0 && fires[id];
    });
    if (told) findings[i].status = FindingStatus::no;
    // What would say it with numbers, had it been recorded, adds nothing once it is said.
    if (findings[i].status != FindingStatus::fires) continue;
    for (Finding& f : findings)
      if (f.status == FindingStatus::unknown &&
          std::count(unless.begin(), unless.end(), f.rule) > 0)
        f.status = FindingStatus::no;
  }
}

// In the order in which to act: the first broken phase is what to mend first.
void hold_back(std::vector<Finding>& findings, const RuleSet& rules) {
  const auto breaks = [&](const Finding& f) {
    const Rule* rule = rules.find(f.rule);
    return f.status == FindingStatus::fires && rule != nullptr && rule->breaks;
  };
  const auto mends = [](const Finding& f, const Finding& broken) {
    return broken.phase == "fit" && f.phase == "scale" && f.wall == "memory";
  };
  for (Finding& f : findings) {
    if (f.status != FindingStatus::fires || f.kind == "error") continue;
    const auto broken = std::find_if(findings.begin(), findings.end(), [&](const Finding& b) {
      return breaks(b) && phase_index(b.phase) < phase_index(f.phase) && !mends(f, b);
    });
    if (broken != findings.end()) f.held_back_by = broken->rule;
  }
}

// `after` as far as it fires.
void note_predecessors(std::vector<Finding>& findings, const RuleSet& rules) {
  std::set<std::string> fires;
  for (const Finding& f : findings)
    if (f.status == FindingStatus::fires) fires.insert(f.rule);
  for (Finding& f : findings) {
    const Rule* rule = rules.find(f.rule);
    if (rule == nullptr || fires.count(f.rule) == 0) continue;
    std::copy_if(rule->after.begin(), rule->after.end(), std::back_inserter(f.after),
                 [&](const std::string& id) { return fires.count(id) > 0; });
  }
}

bool reads_setting(const Clause& clause, const std::string& column) {
  return std::any_of(clause.reads.begin(), clause.reads.end(), [&](const TableColumn& c) {
    return c.table == "fact_config" && c.column == column;
  });
}

// What would fire but for one setting of the file that a firing predecessor says to change.
void note_waiting(std::vector<Finding>& findings, const RuleSet& rules) {
  for (Finding& f : findings) {
    const Rule* rule = rules.find(f.rule);
    if (rule == nullptr || f.status != FindingStatus::no || f.clauses.size() != rule->when.size())
      continue;
    const auto holds = [](const ClauseValue& c) { return c.holds.value_or(false); };
    const auto failing = std::find_if_not(f.clauses.begin(), f.clauses.end(), holds);
    if (failing == f.clauses.end() || !failing->holds ||
        !std::all_of(failing + 1, f.clauses.end(), holds))
      continue;
    const Clause& clause = rule->when[static_cast<size_t>(failing - f.clauses.begin())];
    for (const Finding& first : findings) {
      const Rule* of_first = rules.find(first.rule);
      if (first.status != FindingStatus::fires || of_first == nullptr || first.kind.empty() ||
          std::count(rule->after.begin(), rule->after.end(), first.rule) == 0)
        continue;
      const bool changes =
          std::any_of(of_first->when.begin(), of_first->when.end(), [&](const Clause& of_other) {
            return std::any_of(of_other.reads.begin(), of_other.reads.end(),
                               [&](const TableColumn& c) {
                                 return c.table == "fact_config" && c.column != "given" &&
                                        reads_setting(clause, c.column);
                               });
          });
      if (changes) f.waits_for = first.rule;
    }
  }
}

std::string why_ahead(const Rule& rule, const VerdictFacts& verdict) {
  if (rule.breaks) return "nothing else counts before it is mended";
  switch (tier_of(rule, verdict).cause) {
    case 0:
      return "this one answers the verdict";
    case 1:
      return "this one answers the second cause of the verdict";
    default:
      return "an action that follows builds on this one";
  }
}

// Where the list leaves the order of the phases it says so. How to record is no phase of the work.
void note_out_of_phase(std::vector<Finding>& findings, const RuleSet& rules,
                       const VerdictFacts& verdict) {
  constexpr std::string_view kRecording = "data";
  std::string earliest, of_rule;  // of the phases behind
  for (size_t i = findings.size(); i-- > 0;) {
    Finding& f = findings[i];
    const Rule* rule = rules.find(f.rule);
    if (f.status != FindingStatus::fires || f.phase == kRecording || rule == nullptr) continue;
    if (!earliest.empty() && phase_index(earliest) < phase_index(f.phase)) {
      if (f.held_back_by.empty())
        f.ahead = Finding::Ahead{earliest, why_ahead(*rule, verdict), of_rule};
    } else {
      earliest = f.phase;
      of_rule = f.rule;
    }
  }
}

int severity(const Finding& f) { return f.kind == "error" ? 0 : f.kind == "silent" ? 1 : 2; }

// Faults first; of the rest, what a finding comes after stands with it.
void put_faults_first(std::vector<Finding>& findings, const RuleSet& rules) {
  std::map<std::string, int> severities;
  for (const Finding& f : findings) severities[f.rule] = severity(f);
  for (const Finding& f : findings) {
    const Rule* rule = rules.find(f.rule);
    if (f.kind != "silent" || f.status != FindingStatus::fires || rule == nullptr) continue;
    for (const std::string& id : rule->after)
      if (const auto it = severities.find(id); it != severities.end())
        it->second = std::min(it->second, severity(f));
  }
  std::stable_sort(findings.begin(), findings.end(), [&](const Finding& a, const Finding& b) {
    return severities[a.rule] < severities[b.rule];
  });
}

void prune_conflicts(std::vector<Finding>& findings) {
  std::map<std::string, bool> fires;
  for (const Finding& f : findings) fires[f.rule] = f.status == FindingStatus::fires;
  for (Finding& f : findings) {
    auto& ids = f.conflicts;
    ids.erase(std::remove_if(ids.begin(), ids.end(),
                             [&](const std::string& id) {
                               return !fires[f.rule] || !fires.count(id) || !fires[id];
                             }),
              ids.end());
  }
}

}  // namespace

std::vector<Finding> order_findings(std::vector<Finding> findings, const RuleSet& rules,
                                    const VerdictFacts& verdict) {
  WS_CHECK(findings.size() == rules.rules.size());
  silence_repeated(findings, rules);
  std::vector<std::pair<Key, size_t>> keys;
  for (size_t i = 0; i < findings.size(); ++i) {
    findings[i].leads = findings[i].status == FindingStatus::fires && rules.rules[i].kind.empty() &&
                        tier_of(rules.rules[i], verdict).number <= 1;
    keys.emplace_back(key_of(findings[i], rules.rules[i], verdict), i);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<Finding> sorted;
  sorted.reserve(keys.size());
  for (const auto& [key, i] : keys) sorted.push_back(std::move(findings[i]));
  std::vector<Finding> out;
  for (size_t i : AfterOrder(sorted, rules).run()) out.push_back(std::move(sorted[i]));
  if (verdict.faults_first) put_faults_first(out, rules);
  tell_settings_once(out, verdict.framework);
  prune_conflicts(out);
  hold_back(out, rules);
  note_predecessors(out, rules);
  note_waiting(out, rules);
  note_out_of_phase(out, rules, verdict);
  return out;
}

}  // namespace ws
