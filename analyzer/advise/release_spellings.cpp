// Actions in the words of one release. Tested by: tests/unit/advise/release_spellings_test.cpp
#include <fmt/format.h>

#include <algorithm>

#include "advise/spellings.h"

namespace ws {

bool is_older(const std::string& version, const std::string& than) {
  int a_major = 0, a_minor = 0, b_major = 0, b_minor = 0;
  if (std::sscanf(version.c_str(), "%d.%d", &a_major, &a_minor) != 2) return false;
  if (std::sscanf(than.c_str(), "%d.%d", &b_major, &b_minor) != 2) return false;
  return std::pair(a_major, a_minor) < std::pair(b_major, b_minor);
}

void cut_setting(std::string& set, const std::string& name) {
  const size_t key = set.find(" / " + name);
  if (key != std::string::npos) set.erase(key, name.size() + 3);
  const size_t at = word_at(set, name);
  if (at == std::string::npos || name[0] != '-') return;
  const size_t next = set.find(" --", at);
  set.erase(at, next == std::string::npos ? next : next + 1 - at);
  while (!set.empty() && set.back() == ' ') set.pop_back();
}

namespace {

std::string flag_of(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

std::string first_word(const std::string& words) { return words.substr(0, words.find(' ')); }

std::string came_with(const FlagSpelling& row) {
  return fmt::format("{} came with core {}", row.flag, row.since);
}

// The phrase of a flag and its value, where the value is what the action sets it to.
size_t split_phrase(const Action& a, const std::string& phrase) {
  const size_t blank = phrase.rfind(' ');
  if (blank == std::string::npos) return blank;
  const std::string head = phrase.substr(0, blank), value = phrase.substr(blank + 1);
  const bool ends = a.set.size() >= head.size() &&
                    a.set.compare(a.set.size() - head.size(), head.size(), head) == 0;
  return ends && word_at(a.to, value) == 0 ? a.set.size() - head.size() : std::string::npos;
}

// One action, row by row of the table. What the release does not have in any spelling makes the
// action fall: `fallen` says which setting came when.
class Speller {
 public:
  Speller(Action& action, const std::string& version) : a_(action), version_(version) {}

  void take(const FlagSpelling& row, const std::string& own) {
    const std::string all = a_.set + " " + a_.to + " " + a_.note;
    if (!row.beside.empty() && word_at(all, row.beside) == std::string::npos) return;
    if (std::count(done_.begin(), done_.end(), first_word(row.flag)) > 0) return;
    if (const size_t at = split_phrase(a_, row.flag); at != std::string::npos) {
      if (!has_to_change(row, own)) return;
      if (row.before.empty()) return fall(row);
      a_.set.replace(at, std::string::npos, row.before);
      a_.to.erase(0, row.flag.size() - row.flag.rfind(' ') - 1);
      a_.to.erase(0, a_.to.find_first_not_of(" ,;"));
      return;
    }
    for (std::string* text : {&a_.set, &a_.to, &a_.note}) {
      const size_t at = word_at(*text, row.flag);
      if (at == std::string::npos) continue;
      if (text == &a_.note && version_.empty() && own.empty()) return tell_in_note(row, at);
      // Of what is to be left out nobody asks since when it is there.
      if (text == &a_.set && a_.takes_away() && own.empty() &&
          (version_.empty() || row.before.empty()))
        return done_.push_back(first_word(row.flag));
      if (!has_to_change(row, own)) return;
      const std::string& instead = own.empty() ? row.before : own;
      if (!instead.empty()) {
        text->replace(at, row.flag.size(), instead);
      } else if (text != &a_.set) {
        tell(fmt::format("not in {}: {}", version_, came_with(row)));
        done_.push_back(first_word(row.flag));
      } else {
        fall(row);
      }
      return;
    }
  }

  // What no later row is to read as an action's own words comes last. "": the action stands.
  std::string finish() {
    for (const std::string& note : told_) add_note(a_, note);
    return std::move(fallen_);
  }

 private:
  // Without a release the note says since when, and what stood there before.
  bool has_to_change(const FlagSpelling& row, const std::string& own) {
    if (!own.empty()) return true;
    if (!version_.empty() && is_older(version_, row.since)) return true;
    done_.push_back(first_word(row.flag));
    const std::string& told = row.before.empty() ? row.since : row.before;
    if (version_.empty() && a_.note.find(told) == std::string::npos)
      tell(fmt::format("{}from core {} on{}{}", is_alone(row) ? "the flag " : row.flag + ' ',
                       row.since, row.before.empty() ? row.older.empty() ? "" : ", " : ", before ",
                       row.before.empty() ? row.older : row.before));
    return false;
  }

  // The action sets nothing else, so that its note need not name it again.
  bool is_alone(const FlagSpelling& row) const {
    return row.flag.find(' ') == std::string::npos && word_at(a_.set, row.flag) == 0 &&
           a_.set.find("--", 2) == std::string::npos && a_.to.find("--") == std::string::npos;
  }

  // A remark names many flags: told are those that older releases have under another name.
  void tell_in_note(const FlagSpelling& row, size_t at) {
    done_.push_back(first_word(row.flag));
    if (row.before.empty() || a_.note.find(row.before) != std::string::npos) return;
    a_.note.insert(at + row.flag.size(),
                   fmt::format(" (from core {} on, before {})", row.since, row.before));
    done_.push_back(first_word(row.before));
  }

  void tell(std::string note) { told_.push_back(std::move(note)); }

  void fall(const FlagSpelling& row) {
    done_.push_back(first_word(row.flag));
    if (row.rest_stands) {
      cut_setting(a_.set, row.flag);
      if (!a_.set.empty()) return tell(came_with(row));
    }
    fallen_ += (fallen_.empty() ? "" : ", ") + came_with(row);
  }

  Action& a_;
  const std::string& version_;
  std::vector<std::string> done_;  // flags that no later row says anything of
  std::vector<std::string> told_;  // for the note
  std::string fallen_;
};

std::string spell_action(Action& a, const FlagTable& table, const std::string& version,
                         const OwnKeys& keys) {
  Speller speller(a, version);
  for (const FlagSpelling& row : table.flags) {
    // What the file says is said, but not what the stated release does not take.
    std::string own;
    for (const auto& [flag, key] : keys)
      if (flag == row.flag && !(key == row.key && is_older(version, row.since))) own = key;
    if (a.framework == "megatron_lm") {
      speller.take(row, own.empty() ? own : flag_of(own));
    } else if (a.framework == "megatron_bridge" && !row.key.empty()) {
      FlagSpelling of_bridge = row;
      of_bridge.flag = row.key;
      of_bridge.before = row.key_before;
      speller.take(of_bridge, own);
    }
  }
  return speller.finish();
}

// With its value, where that is one word and no sentence.
std::string setting_of(const Action& a) {
  if (a.to.empty() || a.to.find(' ') != std::string::npos) return a.set;
  return a.set + (a.set.rfind("--", 0) == 0 ? " " : " = ") + a.to;
}

bool leads(const Action& a, const std::string& framework) {
  return a.framework == "any" || a.framework == framework;
}

}  // namespace

namespace {

// A fault that only what the release lacks would mend: its fix is the release, the setting a note.
Action newer_release(const Action& action) {
  if (action.takes_away()) return action;
  Action out;
  out.framework = action.framework;
  out.set = "a newer release";
  out.to = "that has the setting";
  return out;
}

}  // namespace

void drop_lacking(std::vector<Finding>& findings, const LackOf& lack_of,
                  const std::string& framework) {
  for (Finding& f : findings) {
    std::vector<Action> left;
    struct Fallen {
      Action action, as_written;
      Lack lack;
    };
    std::vector<Fallen> fallen;
    std::string lead;  // what the first action of the framework needs; "" where it stands
    bool led = false;
    for (Action a : f.actions) {
      const Action as_written = a;
      Lack lack = lack_of(a);
      if (!led && leads(a, framework)) led = true, lead = lack.needs;
      if (lack.needs.empty())
        left.push_back(std::move(a));
      else
        fallen.push_back({std::move(a), as_written, std::move(lack)});
    }
    if (fallen.empty()) {
      f.actions = std::move(left);
      continue;
    }
    if (left.empty() && lead.empty()) lead = fallen[0].lack.needs;
    const bool something = std::any_of(left.begin(), left.end(), [&](const Action& a) {
      return framework.empty() || leads(a, framework);
    });
    const bool fault = f.kind == "error" || (f.kind == "silent" && something);
    if (!lead.empty() && !fault) {
      if (f.later_release.empty()) f.later_release = lead;
      if (f.status == FindingStatus::fires) f.status = FindingStatus::no;
    }
    for (auto& [action, as_written, lack] : fallen) {
      if (!something) {
        if (fault) action = newer_release(action);
        add_note(action, lack.note);
        left.push_back(std::move(action));
      } else if ((framework.empty() || leads(action, framework)) && !as_written.takes_away()) {
        // To leave out what a release does not have is nothing to miss.
        f.left_out.push_back({setting_of(as_written), lack.needs});
      }
    }
    f.actions = std::move(left);
  }
}

void spell_for_version(std::vector<Finding>& findings, const FlagTable& table,
                       const std::string& version, const OwnKeys& keys,
                       const std::string& framework) {
  const auto lack_of = [&](Action& a) {
    const std::string why = spell_action(a, table, version, keys);
    return Lack{why, fmt::format("not in {}: {}", version, why)};
  };
  drop_lacking(findings, lack_of, framework);
}

OwnKeys own_keys(const FactDb& facts, const FlagTable& table) {
  OwnKeys out;
  for (const FlagSpelling& s : table.flags) {
    if (s.column.empty()) continue;
    const std::string own = config_value(facts, s.column);
    if (own == s.key || own == s.key_before) out.emplace_back(s.flag, own);
  }
  return out;
}

std::string core_version(const FactDb& facts) {
  auto row = facts.db().prepare(
      "SELECT framework_version FROM fact_config WHERE core_release IS NOT NULL");
  return row && row->step() ? std::string(row->text(0)) : std::string();
}

}  // namespace ws
