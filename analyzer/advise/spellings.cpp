// Tested by: tests/unit/advise/spellings_test.cpp
#include "advise/spellings.h"

#include <fmt/format.h>

#include <cctype>

#include "advise/json_text.h"

namespace ws {
namespace {

// Position of `flag` as a whole word, npos: not there.
size_t word_at(const std::string& text, const std::string& flag) {
  for (size_t at = text.find(flag); at != std::string::npos; at = text.find(flag, at + 1)) {
    const size_t end = at + flag.size();
    const char next = end < text.size() ? text[end] : ' ';
    if (std::isalnum(static_cast<unsigned char>(next)) == 0 && next != '-') return at;
  }
  return std::string::npos;
}

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

void add_note(Action& action, const std::string& note) {
  action.note += (action.note.empty() ? "" : "; ") + note;
}

void spell(Action& action, const FlagSpelling& s, const std::string& version) {
  const size_t at = word_at(action.set, s.flag);
  if (at == std::string::npos) return;
  if (version.empty()) {
    const std::string told = s.before.empty() ? s.since : s.before;
    if (action.note.find(told) == std::string::npos)
      add_note(action, fmt::format("{} from core {} on{}{}", s.flag, s.since,
                                   s.before.empty() ? "" : ", before ", s.before));
  } else if (is_older(version, s.since)) {
    if (s.before.empty())
      add_note(action, fmt::format("not in {}: {} came with core {}", version, s.flag, s.since));
    else
      action.set.replace(at, s.flag.size(), s.before);
  }
}

}  // namespace

bool is_older(const std::string& version, const std::string& than) {
  int a_major = 0, a_minor = 0, b_major = 0, b_minor = 0;
  if (std::sscanf(version.c_str(), "%d.%d", &a_major, &a_minor) != 2) return false;
  if (std::sscanf(than.c_str(), "%d.%d", &b_major, &b_minor) != 2) return false;
  return std::pair(a_major, a_minor) < std::pair(b_major, b_minor);
}

Result<FlagTable> load_spellings(const std::string& path) {
  const auto text = read_small_file(path, kCaseFileLimit);
  if (!text) return text.error();
  const auto file = parse_json(*text, path);
  if (!file) return file.error();
  try {
    FlagTable out;
    for (const auto& [flag, column] : file->at("in_use").items())
      out.in_use.emplace_back(flag, column.get<std::string>());
    for (const auto& row : file->at("flags"))
      out.flags.push_back({row.at("flag").get<std::string>(), row.at("since").get<std::string>(),
                           row.at("before").get<std::string>()});
    return out;
  } catch (const nlohmann::json::exception& e) {
    return Error{fmt::format(
        "{}: expected a list of flags with since and before, found other JSON ({}); restore the "
        "file that came with the program",
        path, e.what())};
  }
}

std::vector<std::string> flags_in_use(const FactDb& facts, const FlagTable& table) {
  std::vector<std::string> out;
  for (const auto& [flag, column] : table.in_use) {
    auto row = facts.db().prepare("SELECT " + column + " FROM fact_config");
    if (row && row->step() && !row->is_null(0) && row->int64(0) == 1) out.push_back(flag);
  }
  return out;
}

void drop_flags_in_use(std::vector<Finding>& findings, const std::vector<std::string>& in_use) {
  for (Finding& f : findings) {
    if (!f.kind.empty()) continue;  // what is said of the configuration itself
    for (Action& a : f.actions) {
      if (a.framework != "megatron_lm") continue;
      std::string left = a.set;
      for (const std::string& flag : in_use) cut_word(left, flag);
      if (left.empty() && a.to.empty()) left = "set already: " + a.set;
      a.set = left;
    }
  }
}

void spell_for_version(std::vector<Finding>& findings, const FlagTable& table,
                       const std::string& version) {
  for (Finding& f : findings)
    for (Action& a : f.actions)
      if (a.framework == "megatron_lm")
        for (const FlagSpelling& s : table.flags) spell(a, s, version);
}

}  // namespace ws
