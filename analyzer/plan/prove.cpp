// Tested by: tests/checks/plan_followed.py, plan_test.cpp
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "advise/evaluate.h"
#include "advise/told_once.h"
#include "base/text.h"
#include "config/config_builder.h"
#include "config/key_table.h"
#include "facts/config_facts.h"
#include "plan/plan_parts.h"

namespace ws {
namespace {

// A setting as an action would have it.
struct Change {
  std::string key, shown;
  std::optional<ConfigValue> value;  // absent: it is left out
};

// "the list a b", "[\"a\", \"b\"]" and "\"a\"" of Bridge as the reader takes them.
std::string plain(std::string value) {
  constexpr std::string_view kList = "the list ";
  if (value.rfind(kList, 0) == 0) value.erase(0, kList.size());
  for (char& c : value)
    if (c == '"' || c == '[' || c == ']' || c == ',') c = ' ';
  const size_t from = value.find_first_not_of(' ');
  if (from == std::string::npos) return "";
  return value.substr(from, value.find_last_not_of(' ') + 1 - from);
}

// A sentence in the place of a value: "one module less at a time", "smaller: as far as it goes".
bool is_sentence(const ConfigKey& key, const std::string& value) {
  if (value.find_first_of("():;{}") != std::string::npos) return true;
  const bool blank = value.find(' ') != std::string::npos;
  if (key.type != KeyType::list) return blank;
  static constexpr std::string_view kWords[] = {" the ", " a ", " without ", " or ", " of "};
  const std::string words = " " + value + " ";
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view w) { return words.find(w) != std::string::npos; });
}

std::optional<Change> change_of(const Spelling& spelling, const Action& a, const std::string& name,
                                std::string value) {
  const ConfigKey& key = *spelling.key;
  if (value.rfind("leave ", 0) == 0 || (a.framework == "megatron_bridge" && value == "None"))
    return Change{key.name, "", std::nullopt};
  value = plain(value);
  if (value.empty() && spelling.constant.empty() && key.type == KeyType::boolean) value = "true";
  if (is_sentence(key, value)) return std::nullopt;
  ConfigBuilder reader("advice", "advice", Twice::last_wins);
  reader.set(spelling, value, name, 0);
  if (reader.refused() || reader.known_count() == 0) return std::nullopt;
  const auto read = reader.finish();
  const ConfigEntry* e = read ? entry(*read, key.name) : nullptr;
  return e == nullptr ? std::nullopt : std::optional(Change{key.name, e->shown, e->value});
}

const Spelling* spelling_of(const Action& a, const std::string& name) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"CP", "cp"},
      {"EP", "ep"},
      {"TP", "tp"},
      {"PP", "pp"},
      {"ranks over which FSDP shards", "fsdp_shard_size"}};
  if (a.framework == "megatron_lm") return key_table().by_flag(name);
  if (a.framework == "megatron_bridge") {
    const size_t dot = a.set.rfind('.');
    const size_t section = a.set.rfind('.', dot - 1);
    const bool dotted = dot != std::string::npos && section != std::string::npos;
    const Spelling* whole =
        dotted ? key_table().by_path(a.set.substr(section + 1, dot - section) + name) : nullptr;
    return whole != nullptr ? whole : key_table().by_path(name);
  }
  if (a.framework == "env") {
    const auto* of_variable = key_table().by_variable(name);
    if (of_variable == nullptr || of_variable->size() != 1) return nullptr;
    return of_variable->front().constant.empty() ? &of_variable->front() : nullptr;
  }
  for (const auto& [shown, key] : kNames)
    if (name == shown) return key_table().by_native(key);
  return nullptr;
}

// "remove --a and --b, which it forbids", "cfg.a = cfg.b = None" of Bridge: the note takes out
// more.
void put_removed(const Action& a, std::vector<Change>& out) {
  const std::string head = a.note.substr(0, a.note.find("; if"));
  const size_t none = head.find("= None"), flags = head.find("remove --");
  if (none == std::string::npos && flags == std::string::npos) return;
  for (std::string word : words_of(flags != std::string::npos ? head.substr(flags) : head)) {
    word.erase(std::min(word.find(','), word.size()));
    const bool path = word.rfind("cfg.", 0) == 0;
    if (!path && word.rfind("--", 0) != 0) continue;
    const Spelling* spelling =
        path ? key_table().by_path(word.substr(word.rfind('.') + 1)) : key_table().by_flag(word);
    if (spelling != nullptr) out.push_back({spelling->key->name, "", std::nullopt});
  }
}

std::vector<Change> changes_of(const Action& a) {
  std::vector<Change> out;
  std::vector<Assignment> all = assignments(a);
  if (a.takes_away()) {  // "--a, --b"
    all.clear();
    for (const std::string& word : words_of(a.set))
      all.push_back({word.substr(0, word.find(',')), a.to});
  }
  for (const Assignment& one : all) {
    const Spelling* spelling = spelling_of(a, one.name);
    if (spelling == nullptr) continue;
    if (auto change = change_of(*spelling, a, one.name, one.value))
      out.push_back(std::move(*change));
  }
  if (!out.empty()) put_removed(a, out);
  return out;
}

RunConfig with_changes(RunConfig config, const std::vector<Change>& changes) {
  for (const Change& c : changes) {
    if (c.value) {
      set_value(config, c.key, *c.value, "advice");
      for (ConfigEntry& e : config.entries)
        if (e.key == c.key) e.shown = c.shown;
    } else {
      auto& all = config.entries;
      all.erase(std::remove_if(all.begin(), all.end(),
                               [&](const ConfigEntry& e) { return e.key == c.key; }),
                all.end());
    }
  }
  return config;
}

// An action of an item, in the order in which to act.
struct Step {
  size_t item, action;
  std::vector<Change> changes;
  bool stands = true;
};

// What a configuration comes to; `faults`: rule and title of what does not work.
struct Outcome {
  std::optional<int> memory;  // 0 fits, 1 may not fit, 2 does not fit
  std::string memory_words;
  std::vector<std::pair<std::string, std::string>> faults;
};

class Proof {
 public:
  Proof(const RunConfig& config, const Platforms& platforms, const RuleSet& errors)
      : config_(config), platforms_(platforms), errors_(errors) {}

  Result<Outcome> outcome(const std::vector<Step>& steps) const {
    RunConfig config = config_;
    for (const Step& s : steps)
      if (s.stands) config = with_changes(std::move(config), s.changes);
    const ConfigStudy study = study_config(config, platforms_, nullptr);
    Outcome out;
    if (study.memory && study.capacity_bytes > 0) {
      const int64_t total = study.memory->ranks[study.memory->worst].total_bytes;
      const int64_t around = study.memory->uncertainty_bytes;
      const int64_t least = study.memory->least_bytes.value_or(total) - around;
      out.memory = least > study.capacity_bytes ? 2 : total + around > study.capacity_bytes;
      MemoryShares use;
      use.bytes = total;
      use.share = static_cast<double>(total) / static_cast<double>(study.capacity_bytes);
      out.memory_words = memory_use_words(use);
    }
    const auto facts = config_facts(config, study);
    if (!facts) return facts.error();
    const RuleSandbox sandbox(*facts);
    for (const Rule& r : errors_.rules) {
      const auto finding = evaluate(sandbox, r);
      if (!finding) return finding.error();
      if (finding->status == FindingStatus::fires) out.faults.emplace_back(r.id, r.title);
    }
    return out;
  }

 private:
  const RunConfig& config_;
  const Platforms& platforms_;
  const RuleSet& errors_;
};

// In words, what is worse than before; "": nothing is.
std::vector<std::string> worse(const Outcome& before, const Outcome& after) {
  std::vector<std::string> out;
  if (before.memory && after.memory && *after.memory > *before.memory)
    out.push_back("it needs " + after.memory_words + " of the GPU");
  for (const auto& fault : after.faults)
    if (std::find(before.faults.begin(), before.faults.end(), fault) == before.faults.end())
      out.push_back(fault.second);
  return out;
}

// What of `all` is not among `in`.
std::vector<std::string> missing(const std::vector<std::string>& all,
                                 const std::vector<std::string>& in) {
  std::vector<std::string> out;
  std::copy_if(all.begin(), all.end(), std::back_inserter(out), [&](const std::string& s) {
    return std::find(in.begin(), in.end(), s) == in.end();
  });
  return out;
}

std::string action_words(const Action& a) { return a.to.empty() ? a.set : a.set + " " + a.to; }

// What stands in its place: the alternative of its note, else a word on what it makes.
void put_in_its_place(Action& a, const std::string& why) {
  constexpr std::string_view kOr = "or ";
  if (a.note.rfind(kOr, 0) == 0) {
    constexpr std::string_view kLeave = "leave ", kOut = " out";
    a.set = a.note.substr(kOr.size());
    a.to.clear();
    a.note = "not the other way: " + why;
    const size_t out = a.set.find(kOut);
    if (a.set.rfind(kLeave, 0) != 0 || out == std::string::npos) return;
    a.set = a.set.substr(kLeave.size(), out - kLeave.size());
    a.to = "leave it out";
  } else {
    a.note += (a.note.empty() ? "" : "; ") + ("not as it stands: " + why);
  }
}

}  // namespace

Result<void> prove_findings(std::vector<Finding>& findings, std::vector<std::string>& notes,
                            const RunConfig& config, const Platforms& platforms,
                            const RuleSet& errors) {
  const std::string framework = text(config, "framework").value_or("");
  std::vector<Step> steps;
  for (size_t i = 0; i < findings.size(); ++i) {
    if (findings[i].status != FindingStatus::fires) continue;
    for (size_t k = 0; k < findings[i].actions.size(); ++k) {
      const Action& a = findings[i].actions[k];
      if (a.framework != framework && a.framework != "any" && a.framework != "env") continue;
      if (auto changes = changes_of(a); !changes.empty()) steps.push_back({i, k, changes});
    }
  }
  if (steps.empty()) return {};
  const Proof proof(config, platforms, errors);
  const auto before = proof.outcome({});
  if (!before) return before.error();
  std::set<size_t> emptied;
  const auto refuse = [&](const Step& step, const std::vector<std::string>& whys) {
    const std::string why = fmt::format("{}", fmt::join(whys, "; "));
    Finding& f = findings[step.item];
    Action& a = f.actions[step.action];
    if (f.kind == "error" || f.kind == "silent" || a.note.rfind("or ", 0) == 0)
      return put_in_its_place(a, why);
    notes.push_back(fmt::format("not offered: {} of: {} ({})", action_words(a), f.title, why));
    a.set.clear();
    emptied.insert(step.item);
  };
  // A change that goes can bring back what it had mended, so it is asked again, a few times.
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    const auto all = proof.outcome(steps);
    if (!all) return all.error();
    std::vector<std::string> left = worse(*before, *all);
    if (left.empty()) break;
    // The last first: what follows builds on what stands before it, and errors come first of all.
    for (size_t n = steps.size(); n-- > 0 && !left.empty();) {
      if (!steps[n].stands) continue;
      steps[n].stands = false;
      const auto without = proof.outcome(steps);
      if (!without) return without.error();
      const std::vector<std::string> rest = worse(*before, *without);
      if (rest.size() < left.size() && missing(rest, left).empty()) {
        refuse(steps[n], missing(left, rest));
        left = rest;
      } else {
        steps[n].stands = true;
      }
    }
    // What two of them do alike: the first that makes it goes, and so does the next.
    std::vector<Step> kept;
    for (Step& step : steps) {
      if (left.empty()) break;
      if (!step.stands) continue;
      kept.push_back(step);
      const auto with = proof.outcome(kept);
      if (!with) return with.error();
      const std::vector<std::string> made = worse(*before, *with);
      const std::vector<std::string> ends = missing(made, missing(made, left));
      if (ends.empty()) continue;
      kept.pop_back();
      step.stands = false;
      refuse(step, ends);
    }
  }
  const auto is_own = [&](const Action& a) {
    return framework.empty() || a.framework == framework || a.framework == "any" ||
           a.framework == "env";
  };
  for (auto i = emptied.rbegin(); i != emptied.rend(); ++i) {
    auto& actions = findings[*i].actions;
    actions.erase(std::remove_if(actions.begin(), actions.end(),
                                 [](const Action& a) { return a.set.empty(); }),
                  actions.end());
    if (std::none_of(actions.begin(), actions.end(), is_own))
      findings.erase(findings.begin() + static_cast<std::ptrdiff_t>(*i));
  }
  return {};
}

}  // namespace ws
