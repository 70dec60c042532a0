#pragma once
// The words of the report for the names of the contract (DESIGN 5). One table each; the only place
// in report/ that knows leaves, causes and frameworks by name.
#include <string_view>
#include <vector>

namespace ws {

enum class WhereGroup { compute, communication, imbalance, bubble, memory, host, unexplained };

struct LeafPhrase {
  std::string_view leaf;
  WhereGroup group;
  std::string_view label;  // leaves with one label are added up: "ep"
};
const std::vector<LeafPhrase>& leaf_phrases();       // in leaf order
const LeafPhrase* phrase_of_leaf(std::string_view);  // nullptr: a leaf of a later version
std::string_view name_of(WhereGroup g);

// "EP all-to-all" for ep_all_to_all; the id itself when it is of a later version.
std::string_view phrase_of_cause(std::string_view cause);
std::string_view phrase_of_wall(std::string_view wall);
std::string_view phrase_of_loss(std::string_view loss);
std::string_view phrase_of_framework(std::string_view framework);
std::string_view phrase_of_format(std::string_view format);
std::string_view phrase_of_origin(std::string_view step_origin);
std::string_view phrase_of_idle(std::string_view cause);
std::string_view phrase_of_class(std::string_view kernel_class);  // "memory-bound"
std::string_view phrase_of_change(std::string_view what_if_id);   // "avoided host waits"
std::string_view phrase_of_severity(std::string_view severity);

}  // namespace ws
