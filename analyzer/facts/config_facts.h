#pragma once
// A run configuration as rows of fact_config and fact_layout. Columns of fact_config that are keys
// of the configuration take its value by name; only what is derived is spelled out here.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "config/config_study.h"
#include "config/run_config.h"
#include "facts/fact_db.h"

namespace ws {

using FactRowValue = std::variant<int64_t, double, std::string>;
using FactRowValues = std::map<std::string, FactRowValue, std::less<>>;  // absent: NULL

FactRowValues config_row(const RunConfig& config);
// core_release, te_release, torch_release: the stated releases as numbers.
void put_releases(FactRowValues& row, const RunConfig& config);
FactRowValues layout_row(const RunConfig& config, const ConfigStudy& study);
FactRowValues platform_row(const Platform* recorded);  // of the layout, what the GPU alone tells

// Columns that are not in the row are NULL, or their default.
Result<void> insert_row(const Database& db, const std::string& table, const FactRowValues& row);

// fact_without_file: what stands in `table` where the configuration is not that of the run.
Result<void> insert_without_file(const Database& db, const std::string& table,
                                 const FactRowValues& row);

// fact_setting, without the keys that are not in use.
Result<void> insert_settings(const Database& db, const RunConfig& config,
                             const std::set<std::string>& not_in_use = {});

// ' moe_act layernorm ': a clause looks for '% moe_act %'; "" of none.
std::string padded(const std::vector<std::string>& names);

// What a file calls a setting as `fact_config.spelled` has it, with or without its section:
// "seq-length".
std::vector<std::string> plain_names(const std::string& shown, bool sections = false);

// The facts of a configuration alone: no run, no steps.
Result<FactDb> config_facts(const RunConfig& config, const ConfigStudy& study);

}  // namespace ws
