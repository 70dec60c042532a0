#pragma once
#include <vector>

#include "facts/fact_db.h"
#include "report/report.h"

namespace ws {

// Reads every fact table once; nothing is measured or judged here. `findings` come in the order in
// which to act; those that do not fire feed only the "not offered" line.
Result<Report> build_report(const FactDb& facts, const std::vector<Finding>& findings);

}  // namespace ws
