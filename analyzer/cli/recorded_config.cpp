// Flags like --seq-length are common words: only a command in which several settings of a framework
// are found counts, so that a script of one's own does not pass for Megatron-LM with its defaults.
// Tested by: recorded_config_test.cpp, recorder_test.py
#include "cli/recorded_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/common.h"
#include "config/read_config.h"

namespace ws::cli {
namespace {

constexpr size_t kFewestSettings = 5;
constexpr const char* kSource = "recorded command";

size_t settings_in_command(const RunConfig& config) {
  return static_cast<size_t>(
      std::count_if(config.entries.begin(), config.entries.end(), [](const ConfigEntry& e) {
        return e.key != "framework" && e.place.compare(0, 7, "default") != 0;
      }));
}

}  // namespace

std::optional<RunConfig> recorded_config(const std::vector<RankAnalysis>& ranks, Notes& notes) {
  for (const RankAnalysis& rank : ranks) {
    const std::vector<std::string>& words = rank.config.arguments;
    if (words.size() < kFewestSettings) continue;
    std::string text;
    for (const std::string& word : words) text.append(word).push_back('\0');
    auto config = read_config(text, kSource);
    if (!config) {
      notes.add(NoteCode::config_unclear, kSource);
      return std::nullopt;
    }
    const size_t found = settings_in_command(*config);
    if (found < kFewestSettings) continue;
    config->unknown.clear();  // a command has many words that are none of ours
    config->notes.clear();
    auto whole = with_model_sizes(std::move(*config));
    if (!whole) return std::nullopt;
    notes.add(NoteCode::config_recorded, {}, 1,
              fmt::format("{} settings of rank {}", found, rank.rank));
    return std::move(*whole);
  }
  return std::nullopt;
}

}  // namespace ws::cli
