// What settings need of other software and of the GPU. Tested by:
// tests/unit/advise/spellings_test.cpp
#include <fmt/format.h>

#include <algorithm>

#include "advise/spellings.h"

namespace ws {
namespace {

bool has_words(const std::string& all, const Floor& floor) {
  return std::any_of(floor.words.begin(), floor.words.end(), [&](const auto& words) {
    return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
      return word_at(all, word) != std::string::npos;
    });
  });
}

bool speaks_of(const Action& a, const Floor& floor) {
  const bool own = floor.framework.empty() || floor.framework == a.framework;
  return own && has_words(a.set + " " + a.to + " " + (floor.in_note ? a.note : ""), floor);
}

// Bridge writes a text in quotes: "bf16_with_fp8_current_scaling_mixed".
bool begins_with(const std::string& to, const std::string& word) {
  return word_at(to, word) == static_cast<size_t>(!to.empty() && to[0] == '"');
}

// The setting itself, or the first of the values that it is set to.
bool sets(const Action& a, const Floor& floor) {
  if (!floor.framework.empty() && floor.framework != a.framework) return false;
  return has_words(a.set + " " + a.to, floor) &&
         std::any_of(floor.words.begin(), floor.words.end(), [&](const auto& words) {
           return word_at(a.set, words[0]) != std::string::npos || begins_with(a.to, words[0]);
         });
}

// Takes out what the floor is of where the rest of the action does without it.
bool rest_stands(Action& a, const Floor& floor) {
  if (!floor.rest_stands) return false;
  const std::string before = a.set;
  for (const auto& words : floor.words) cut_setting(a.set, words[0]);
  const bool stands = !a.set.empty() && !sets(a, floor);
  if (!stands) a.set = before;
  return stands;
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

FloorText text_of(const Floor& floor, const FlagTable& table, const FactDb& facts) {
  const std::string needs = fmt::format("{} needs {} {}", floor.name, floor.needs, floor.at_least);
  for (const auto& [software, column] : table.versions) {
    if (software != floor.needs) continue;
    std::string installed = config_value(facts, column);
    if (installed.empty() && software == "PyTorch" && config_value(facts, "framework") == "pytorch")
      installed = config_value(facts, "framework_version");
    if (installed.empty()) break;
    if (!is_older(installed, floor.at_least)) return {};
    return {
        fmt::format("not with {} {}: {} needs {}", software, installed, floor.name, floor.at_least),
        needs};
  }
  if (floor.needs == "compute capability" && gpu_is_known(facts)) return {};
  return {needs, ""};
}

}  // namespace

std::vector<FloorText> floor_texts(const FactDb& facts, const FlagTable& table) {
  std::vector<FloorText> out;
  for (const Floor& floor : table.floors)
    out.push_back(counts(floor, facts) ? text_of(floor, table, facts) : FloorText{});
  return out;
}

void drop_below_floors(std::vector<Finding>& findings, const FlagTable& table,
                       const std::vector<FloorText>& texts, const std::string& framework) {
  const auto lack_of = [&](Action& a) {
    if (a.takes_away()) return Lack{};
    for (size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].needs.empty() || !sets(a, table.floors[i])) continue;
      if (!rest_stands(a, table.floors[i])) return Lack{texts[i].needs, texts[i].text};
      add_note(a, texts[i].text);
    }
    return Lack{};
  };
  drop_lacking(findings, lack_of, framework);
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
                const std::vector<FloorText>& texts) {
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string& text = texts[i].text;
    if (text.empty()) continue;
    for (Finding& f : findings)
      for (Action& a : f.actions)
        if (!a.takes_away() && speaks_of(a, table.floors[i]) &&
            a.note.find(text) == std::string::npos)
          add_floor(a, table.floors[i], text);
  }
}

}  // namespace ws
