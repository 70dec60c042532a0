#pragma once
// Rows of the detail tables. Private to the tables of report/.
#include <fmt/format.h>

#include "report/tables.h"

namespace ws {

inline constexpr size_t kShortRows = 6;

// Adds rows up to the limit and says how many are left.
template <class Rows, class F>
void fill(Table& table, const Rows& rows, bool all, F cells) {
  size_t shown = 0;
  for (const auto& row : rows) {
    if (!all && shown == kShortRows) break;
    table.rows.push_back(cells(row));
    ++shown;
  }
  if (shown < rows.size())
    table.remarks.push_back(fmt::format("and {} more (--all)", rows.size() - shown));
}

}  // namespace ws
