#pragma once
// Flags that not every release has (rules/frameworks.json): the one table of versions.
#include <string>
#include <vector>

#include "advise/finding.h"
#include "base/result.h"

namespace ws {

struct FlagSpelling {
  std::string flag, since, before;  // before: "" when older releases have nothing of the kind
};

Result<std::vector<FlagSpelling>> load_spellings(const std::string& path);

// Actions for Megatron-LM in the spelling of `version` ("0.16"). "": not known, then the note says
// from which release on and what stood there before.
void spell_for_version(std::vector<Finding>& findings, const std::vector<FlagSpelling>& spellings,
                       const std::string& version);

// By the numbers between the dots: "0.9" < "0.16". Anything else is not older.
bool is_older(const std::string& version, const std::string& than);

}  // namespace ws
