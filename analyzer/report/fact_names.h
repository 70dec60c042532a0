#pragma once
// The one table of words and units for columns of the fact database and expressions of rules.
#include <string_view>

namespace ws {

enum class FactUnit { plain, share, flag, time, bytes };

struct FactName {
  std::string_view fact;   // "share_lo", or "idle.share" where the alias matters
  std::string_view words;  // {} is what the row is about; "": not for readers
  FactUnit unit = FactUnit::plain;
};

// By the whole expression, else by its column; nullptr: it has none.
const FactName* name_of_fact(std::string_view expression, std::string_view column);

}  // namespace ws
