#pragma once
// RunConfig: what a run was told to do, in the keys of schemas/run_config.schema.json, whatever
// framework wrote it. What no key stands for is kept by name.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "config/key_table.h"

namespace ws {

using ConfigValue =
    std::variant<int64_t, double, bool, std::string, std::vector<std::string>>;  // by KeyType

struct ConfigEntry {
  std::string key;
  ConfigValue value;
  std::string place;    // "run.sh: line 12", "default of Megatron-LM"
  std::string shown{};  // as the file names it: "--pipeline-model-parallel-size"
};

struct UnknownSetting {
  std::string name, place;
};

struct RunConfig {
  std::string source;                // base name of the file
  std::string format;                // "Megatron-LM script", "Megatron-LM argument dump", ...
  std::vector<ConfigEntry> entries;  // by key, each once
  std::vector<UnknownSetting> unknown;
  std::vector<std::string> outside;  // keys that are set to what only the run knows: "$(nproc)"
  std::vector<std::string> notes;    // sentences on what could not be read or is ambiguous
  bool partial = false;      // settings come from outside the file: what it does not say may be set
  bool environment = false;  // variables of the run stand in the file
};

// Format of a file in the keys of our own schema.
inline constexpr std::string_view kNativeFormat = "native keys";
// Format of the file of torchtitan. Keys of our own schema may stand in its section [wallsight].
inline constexpr std::string_view kTorchtitanFormat = "torchtitan TOML";
// Format of a config.json of Hugging Face: the sizes of a model, nothing of a run.
inline constexpr std::string_view kModelCardFormat = "model card";
// Format of what Megatron-LM prints of its arguments at the start.
inline constexpr std::string_view kArgumentDumpFormat = "Megatron-LM argument dump";
// Place of values that argparse leaves where a flag is not there.
inline constexpr std::string_view kMegatronDefault = "default of Megatron-LM";

// Values by key; nullopt: not given. The key must be in the table and of that type.
const ConfigEntry* entry(const RunConfig& config, std::string_view key);
std::optional<int64_t> integer(const RunConfig& config, std::string_view key);
std::optional<double> number(const RunConfig& config, std::string_view key);
std::optional<bool> boolean(const RunConfig& config, std::string_view key);
std::optional<std::string> text(const RunConfig& config, std::string_view key);
std::optional<std::vector<std::string>> list(const RunConfig& config, std::string_view key);
// Replaces or adds a value.
void set_value(RunConfig& config, std::string_view key, ConfigValue value,
               const std::string& place);
// The key is set, to a value that only the run knows.
bool from_outside(const RunConfig& config, std::string_view key);
// Adds a value for a key that has none yet; false: it had one, or one from outside.
bool add_missing(RunConfig& config, std::string_view key, ConfigValue value,
                 const std::string& place);

// Takes settings that Megatron alone has out of our own form for a run in PyTorch, and notes which.
void drop_settings_of_megatron(RunConfig& config);

// "true", "8", "moe moe_act"
std::string shown_value(const ConfigValue& value);

}  // namespace ws
