#pragma once
// What several ranks tell together, as tables. Without rows where there is nothing to tell.
#include "report/tables.h"

namespace ws {

Table across_table(const Report& report);
Table late_table(const Report& report, bool all);

}  // namespace ws
