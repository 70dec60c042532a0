#pragma once
// What a row of the tables of denials sees: the file, the recording, and what follows of it.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "facts/config_denials.h"

namespace ws {

struct Sides {
  const FactRowValues &asked, &seen;
  const ConfigShown& shown;

  std::string text(const char* key) const { return word(asked, key); }
  int64_t number(const char* key) const {
    const auto it = asked.find(key);
    const auto* i = it == asked.end() ? nullptr : std::get_if<int64_t>(&it->second);
    return i == nullptr ? 0 : *i;
  }
  bool on(const char* key) const { return word(asked, key) == "1"; }
  bool off(const char* key) const { return word(asked, key) == "0"; }
  bool has_experts() const {
    const std::string experts = text("num_experts");
    return shown.experts || (!experts.empty() && experts != "0" && experts != "1");
  }
  bool megatron() const { return word(asked, "framework").rfind("megatron", 0) == 0; }
  static std::string word(const FactRowValues& row, const char* key) {
    const auto it = row.find(key);
    if (it == row.end()) return "";
    if (const auto* i = std::get_if<int64_t>(&it->second)) return fmt::format("{}", *i);
    const auto* s = std::get_if<std::string>(&it->second);
    return s == nullptr ? "" : *s;
  }
};
using Found = std::optional<Denial>;

// One layer alone reduces four times, twice in each pass.
constexpr double kReductionsOfOneLayer = 4;

// Settings that are off in the file, and on.
std::vector<Denial> denied_off(const Sides& sides);

}  // namespace ws
