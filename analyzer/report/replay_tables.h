#pragma once
#include "report/tables.h"

namespace ws {

Table what_if_table(const Report& report, bool all);
Table path_table(const Report& report, bool all);  // leaves with one label are added up over ranks

}  // namespace ws
