#pragma once
// What was asked for and what was recorded, as one row. The recording wins: advice is for what
// really ran. Where they contradict each other the row says what was asked, and so does a note.
#include <string>
#include <vector>

#include "facts/config_facts.h"

namespace ws {

struct ConfigMerge {
  FactRowValues row;
  std::vector<std::string> contradictions;  // "tp: the configuration says 4, the recording shows 2"
};

ConfigMerge merge_config(const FactRowValues& asked, const FactRowValues& recorded);

}  // namespace ws
