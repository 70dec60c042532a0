// What settings need of other software and of the GPU. Tested by:
// tests/unit/advise/spellings_test.cpp
#include <fmt/format.h>

#include <algorithm>

#include "advise/spellings.h"

namespace ws {
namespace {

bool has_words(const Action& a, const Floor& floor) {
  const std::string all = a.set + " " + a.to + " " + (floor.in_note ? a.note : "");
  return std::any_of(floor.words.begin(), floor.words.end(), [&](const auto& words) {
    return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
      return word_at(all, word) != std::string::npos;
    });
  });
}

bool counts(const Floor& floor, const FactDb& facts) {
  if (floor.beside.empty()) return true;
  const std::string held = config_value(facts, floor.beside);
  if (held.empty()) return floor.say_unknown;
  return std::any_of(floor.values.begin(), floor.values.end(), [&](const std::string& value) {
    return held == value || (" " + held + " ").find(" " + value + " ") != std::string::npos;
  });
}

bool gpu_is_known(const FactDb& facts) {
  for (const char* query : {"SELECT gpu FROM fact_run", "SELECT platform FROM fact_layout"}) {
    auto row = facts.db().prepare(query);
    if (row && row->step() && !row->is_null(0) && !row->text(0).empty()) return true;
  }
  return false;
}

// "": it is there.
std::string floor_words(const Floor& floor, const FlagTable& table, const FactDb& facts) {
  const std::string needed = floor.needs + " " + floor.at_least;
  for (const auto& [software, column] : table.versions) {
    if (software != floor.needs) continue;
    std::string installed = config_value(facts, column);
    if (installed.empty() && software == "PyTorch" && config_value(facts, "framework") == "pytorch")
      installed = config_value(facts, "framework_version");
    if (installed.empty()) break;
    return is_older(installed, floor.at_least)
               ? fmt::format("not with {} {}: {} needs {}", software, installed, floor.name,
                             floor.at_least)
               : "";
  }
  if (floor.needs == "compute capability" && gpu_is_known(facts)) return "";
  return fmt::format("{} needs {}", floor.name, needed);
}

}  // namespace

std::vector<std::string> floor_texts(const FactDb& facts, const FlagTable& table) {
  std::vector<std::string> out;
  for (const Floor& floor : table.floors)
    out.push_back(counts(floor, facts) ? floor_words(floor, table, facts) : "");
  return out;
}

namespace {

// Behind what is needed for the same thing already: "MXFP8 needs A 2.1 and B 10.0".
void add_floor(Action& a, const Floor& floor, const std::string& said) {
  const std::string start = floor.name + " needs ";
  const size_t at = a.note.rfind(start);
  const bool last = at != std::string::npos && a.note.find(';', at) == std::string::npos;
  if (!last || said.rfind(start, 0) != 0) return add_note(a, said);
  a.note += " and " + said.substr(start.size());
}

}  // namespace

void say_floors(std::vector<Finding>& findings, const FlagTable& table,
                const std::vector<std::string>& texts) {
  for (size_t i = 0; i < texts.size(); ++i) {
    const Floor& floor = table.floors[i];
    if (texts[i].empty()) continue;
    for (Finding& f : findings) {
      for (Action& a : f.actions) {
        const bool own = floor.framework.empty() || floor.framework == a.framework;
        if (own && has_words(a, floor) && a.note.find(texts[i]) == std::string::npos)
          add_floor(a, floor, texts[i]);
      }
    }
  }
}

}  // namespace ws
