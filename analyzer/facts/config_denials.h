#pragma once
// Settings that the recording denies, on or off: each row of one table names the key, says what the
// file has and what was recorded, and is sure of it or silent. Absence counts only in whole steps;
// where the records can not tell, the file holds. Whether the overlap of the expert exchange runs
// is told by the rule that looks for the reason.
#include <string>
#include <vector>

#include "facts/config_facts.h"
#include "facts/config_shown.h"

namespace ws {

struct Denial {
  std::string key;                   // column of fact_config
  std::string configured, recorded;  // in words
  FactRowValues take;                // what the run has instead
  std::vector<std::string> drop;     // what the file says of it and is not known of the run
  bool runs = false;                 // off in the file, and on
  bool another_run = false;          // no run of this file can look so
};

// asked: fact_config as the file has it; seen: what recorded_config() shows.
std::vector<Denial> denials(const FactRowValues& asked, const FactRowValues& seen,
                            const ConfigShown& shown);

}  // namespace ws
