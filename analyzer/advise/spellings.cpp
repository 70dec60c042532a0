// Tested by: tests/unit/advise/spellings_test.cpp
#include "advise/spellings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cinttypes>
#include <functional>

#include "advise/frameworks.h"
#include "advise/json_text.h"
#include "advise/told_once.h"
#include "base/text.h"

namespace ws {
size_t word_at(const std::string& text, const std::string& flag) {
  for (size_t at = text.find(flag); at != std::string::npos; at = text.find(flag, at + 1)) {
    const size_t end = at + flag.size();
    const char next = end < text.size() ? text[end] : ' ';
    if (std::isalnum(static_cast<unsigned char>(next)) == 0 && next != '-') return at;
  }
  return std::string::npos;
}

void add_note(Action& action, const std::string& note) {
  action.note += (action.note.empty() ? "" : "; ") + note;
}

std::string config_value(const FactDb& facts, const std::string& column) {
  auto row = facts.db().prepare("SELECT " + column + " FROM fact_config");
  return row && row->step() && !row->is_null(0) ? std::string(row->text(0)) : std::string();
}

namespace {

// Takes `flag` and the blank, comma or semicolon beside it out of the text.
void cut_word(std::string& text, const std::string& flag) {
  const size_t at = word_at(text, flag);
  if (at == std::string::npos) return;
  text.erase(at, flag.size());
  while (at < text.size() && (text[at] == ' ' || text[at] == ',' || text[at] == ';'))
    text.erase(at, 1);
  while (!text.empty() && at >= text.size() && (text.back() == ' ' || text.back() == ','))
    text.pop_back();
}

}  // namespace

namespace {

// The names go into SQL: they must be columns.
Result<void> check_columns(const FlagTable& table, const std::string& path) {
  std::vector<std::string> names;
  for (const FlagTable::InUse& u : table.in_use) names.push_back(u.column);
  for (const auto& [variable, column] : table.variables) names.push_back(column);
  for (const auto& [software, column] : table.versions) names.push_back(column);
  for (const FlagSpelling& f : table.flags)
    if (!f.column.empty()) names.push_back(f.column);
  for (const Floor& f : table.floors)
    if (!f.beside.empty()) names.push_back(f.beside);
  const std::vector<FactColumn> columns = facts_columns();
  for (const std::string& name : names) {
    if (std::none_of(columns.begin(), columns.end(), [&](const FactColumn& c) {
          return c.table == "fact_config" && c.column == name;
        }))
      return Error{fmt::format("{}: expected a column of fact_config, found `{}`", path,
                               shorten(one_line(to_utf8(name)), 60))};
  }
  return {};
}

Floor read_floor(const nlohmann::json& row) {
  Floor out;
  out.name = row.at("name").get<std::string>();
  out.framework = row.value("framework", "");
  out.words = row.at("words").get<std::vector<std::vector<std::string>>>();
  if (const auto it = row.find("beside"); it != row.end()) {
    out.beside = it->begin().key();
    out.values = it->begin().value().get<std::vector<std::string>>();
  }
  out.say_unknown = row.value("say_unknown", false);
  out.in_note = row.value("in_note", false);
  out.rest_stands = row.value("rest_stands", false);
  out.needs = row.at("needs").get<std::string>();
  out.at_least = row.at("at_least").get<std::string>();
  return out;
}

}  // namespace

Result<FlagTable> load_spellings(const std::string& path) {
  const auto text = read_small_file(path, kCaseFileLimit);
  if (!text) return text.error();
  const auto file = parse_json(*text, path);
  if (!file) return file.error();
  try {
    FlagTable out;
    for (const auto& [words, says] : file->at("in_use").items()) {
      const auto told = says.get<std::string>();
      const size_t at = told.find('=');
      out.in_use.push_back({words, told.substr(0, at),
                            at == std::string::npos ? std::string("1") : told.substr(at + 1)});
    }
    for (const auto& [name, column] : file->at("variables").items())
      out.variables.emplace_back(name, column.get<std::string>());
    for (const auto& [name, column] : file->at("versions").items())
      out.versions.emplace_back(name, column.get<std::string>());
    for (const auto& row : file->at("floors")) out.floors.push_back(read_floor(row));
    for (const auto& row : file->value("torchtitan", nlohmann::json::array()))
      out.torchtitan.push_back(
          {row.at("words").get<std::vector<std::string>>(), row.at("set").get<std::string>()});
    for (const auto& row : file->at("flags"))
      out.flags.push_back({row.at("flag").get<std::string>(), row.at("since").get<std::string>(),
                           row.at("before").get<std::string>(), row.value("key", ""),
                           row.value("key_before", ""), row.value("column", ""),
                           row.value("beside", ""), row.value("older", ""),
                           row.value("rest_stands", false)});
    if (auto ok = check_columns(out, path); !ok) return ok.error();
    return out;
  } catch (const nlohmann::json::exception& e) {
    return Error{fmt::format(
        "{}: expected a list of flags with since and before, found other JSON ({}); restore the "
        "file that came with the program",
        path, e.what())};
  }
}

Settings settings_in_use(const FactDb& facts, const FlagTable& table) {
  Settings out;
  const auto config = [&](const std::string& column) { return config_value(facts, column); };
  for (const FlagTable::InUse& u : table.in_use) {
    if (config(u.column) != u.value) continue;
    out.words.push_back(u.words);
    if (u.value == "1") out.keys.push_back(u.column);
  }
  for (const auto& [name, column] : table.variables)
    if (const std::string value = config(column); !value.empty())
      out.variables.emplace_back(name, std::atoll(value.c_str()));
  if (auto row = facts.db().prepare("SELECT framework, name, value FROM fact_setting"); row) {
    while (row->step()) {
      out.given.push_back(
          {std::string(row->text(0)), std::string(row->text(1)), std::string(row->text(2))});
    }
  }
  const Frameworks frameworks = frameworks_of(facts);
  if (frameworks.certain()) out.framework = frameworks.names.front();
  return out;
}

namespace {

// "8 to 32" and "1e-2 to 1e-3" (either end first), "8 or more": does it hold the value?
bool in_range(double value, const std::string& wanted) {
  double a = 0, b = 0;
  char more[8] = "";
  if (std::sscanf(wanted.c_str(), "%lf to %lf", &a, &b) == 2)
    return value >= std::min(a, b) && value <= std::max(a, b);
  return std::sscanf(wanted.c_str(), "%lf %2s", &a, more) == 2 && std::string_view(more) == "or" &&
         value >= a;
}

// "1 on Hopper" too.
bool satisfies(int64_t value, const std::string& wanted) {
  int64_t one = 0;
  char more[8] = "";
  const int n = std::sscanf(wanted.c_str(), "%" SCNd64 " %2s", &one, more);
  const std::string_view next(more);
  if (n == 2 && (next == "to" || next == "or")) return in_range(double(value), wanted);
  return n >= 1 && value == one;
}

bool variable_in_use(const Action& a, const Settings& in_use) {
  const auto& words = in_use.words;
  if (std::find(words.begin(), words.end(), a.set + "=" + a.to) != words.end()) return true;
  return std::any_of(in_use.variables.begin(), in_use.variables.end(),
                     [&](const auto& v) { return v.first == a.set && satisfies(v.second, a.to); });
}

std::vector<std::string> split_at(const std::string& s, std::string_view mark) {
  std::vector<std::string> out;
  size_t at = 0;
  for (size_t end = s.find(mark); end != std::string::npos; end = s.find(mark, at)) {
    if (end > at || mark.size() > 1) out.push_back(s.substr(at, end - at));
    at = end + mark.size();
  }
  if (at < s.size()) out.push_back(s.substr(at));
  return out;
}

// Names of modules may stand in any order.
std::vector<std::string> sorted_words(const std::string& s) {
  std::vector<std::string> out = split_at(s, " ");
  std::sort(out.begin(), out.end());
  return out;
}

bool holds(const std::string& given, const std::string& wanted) {
  if (given == wanted || sorted_words(given) == sorted_words(wanted)) return true;
  char* end = nullptr;
  const double value = std::strtod(given.c_str(), &end);
  return end != given.c_str() && *end == '\0' && in_range(value, wanted);
}

bool is_given(const Settings& in_use, std::string_view framework, const std::string& name,
              const std::string& value) {
  return std::any_of(in_use.given.begin(), in_use.given.end(), [&](const Settings::Given& g) {
    return g.framework == framework && g.name == name && holds(g.value, value);
  });
}

// "cfg.ddp.a / b" to "True / 8" without what has that value already; the first name keeps the path.
void drop_given_keys(Action& a, const Settings& in_use) {
  const auto names = split_at(a.set, " / ");
  auto values = split_at(a.to, " / ");
  if (values.size() == 1) values.resize(names.size(), a.to);
  if (values.size() != names.size() || a.to.empty()) return;
  std::string path, set, to;
  size_t left = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const size_t dot = names[i].rfind('.');
    if (dot != std::string::npos) path = names[i].substr(0, dot + 1);
    const std::string key = names[i].substr(dot == std::string::npos ? 0 : dot + 1);
    const bool on =
        values[i] == "True" && std::count(in_use.keys.begin(), in_use.keys.end(), key) > 0;
    if (on || is_given(in_use, "megatron_bridge", key, values[i])) continue;
    set += (set.empty() ? "" : " / ") + path + key;
    to += (to.empty() ? "" : " / ") + values[i];
    ++left;
  }
  if (left == names.size()) return;
  const bool one_value =
      std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
  a.set = set;
  a.to = left > 0 && one_value ? values[0] : to;
}

// "--a 8 --b" and `to` as the value of the last flag, without flags that have that value already.
void drop_given_flags(Action& a, const Settings& in_use) {
  const std::vector<std::string> words = split_at(a.set, " ");
  if (words.empty() || words[0].rfind("--", 0) != 0) return;
  if (a.set.find(',') != std::string::npos || a.set.find(';') != std::string::npos) return;
  std::string set;
  for (size_t i = 0; i < words.size();) {
    const std::string& flag = words[i++];
    std::string value;
    for (; i < words.size() && words[i].rfind("--", 0) != 0; ++i)
      value += (value.empty() ? "" : " ") + words[i];
    const bool takes_to = i == words.size() && value.empty() && !a.to.empty();
    if (is_given(in_use, "megatron_lm", flag, takes_to ? a.to : value)) {
      if (takes_to) a.to.clear();
      continue;
    }
    set += (set.empty() ? "" : " ") + flag + (value.empty() ? "" : " " + value);
  }
  a.set = set;
}

}  // namespace

void write_lists(std::vector<Finding>& findings) {
  constexpr std::string_view kList = "the list ";
  for (Finding& f : findings) {
    for (Action& a : f.actions) {
      if (a.framework != "megatron_bridge" || a.to.find(kList) == std::string::npos) continue;
      std::string to;
      for (const std::string& part : split_at(a.to, " / ")) {
        std::string list;
        if (part.rfind(kList, 0) == 0)
          for (const std::string& name : split_at(part.substr(kList.size()), " "))
            list += (list.empty() ? "[\"" : ", \"") + name + '"';
        to += (to.empty() ? "" : " / ") + (list.empty() ? part : list + ']');
      }
      a.to = std::move(to);
    }
  }
}

bool keep_what_is_new(Action& a, const Settings& in_use) {
  if (a.framework == "env") return !variable_in_use(a, in_use);
  if (a.framework == "megatron_bridge") drop_given_keys(a, in_use);
  if (a.framework == "megatron_lm") {
    for (const std::string& words : in_use.words) cut_word(a.set, words);
    drop_given_flags(a, in_use);
  }
  return !a.set.empty();
}

namespace {

// What is said of the configuration itself speaks of settings in it ("leave it out"): an action
// goes where the file has all of it with the value it asks for, and something else is left to do.
void drop_what_is_there(Finding& f, const Settings& in_use) {
  const auto is_there = [&](const Action& a) {
    if (a.framework == "env") return variable_in_use(a, in_use);
    if (a.framework != "megatron_lm" && a.framework != "megatron_bridge") return false;
    const std::vector<Assignment> all = assignments(a);
    return std::all_of(all.begin(), all.end(), [&](const Assignment& one) {
      return is_given(in_use, a.framework, one.name, one.value);
    });
  };
  const auto end = std::stable_partition(f.actions.begin(), f.actions.end(),
                                         [&](const Action& a) { return !is_there(a); });
  if (end != f.actions.begin()) f.actions.erase(end, f.actions.end());
}

}  // namespace

void drop_settings_in_use(std::vector<Finding>& findings, const Settings& in_use) {
  for (Finding& f : findings) {
    if (!f.kind.empty()) {
      drop_what_is_there(f, in_use);
      continue;
    }
    std::vector<Action> left;
    bool had = false, has = false;  // something for this run
    for (Action a : f.actions) {
      const bool own = in_use.framework.empty() || a.framework == in_use.framework ||
                       a.framework == "any" || a.framework == "env";
      had |= own;
      if (!keep_what_is_new(a, in_use)) continue;
      has |= own;
      left.push_back(std::move(a));
    }
    if (had && !has && f.status == FindingStatus::fires) f.status = FindingStatus::no;
    if (!left.empty()) f.actions = std::move(left);
  }
}

}  // namespace ws
