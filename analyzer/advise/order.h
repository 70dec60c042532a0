#pragma once
// The order in which to act. Keys, first to last:
//   status  what fires, then what is unknown, then the rest
//   tier    0 what breaks its phase (errors of the configuration and the like), and data findings
//             when the verdict is insufficient: nothing else can be trusted
//           1 findings whose `causes` hold the verdict's cause, then those that hold also_cause
//           2 everything else
//           3 data findings otherwise: they sharpen the next recording
//   phase   data fit scale profile retune: fit before scale, tune the wall last
//   rank    of the rule, lower acts earlier
//   gain    upper end, larger first (gains are never added: fixes share the same time)
//   id
// Then `after`: a finding that fires is preceded at once by the firing findings it must follow,
// whatever their tier: removing the syncs comes right before the graphs that need them gone.
// A finding is silent where one that its rule names in `unless` fires; where it fires itself, the
// unknown ones among those are.
// Where a finding stands ahead of one of an earlier phase it says so, and why (`ahead`).
// Last, a broken phase holds the later ones back (`held_back_by`): they stay in the list, marked.
// Errors are never held back, and more groups to split memory over are how a broken fit is mended.
// Both ends of a `conflicts` pair stay, as alternatives, and each names the other if it fires too.
#include <string>
#include <vector>

#include "advise/finding.h"
#include "advise/rule.h"

namespace ws {

struct VerdictFacts {
  bool insufficient = false;
  std::string cause, also_cause;  // "" when there is none
  std::string framework = {};     // of the run, "" where it is not certain
  bool faults_first = false;      // what stops the job, then what it does silently, then the rest
};

// findings[i] is of rules.rules[i]. Sets `leads` (tier 0 or 1, firing), `held_back_by`, `after`
// and `ahead`, prunes `conflicts`.
std::vector<Finding> order_findings(std::vector<Finding> findings, const RuleSet& rules,
                                    const VerdictFacts& verdict);

}  // namespace ws
