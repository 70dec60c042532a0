// Tested by: tests/unit/advise/cases_test.cpp, tests/rules/catalogue_test.cpp
#include "advise/advise.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "advise/claims.h"
#include "advise/evaluate.h"
#include "advise/order.h"
#include "advise/sandbox.h"

namespace ws {
namespace {

Result<VerdictFacts> read_verdict(const FactDb& facts) {
  auto row = facts.db().prepare("SELECT verdict_kind, cause, also_cause FROM fact_run");
  if (!row) return row.error();
  if (!row->step())
    return Error{"fact_run: expected one row, found none; analyze the recording again"};
  return VerdictFacts{row->text(0) == "insufficient", std::string(row->text(1)),
                      std::string(row->text(2))};
}

struct Saved {
  double lo = 0, hi = 0;
};

Result<std::map<std::string, Saved>> read_what_ifs(const FactDb& facts) {
  auto row = facts.db().prepare("SELECT id, saved_lo_share, saved_hi_share FROM fact_what_if");
  if (!row) return row.error();
  std::map<std::string, Saved> out;
  while (row->step()) out[std::string(row->text(0))] = {row->real(1), row->real(2)};
  return out;
}

// A re-simulated gain takes the place of the one from shares.
void use_what_if(const std::map<std::string, Saved>& saved, Finding& finding) {
  for (const Finding::FromWhatIf& what_if : finding.what_ifs) {
    const auto it = saved.find(what_if.id);
    if (it == saved.end()) continue;
    const double hi = std::clamp(what_if.hi * it->second.hi, 0.0, 1.0);
    finding.gain_hi_share = hi;
    finding.gain_lo_share = std::clamp(what_if.lo * it->second.lo, 0.0, hi);
    finding.gain_basis = "what_if";
    finding.from_what_if = what_if;
    return;
  }
}

bool is_recorded(const FactDb& facts) {
  auto row = facts.db().prepare("SELECT recorded FROM fact_layout");
  return row && row->step() && row->int64(0) == 1;
}

bool shows_contradiction(const Finding& f) {
  return std::any_of(f.evidence.begin(), f.evidence.end(),
                     [](const EvidenceValue& e) { return e.expression == "cfg.contradicted"; });
}

void add_new(const EvidenceValue& e, std::vector<EvidenceValue>& list) {
  const bool known = std::any_of(list.begin(), list.end(), [&](const EvidenceValue& other) {
    return other.expression == e.expression;
  });
  if (!known) list.push_back(e);
}

// Text of evidence whose column ends so, where it is known.
std::vector<std::string> evidence_of(const Finding& f, std::string_view ending) {
  std::vector<std::string> out;
  for (const EvidenceValue& e : f.evidence) {
    const std::string& x = e.expression;
    const bool ends =
        x.size() > ending.size() && x.compare(x.size() - ending.size(), ending.size(), ending) == 0;
    if (ends && !e.is_unknown()) out.push_back(e.value);
  }
  return out;
}

bool reads_layout(const Rule& rule) {
  return std::any_of(rule.from.begin(), rule.from.end(),
                     [](const TableRef& t) { return t.table == "fact_layout"; });
}

// Of rules that read the file alone.
bool reads_the_file_only(const Rule& rule) {
  return std::all_of(rule.from.begin(), rule.from.end(), [](const TableRef& t) {
    return t.table == "fact_config" || t.table == "fact_layout";
  });
}

// A job that ran has none of the faults that stop one: what is wrong is the file, so one finding
// says that, and nothing else is said of its settings. The rule that speaks; "".
std::string tell_other_run(std::vector<Finding>& findings, const RuleSet& rules) {
  Finding* told = nullptr;
  std::string faults, remedies;
  std::vector<EvidenceValue> of_faults;
  std::vector<Action> of_the_file;  // which settings, where the faults name them
  bool contradicted = false;        // by what was recorded: that rule says so itself
  for (size_t i = 0; i < findings.size(); ++i) {
    Finding& f = findings[i];
    if (f.status != FindingStatus::fires || f.kind != "error") continue;
    const bool says_so = shows_contradiction(f);
    if (told == nullptr || says_so) told = &f;
    contradicted = contradicted || says_so;
    if (!says_so) faults += (faults.empty() ? "" : "; ") + f.title;
    for (const std::string& a : evidence_of(f, "_arithmetic")) faults += " (" + a + ")";
    for (const std::string& r : evidence_of(f, "_nearest"))
      if (remedies.find(r) == std::string::npos) remedies += (remedies.empty() ? "" : "; ") + r;
    for (const EvidenceValue& e : f.evidence) add_new(e, of_faults);
    if (!says_so && !reads_layout(rules.rules[i]))
      std::copy_if(f.actions.begin(), f.actions.end(), std::back_inserter(of_the_file),
                   [](const Action& a) { return a.framework == "any"; });
  }
  if (told == nullptr) return "";
  for (size_t i = 0; i < findings.size(); ++i) {
    Finding& f = findings[i];
    const bool of_layout = reads_layout(rules.rules[i]);
    const bool of_file = !contradicted && f.phase != "data" && reads_the_file_only(rules.rules[i]);
    if (&f == told || !(of_file || f.kind == "error" || (of_layout && !f.kind.empty()))) continue;
    f.status = FindingStatus::no;
    f.clauses.clear();  // nor is it said what of it would have to be otherwise
  }
  const std::string not_started =
      "With it the job would not have started: " + faults + "." +
      (remedies.empty() ? "" : " The nearest that add up: " + remedies + ".");
  if (contradicted) {
    if (!faults.empty()) told->why += " " + not_started;
  } else {
    told->title = "this is not the configuration of the recorded run";
    told->why = not_started +
                " What was recorded counts here, and nothing is said of the settings in the file.";
    told->actions = {{"any", "--config", "the file that started the recorded run", ""}};
    told->actions.insert(told->actions.end(), of_the_file.begin(), of_the_file.end());
    told->evidence = std::move(of_faults);
  }
  told->phase = "data";
  told->disowns_file = true;
  told->wall = told->kind = "";
  told->published.clear();
  told->pitfalls.clear();
  told->verify = {"this finding is gone"};
  return told->rule;
}

// Rules speak of the fullest rank; one GPU alone is all there is.
void say_for_one_gpu(std::vector<Finding>& findings) {
  constexpr std::string_view kRank = "the fullest rank", kGpu = "the GPU";
  const auto say = [&](std::string& text) {
    for (size_t at = text.find(kRank); at != std::string::npos; at = text.find(kRank, at))
      text.replace(at, kRank.size(), kGpu);
  };
  for (Finding& f : findings) {
    say(f.why);
    for (Action& a : f.actions) say(a.set), say(a.to), say(a.note);
    for (auto* lines : {&f.published, &f.pitfalls, &f.verify})
      for (std::string& line : *lines) say(line);
  }
}

bool is_lone(const FactDb& facts) {
  auto row = facts.db().prepare("SELECT lone_gpu FROM fact_run");
  return row && row->step() && row->int64(0) == 1;
}

// Whose file it is comes before what that file has.
void tell_first(const std::string& told, std::vector<Finding>& ordered) {
  const auto at = std::find_if(ordered.begin(), ordered.end(),
                               [&](const Finding& f) { return f.rule == told; });
  const auto first = std::find_if(
      ordered.begin(), at, [](const Finding& f) { return f.rule.rfind("data_quality/", 0) != 0; });
  if (at != ordered.end()) std::rotate(first, at, at + 1);
}

// The findings of every rule, and what their actions are spelled by.
struct Judged {
  std::vector<Finding> findings;
  std::string version;
  Settings in_use;
  OwnKeys keys;
  std::vector<FloorText> floors;
  std::string spelled;  // fact_config.spelled
};

Result<Judged> judge(const FactDb& facts, const RuleSet& rules, const VerdictFacts& verdict) {
  const auto what_ifs = read_what_ifs(facts);
  if (!what_ifs) return what_ifs.error();
  const FlagTable& table = rules.flag_table;
  Judged out{{},
             core_version(facts),
             settings_in_use(facts, table),
             own_keys(facts, table),
             floor_texts(facts, table),
             config_value(facts, "spelled")};
  const RuleSandbox sandbox(facts);
  out.findings.reserve(rules.rules.size());
  for (const Rule& rule : rules.rules) {
    auto finding = evaluate(sandbox, rule);
    if (!finding) return finding.error();
    use_what_if(*what_ifs, *finding);
    finding->gain_of = gain_times(rule, *finding, verdict);
    out.findings.push_back(std::move(*finding));
  }
  drop_settings_in_use(out.findings, out.in_use);
  return out;
}

// Where the file can not have started the run, the other rules are asked again, of a run without
// one: no setting of it gates an action or stands in its list. What is said of the file itself
// stays.
Result<void> forget_the_file(const FactDb& facts, const RuleSet& rules, const VerdictFacts& verdict,
                             const std::string& told, Judged& judged) {
  const auto recording = facts.without_file();
  if (!recording) return recording.error();
  auto again = judge(*recording, rules, verdict);
  if (!again) return again.error();
  for (size_t i = 0; i < judged.findings.size(); ++i) {
    Finding& f = judged.findings[i];
    const bool silenced = f.status == FindingStatus::no && f.clauses.empty();
    const bool of_the_file = f.phase == "data" && reads_the_file_only(rules.rules[i]);
    if (f.rule == told || silenced || of_the_file) again->findings[i] = std::move(f);
  }
  judged = std::move(*again);
  return {};
}

}  // namespace

Result<std::vector<Finding>> advise(const FactDb& facts, const RuleSet& rules) {
  const auto verdict = read_verdict(facts);
  if (!verdict) return verdict.error();
  const bool recorded = is_recorded(facts), lone = is_lone(facts);
  auto judged = judge(facts, rules, *verdict);
  if (!judged) return judged.error();
  const std::string other = recorded ? tell_other_run(judged->findings, rules) : "";
  if (!other.empty())
    if (auto ok = forget_the_file(facts, rules, *verdict, other, *judged); !ok) return ok.error();
  const FlagTable& table = rules.flag_table;
  spell_for_version(judged->findings, table, judged->version, judged->keys,
                    judged->in_use.framework);
  drop_below_floors(judged->findings, table, judged->floors, judged->in_use.framework);
  VerdictFacts known = *verdict;
  known.framework = judged->in_use.framework;
  std::vector<Finding> ordered = order_findings(std::move(judged->findings), rules, known);
  for (Finding& f : ordered)
    if (!other.empty() && f.held_back_by == other) f.held_back_by.clear();
  if (!other.empty()) tell_first(other, ordered);
  note_shared_gains(ordered);
  if (lone) say_for_one_gpu(ordered);
  say_floors(ordered, table, judged->floors);
  write_lists(ordered);
  spell_for_torchtitan(ordered, table, judged->spelled);
  return ordered;
}

}  // namespace ws
