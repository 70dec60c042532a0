// How the file of a run names its settings, told by what it names already.
// Tested by: facts_test (file_names_test.cpp), report_test (missing_facts_test.cpp)
#include <fmt/format.h>

#include "config/key_table.h"
#include "facts/fact_db.h"

namespace ws {
namespace {

// fact_config.spelled of a file for torchtitan: its names, with their sections.
std::vector<std::string> torchtitan_names(const std::string& spelled) {
  std::vector<std::string> out;
  std::string name;
  for (const char c : spelled + " ") {
    if (c != ' ') name += c == '-' ? '_' : c;
    if (c != ' ') continue;
    if (key_table().of_torchtitan(name) != nullptr) out.push_back(name);
    name.clear();
  }
  return out;
}

}  // namespace

std::string in_words_of_torchtitan(const std::string& text, const std::string& spelled) {
  const auto used = torchtitan_names(spelled);
  std::string out, word;
  const auto end_word = [&] {
    const ConfigKey* key = key_table().of_torchtitan(word);
    out += key == nullptr ? word : key_table().in_torchtitan(key->name, used);
    word.clear();
  };
  for (const char c : text) {
    const bool part = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    if (part) word += c;
    if (part) continue;
    end_word();
    out += c;
  }
  end_word();
  // The first releases had a switch in the place of a choice.
  const std::string choice = "optimizer.fused = \"fused\"";
  if (const size_t at = out.find(choice); at != std::string::npos)
    out.replace(at, choice.size(), "optimizer.fused = true");
  return out;
}

bool is_of_torchtitan(const std::string& spelled) { return !torchtitan_names(spelled).empty(); }

std::string key_in_file(const std::string& column, const std::string& framework,
                        const std::string& spelled) {
  if (key_table().find(column) == nullptr) return "";
  if (const auto used = torchtitan_names(spelled); framework == "pytorch" && !used.empty()) {
    const std::string name = key_table().in_torchtitan(column, used);
    return name.empty() ? fmt::format("{} (in a section [wallsight])", column)
                        : fmt::format("{} ({})", name, column);
  }
  for (const WrittenKey& way : key_table().ways_to_write(column))
    if (way.framework == framework && way.constant.empty() && way.name != column)
      return fmt::format("{} ({})", way.name, column);
  if (const std::string variable = key_table().variable_of(column); !variable.empty())
    return fmt::format("{} ({})", variable, column);
  return column;
}

}  // namespace ws
