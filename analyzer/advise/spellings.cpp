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

Result<std::vector<FlagSpelling>> load_spellings(const std::string& path) {
  const auto text = read_small_file(path, kCaseFileLimit);
  if (!text) return text.error();
  const auto file = parse_json(*text, path);
  if (!file) return file.error();
  try {
    std::vector<FlagSpelling> out;
    for (const auto& row : file->at("flags"))
      out.push_back({row.at("flag").get<std::string>(), row.at("since").get<std::string>(),
                     row.at("before").get<std::string>()});
    return out;
  } catch (const nlohmann::json::exception& e) {
    return Error{fmt::format(
        "{}: expected a list of flags with since and before, found other JSON ({}); restore the "
        "file that came with the program",
        path, e.what())};
  }
}

void spell_for_version(std::vector<Finding>& findings, const std::vector<FlagSpelling>& spellings,
                       const std::string& version) {
  for (Finding& f : findings)
    for (Action& a : f.actions)
      if (a.framework == "megatron_lm")
        for (const FlagSpelling& s : spellings) spell(a, s, version);
}

}  // namespace ws
