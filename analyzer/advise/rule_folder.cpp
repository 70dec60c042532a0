// Rules of a folder. Only <family>/<stem>.json is read; other files beside the families belong to
// others (kernel_classes.json). Tested by: tests/unit/advise/rule_test.cpp, tests/rules/
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "advise/json_text.h"
#include "advise/rule.h"
#include "advise/rule_check.h"
#include "base/text.h"

namespace ws {
namespace {

namespace fs = std::filesystem;
constexpr size_t kEntryLimit = 5000;

struct RulePath {
  std::string id, path;
};

bool good_name(const std::string& s, bool digits) {
  return !s.empty() && s.size() <= 80 && std::all_of(s.begin(), s.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || c == '_' || (digits && c >= '0' && c <= '9');
  });
}

bool ends_with(const std::string& s, std::string_view end) {
  return s.size() >= end.size() && s.compare(s.size() - end.size(), end.size(), end) == 0;
}

// Names in a folder, sorted; nullopt when there are too many or it can not be listed.
std::optional<std::vector<std::string>> names_in(const fs::path& folder) {
  std::vector<std::string> out;
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    if (out.size() >= kEntryLimit) return std::nullopt;
    out.push_back(it->path().filename().string());
  }
  if (ec) return std::nullopt;
  std::sort(out.begin(), out.end());
  return out;
}

std::string printable(const std::string& path) { return one_line(to_utf8(path)); }

void collect(const std::string& folder, const std::string& family, std::vector<RulePath>& out,
             std::vector<Error>& problems) {
  const std::string path = folder + "/" + family;
  const auto names = names_in(path);
  if (!names) {
    problems.push_back(
        {fmt::format("{}: expected a folder of at most {} files, found none that "
                     "can be listed",
                     printable(path), kEntryLimit)});
    return;
  }
  for (const std::string& name : *names) {
    if (!ends_with(name, ".json") || ends_with(name, ".cases.json")) continue;
    const std::string stem = name.substr(0, name.size() - 5);
    if (good_name(family, false) && good_name(stem, true)) {
      out.push_back({family + "/" + stem, path + "/" + name});
    } else {
      problems.push_back({fmt::format("{}: expected a name of a-z, 0-9 and _, found another",
                                      printable(path + "/" + name))});
    }
  }
}

// Tables of ours that stand beside the families of the catalogue.
bool is_table(const std::string& name) {
  static constexpr std::string_view kTables[] = {"configurations.json", "frameworks.json",
                                                 "kernel_classes.json", "platforms.json"};
  return std::find(std::begin(kTables), std::end(kTables), name) != std::end(kTables);
}

// "a.json, b.json and 3 more"
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kNamed = 3;
  std::string out;
  for (size_t i = 0; i < names.size() && i < kNamed; ++i)
    out += (i > 0 ? ", " : "") + shorten(printable(names[i]), 60);
  if (names.size() > kNamed) out += fmt::format(" and {} more", names.size() - kNamed);
  return out;
}

Error no_rules(const std::string& folder, const std::vector<std::string>& stray) {
  if (stray.empty()) {
    return Error{
        fmt::format("{}: expected rules in <family>/<name>.json, found none; name the "
                    "folder that holds the families",
                    printable(folder))};
  }
  return Error{fmt::format(
      "{}: expected rules in <family>/<name>.json, found {} beside the families; move rules into "
      "a folder of their family, or name the folder that holds the families",
      printable(folder), some_of(stray))};
}

void check_cycles(const RuleSet& set, std::vector<Error>& problems) {
  std::map<std::string, int> state;  // 1 on the way, 2 done
  const auto visit = [&](const auto& self, const Rule& rule) -> void {
    state[rule.id] = 1;
    for (const std::string& before : rule.after) {
      const Rule* next = set.find(before);
      if (next == nullptr || next == &rule) continue;
      if (state[before] == 1)
        problems.push_back({fmt::format("{}: /after: expected an order, found a circle through {}",
                                        rule.id, before)});
      if (state[before] == 0) self(self, *next);
    }
    state[rule.id] = 2;
  };
  for (const Rule& rule : set.rules) {
    if (state[rule.id] == 0) visit(visit, rule);
  }
}

void sort_by_id(RuleSet& set) {
  std::stable_sort(set.rules.begin(), set.rules.end(),
                   [](const Rule& a, const Rule& b) { return a.id < b.id; });
}

}  // namespace

Result<RuleFolder> read_rule_folder(const std::string& folder) {
  const auto families = names_in(folder);
  if (!families) {
    return Error{
        fmt::format("{}: expected a folder with rules, found none that can be listed; "
                    "check the name",
                    printable(folder))};
  }
  RuleFolder out;
  std::vector<RulePath> paths;
  for (const std::string& family : *families) {
    std::error_code ec;
    if (fs::is_directory(folder + "/" + family, ec))
      collect(folder, family, paths, out.problems);
    else if (ends_with(family, ".json") && !is_table(family))
      out.stray.push_back(family);
  }
  if (paths.empty() && out.problems.empty()) return no_rules(folder, out.stray);
  if (paths.size() > kEntryLimit)
    return Error{fmt::format("{}: expected at most {} rules, found {}", printable(folder),
                             kEntryLimit, paths.size())};
  const auto checker = RuleChecker::make();
  if (!checker) return checker.error();
  for (const RulePath& p : paths) {
    out.ids.push_back(p.id);
    const auto text = read_small_file(p.path, kRuleFileLimit);
    Rule rule;
    const auto problems =
        text ? read_rule(*text, p.path, p.id, *checker, rule) : std::vector<Error>{text.error()};
    out.problems.insert(out.problems.end(), problems.begin(), problems.end());
    if (problems.empty()) out.set.rules.push_back(std::move(rule));
  }
  sort_by_id(out.set);
  return out;
}

std::vector<Error> check_links(const RuleSet& set, const std::vector<std::string>& also) {
  std::vector<Error> problems;
  for (const Rule& rule : set.rules) {
    const auto problem = [&](const char* key, const std::string& wanted, const std::string& id) {
      problems.push_back(
          {fmt::format("{}: /{}: expected {}, found `{}`", rule.id, key, wanted, printable(id))});
    };
    const auto is_there = [&](const std::string& id) {
      return set.find(id) != nullptr || std::count(also.begin(), also.end(), id) > 0;
    };
    const auto leads = [&](const char* key, const std::vector<std::string>& ids) {
      for (const std::string& id : ids) {
        if (id == rule.id) problem(key, "another rule than this one", id);
        if (!is_there(id)) problem(key, "the id of a rule", id);
      }
    };
    leads("after", rule.after);
    leads("unless", rule.unless);
    leads("conflicts", rule.conflicts);
    for (const std::string& id : rule.conflicts) {
      if (std::count(rule.after.begin(), rule.after.end(), id) > 0)
        problems.push_back(
            {fmt::format("{}: /conflicts: expected a rule that this one does not come after, "
                         "found `{}` in both",
                         rule.id, printable(id))});
      const Rule* other = set.find(id);
      if (other == nullptr || other == &rule) continue;
      if (std::count(other->conflicts.begin(), other->conflicts.end(), rule.id) == 0)
        problem("conflicts", "a rule that names this one in its own conflicts", id);
    }
  }
  check_cycles(set, problems);
  return problems;
}

std::vector<Error> add_rules(RuleSet& set, const std::vector<Rule>& rules,
                             const std::string& folder) {
  std::vector<Error> problems;
  std::vector<Rule> fresh;
  for (const Rule& rule : rules) {
    if (set.find(rule.id) != nullptr) {
      problems.push_back(
          {fmt::format("{}: expected new rule ids, found `{}` again; rename the file",
                       printable(folder), rule.id)});
      continue;
    }
    // The rules that were there first can not name a later one: they learn of it here.
    for (Rule& other : set.rules)
      if (std::count(rule.conflicts.begin(), rule.conflicts.end(), other.id) > 0)
        other.conflicts.push_back(rule.id);
    fresh.push_back(rule);
  }
  set.rules.insert(set.rules.end(), fresh.begin(), fresh.end());
  sort_by_id(set);
  return problems;
}

Result<RuleSet> load_rules(const std::vector<std::string>& folders) {
  RuleSet out;
  for (const std::string& folder : folders) {
    std::error_code ec;
    if (out.flag_table.flags.empty() && fs::is_regular_file(folder + "/frameworks.json", ec)) {
      auto spellings = load_spellings(folder + "/frameworks.json");
      if (!spellings) return spellings.error();
      out.flag_table = std::move(*spellings);
    }
    auto read = read_rule_folder(folder);
    if (!read) return read.error();
    if (!read->problems.empty()) return read->problems.front();
    const auto taken = add_rules(out, read->set.rules, folder);
    if (!taken.empty()) return taken.front();
  }
  const auto problems = check_links(out);
  if (!problems.empty()) return problems.front();
  return out;
}

}  // namespace ws
