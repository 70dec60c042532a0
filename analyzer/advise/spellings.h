#pragma once
// Flags that not every release has (rules/frameworks.json): the one table of versions.
#include <string>
#include <vector>

#include "advise/finding.h"
#include "base/result.h"
#include "facts/fact_db.h"

namespace ws {

struct FlagSpelling {
  std::string flag, since, before;  // before: "" when older releases have nothing of the kind
};

struct FlagTable {
  std::vector<FlagSpelling> flags;
  // Words of an action and the column of fact_config with the value that says so: "--a", "a", "1".
  struct InUse {
    std::string words, column, value;
  };
  std::vector<InUse> in_use;
  std::vector<std::pair<std::string, std::string>> variables;  // of the environment, and the column
};

// What the run has already.
struct Settings {
  std::vector<std::string> words;                          // "--a", "NAME=value"
  std::vector<std::string> keys;                           // columns that are 1
  std::vector<std::pair<std::string, int64_t>> variables;  // of the environment
  struct Given {
    std::string framework, name, value;  // a row of fact_setting
  };
  std::vector<Given> given;
  std::string framework;  // of the configuration, "" when it does not say
};

Result<FlagTable> load_spellings(const std::string& path);

// Takes out of the actions what the run has already. A finding that leaves nothing to set for the
// framework of the run does not fire.
void drop_settings_in_use(std::vector<Finding>& findings, const Settings& in_use);

Settings settings_in_use(const FactDb& facts, const FlagTable& table);

// Actions for Megatron-LM in the spelling of `version` ("0.16"). "": not known, then the note says
// from which release on and what stood there before.
void spell_for_version(std::vector<Finding>& findings, const FlagTable& table,
                       const std::string& version);

// By the numbers between the dots: "0.9" < "0.16". Anything else is not older.
bool is_older(const std::string& version, const std::string& than);

}  // namespace ws
