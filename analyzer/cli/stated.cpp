// Tested by: cli_test (stated_test.cpp), tests/cli/stated_check.py
#include "cli/stated.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/verbs.h"
#include "config/releases.h"

namespace ws::cli {
namespace {

constexpr const char* kPlace = "command line";

// Names stand with a dash or a _ between their words.
std::optional<std::string> normal_value(const ConfigKey& key, std::string value) {
  if (key.release) return normal_release(key, value);
  std::replace(value.begin(), value.end(), '-', '_');
  const auto& choices = key.choices;
  if (std::find(choices.begin(), choices.end(), value) == choices.end()) return std::nullopt;
  return value;
}

std::string expected_of(const ConfigKey& key, const std::string& value) {
  if (key.release) return expected_release(key, value);
  std::string out = fmt::format("one of {}", fmt::join(key.choices, " "));
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

}  // namespace

std::string option_of(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

void add_stated_options(CLI::App& app, StatedOptions& options) {
  static constexpr std::pair<const char*, const char*> kHelp[] = {
      {"NAME", "megatron-lm, megatron-bridge or pytorch: instead of what the file says"},
      {"RELEASE",
       "installed Megatron Core (0.16, core_r0.16.0, main), or PyTorch where that is the "
       "framework: "
       "advice is spelled for it; instead of what the file says"},
      {"RELEASE", "installed Transformer Engine (2.8): instead of what the file says"},
      {"RELEASE", "installed PyTorch (2.8): instead of what the file says"}};
  for (size_t i = 0; i < options.values.size(); ++i) {
    auto& [key, text] = options.values[i];
    app.add_option(option_of(key), text, kHelp[i].second)
        ->check(not_empty())
        ->type_name(kHelp[i].first);
  }
}

Result<RunConfig> stated_config(const StatedOptions& options) {
  RunConfig out{kPlace, std::string(kNativeFormat), {}, {}, {}, {}};
  for (const auto& [name, text] : options.values) {
    if (text.empty()) continue;
    const ConfigKey& key = *key_table().find(name);
    auto value = normal_value(key, text);
    if (!value)
      return Error{fmt::format("{}: expected {}, found '{}'", option_of(name),
                               expected_of(key, text), shorten(one_line(to_utf8(text)), 60))};
    set_value(out, name, std::move(*value), kPlace);
  }
  if (auto ok = review_releases(out); !ok) return ok.error();
  return out;
}

Result<void> put_stated(RunConfig& config, const RunConfig& stated) {
  for (const ConfigEntry& e : stated.entries) {
    const ConfigEntry* said = entry(config, e.key);
    if (said != nullptr && said->value != e.value)
      config.notes.push_back(fmt::format("{}: {} of the command line is used, not {} ({})", e.key,
                                         shown_value(e.value), shown_value(said->value),
                                         said->place));
    set_value(config, e.key, e.value, e.place);
  }
  // What a framework's parser leaves where a flag is not there is no other framework's default.
  if (text(config, "framework") != "megatron_lm") {
    auto& entries = config.entries;
    entries.erase(std::remove_if(entries.begin(), entries.end(),
                                 [](const ConfigEntry& e) { return e.place == kMegatronDefault; }),
                  entries.end());
  }
  drop_settings_of_megatron(config);
  return review_releases(config);
}

}  // namespace ws::cli
