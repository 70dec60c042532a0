#pragma once
// Which time of the step a gain is a part of. Gains of one and the same time do not add up, whoever
// promises them: two findings on the exposed all-reduce can win it once. Told by what the gain is
// computed from, the re-simulated change or the facts of its shares, never by pairs of rules.
#include <string>
#include <string_view>
#include <vector>

#include "advise/order.h"

namespace ws {

// Sorted names of times: leaves without their last part ("comm.dp", "idle.launch", "gemm"), or
// "bubble", "straggler" and the like; empty: no gain, or one that is of no single time.
std::vector<std::string> gain_times(const Rule& rule, const Finding& finding,
                                    const VerdictFacts& verdict);

// The time that a change of fact_what_if takes out; empty: a change without words here.
std::vector<std::string> times_of_change(std::string_view id);

// Changes that a gain can be re-simulated by, in the order of `--what-if`'s list.
std::vector<std::string> change_ids();
// One of these, or some joined by "+".
bool is_change(std::string_view id);

// In the order in which findings are shown: sets `same_time_as` of each that fires and promises a
// gain of which an earlier one promises some already.
void note_shared_gains(std::vector<Finding>& findings);

}  // namespace ws
