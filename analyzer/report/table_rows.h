#pragma once
// Rows of the detail tables. Private to the tables of report/.
#include <fmt/format.h>

#include "report/tables.h"

namespace ws {

inline constexpr size_t kShortRows = 6;
inline constexpr size_t kFewestLeft = 3;  // that are worth a line which says how many are left

// How many of `count` rows are shown of which the first `worth` matter: saying that one or two are
// left takes as much room as they.
inline size_t rows_shown(size_t count, size_t worth, bool all) {
  const size_t shown = worth < kShortRows + kFewestLeft ? worth : kShortRows;
  return all || count < shown + kFewestLeft ? count : shown;
}

// Adds rows up to the limit and says how many of how many they are, and which: "the longest".
template <class Rows, class F>
void fill(Table& table, const Rows& rows, bool all, std::string_view which, F cells) {
  size_t shown = 0;
  for (const auto& row : rows) {
    if (shown == rows_shown(rows.size(), rows.size(), all)) break;
    table.rows.push_back(cells(row));
    ++shown;
  }
  if (shown < rows.size())
    table.remarks.push_back(
        fmt::format("{} of {}, {}; --all shows the rest", shown, rows.size(), which));
}

}  // namespace ws
