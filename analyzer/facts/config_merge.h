#pragma once
// What was asked for and what was recorded, as one row. The recording wins: advice is for what
// really ran. Where they contradict each other the row says what was asked, and so does a note.
#include <set>
#include <string>
#include <vector>

#include "facts/config_facts.h"

namespace ws {

struct Contradiction {
  std::string key, configured, recorded;
  // "tp: the configuration says 4, the recording shows 2"
  std::string sentence() const;
};

struct ConfigMerge {
  FactRowValues row;
  std::vector<Contradiction> contradictions;
  // Sizes of the parallel groups are among them: it is the file of another run, and the row has
  // nothing of it.
  bool other_run = false;
  // Another number of GPUs: settings may be this run's, rates of the whole job are not.
  bool other_scale = false;
};

// defaults: keys that the file does not name. A script may be half of a command, so they make no
// other run.
ConfigMerge merge_config(const FactRowValues& asked, const FactRowValues& recorded,
                         const std::set<std::string>& defaults = {});

}  // namespace ws
