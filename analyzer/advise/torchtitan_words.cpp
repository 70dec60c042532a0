// Actions for PyTorch in the settings of torchtitan, where the run has a file of it: what the note
// or the table gives as its setting takes the place of the call, under the name of its release.
// Tested by: tests/unit/advise/spellings_test.cpp
#include <algorithm>

#include "advise/spellings.h"

namespace ws {
namespace {

constexpr std::string_view kMark = "torchtitan: ";

std::vector<std::string> parts_of(const std::string& note) {
  std::vector<std::string> out;
  size_t at = 0;
  while (at < note.size()) {
    const size_t end = std::min(note.find("; ", at), note.size());
    out.push_back(note.substr(at, end - at));
    at = end + 2;
  }
  return out;
}

// Takes it out of the note; "": there is none.
std::string own_setting(Action& action) {
  std::string found;
  const std::vector<std::string> parts = parts_of(action.note);
  for (const std::string& part : parts)
    if (found.empty() && part.rfind(kMark, 0) == 0) found = part.substr(kMark.size());
  if (found.empty()) return "";
  action.note.clear();
  for (const std::string& part : parts)
    if (part.rfind(kMark, 0) != 0) add_note(action, part);
  return found;
}

std::string listed_setting(const Action& action, const FlagTable& table) {
  const std::string words = action.set + " " + action.to;
  for (const FlagTable::OfTorchtitan& row : table.torchtitan) {
    const bool all = std::all_of(row.words.begin(), row.words.end(), [&](const std::string& word) {
      return words.find(word) != std::string::npos;
    });
    if (all) return row.set;
  }
  return "";
}

void spell(Action& action, const FlagTable& table, const std::string& spelled) {
  std::string setting = own_setting(action);
  if (setting.empty()) setting = listed_setting(action, table);
  if (!setting.empty()) {
    action.set = setting;
    if (setting.find(" = ") != std::string::npos) action.to.clear();
  }
  for (std::string* text : {&action.set, &action.to, &action.note})
    *text = in_words_of_torchtitan(*text, spelled);
}

bool same(const Action& a, const Action& b) {
  return a.framework == b.framework && a.set == b.set && a.to == b.to;
}

}  // namespace

void spell_for_torchtitan(std::vector<Finding>& findings, const FlagTable& table,
                          const std::string& spelled) {
  if (!is_of_torchtitan(spelled)) return;
  for (Finding& f : findings) {
    std::vector<Action> left;
    for (Action action : f.actions) {
      if (action.framework == "pytorch") spell(action, table, spelled);
      const auto known =
          std::find_if(left.begin(), left.end(), [&](const Action& a) { return same(a, action); });
      if (known == left.end()) left.push_back(std::move(action));
    }
    f.actions = std::move(left);
  }
}

}  // namespace ws
