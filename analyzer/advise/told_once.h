#pragma once
// Each setting is told once in a report: where an earlier finding gives it the same value, a later
// one refers to that.
#include <string>
#include <vector>

#include "advise/finding.h"

namespace ws {

// What a rule writes together: "cfg.m.a / b" is "cfg.m.a" and "b".
std::vector<std::string> parts_of(const std::string& text);

// Settings of an action with their values: "--a 8 --b" to "x", "cfg.m.a / b" to "1 / 2", a
// variable, or the whole of what is no setting of one of these.
struct Assignment {
  std::string name, value;
};
std::vector<Assignment> assignments(const Action& action);

// In the order in which findings are shown, those that fire. Alternatives keep theirs. A finding
// that adds nothing for `framework` (of the run, "" where it is not certain) to those before it
// does not fire, but for what is said of the configuration itself: its reason is its own, and it
// refers to the item with its fix.
void tell_settings_once(std::vector<Finding>& findings, const std::string& framework);

}  // namespace ws
