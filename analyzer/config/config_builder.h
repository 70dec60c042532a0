#pragma once
// ConfigBuilder: the door into a RunConfig. Readers hand over spellings and texts; types, ranges
// and doubles are its business. The first wrong value is the error of the whole file.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.h"

namespace ws {

enum class Twice { last_wins, first_wins };  // command lines and trees; argument dumps

class ConfigBuilder {
 public:
  ConfigBuilder(std::string source, std::string format, Twice twice);

  std::string place(size_t line) const;  // "run.sh: line 12"
  // A value as text ("8", "True", "None"), or several. `shown` is the name in the file.
  void set(const Spelling& spelling, std::string_view value, std::string_view shown, size_t line);
  void set_list(const Spelling& spelling, const std::vector<std::string>& values,
                std::string_view shown, size_t line);
  void set_variable(std::string_view name, std::string_view value, size_t line);
  void has_environment() { environment_ = true; }
  void unknown(std::string_view name, size_t line);
  void note(std::string sentence);
  void refuse(size_t line, std::string_view shown, std::string_view expected,
              std::string_view found);
  void default_framework(std::string_view name);
  // What the values that come from outside are made of: "$TP", "the output of a command".
  void name_outside(std::vector<std::string> names) { outside_names_ = std::move(names); }

  bool refused() const { return !error_.message.empty(); }
  size_t known_count() const { return values_.size(); }
  Result<RunConfig> finish();

 private:
  void store(const ConfigKey& key, ConfigValue value, std::string_view shown, size_t line);
  std::string source_, format_;
  Twice twice_;
  Error error_;
  std::map<std::string, ConfigEntry> values_;
  std::map<std::string, UnknownSetting> unknown_;
  std::map<std::string, std::string> outside_;  // key, place
  std::string default_framework_;
  std::vector<std::string> outside_names_;
  std::vector<std::string> notes_;
  bool environment_ = false;
};

}  // namespace ws
