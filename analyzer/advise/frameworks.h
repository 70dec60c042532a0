#pragma once
// Whose settings a run can use. A configuration tells the framework, or names in the recording do;
// names that several share leave several, and kernels of the program's own leave none.
#include <string>
#include <vector>

#include "advise/finding.h"
#include "base/recorders.h"
#include "facts/fact_db.h"

namespace ws {

struct Frameworks {
  enum class By : uint8_t {
    configuration,
    names,        // that no other framework has
    core,         // Megatron Core's: Megatron-LM or Megatron Bridge
    kernels,      // PyTorch's: whatever runs on it
    nothing,      // it may be any of them
    own_program,  // kernels of no framework and no library
  };
  By by = By::nothing;
  std::vector<std::string> names;  // the likeliest first
  Recorders recorders{};

  bool certain() const { return by == By::configuration || by == By::names; }
};

Frameworks frameworks_of(const FactDb& facts);
Recorders recorders_of(const FactDb& facts);

// The actions in the spelling of these frameworks and those that hold for any program, as the rule
// has them; several frameworks stand one after the other, the likeliest first. What nsys does
// stands behind where torch.profiler recorded, and is left out where there is no nsys.
std::vector<Action> actions_for(const std::vector<Action>& actions, const Frameworks& frameworks);

}  // namespace ws
