#pragma once
// The second half of analyze and all of report: facts -> findings -> Report -> outputs.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/fail_on.h"
#include "cli/outputs.h"
#include "facts/fact_db.h"

namespace ws::cli {

struct ReportOptions {
  std::vector<std::string> reports;       // --report
  std::vector<std::string> rule_folders;  // --rules
  std::string fail_on;
  bool all = false;
};

struct ReportRequests {
  std::vector<Output> outputs;
  std::vector<FailCondition> conditions;
};

void add_report_options(CLI::App& app, ReportOptions& options);
Result<ReportRequests> check_report_options(const ReportOptions& options);

// Returns the exit code; writes nothing when anything fails. database: path of -o, "" for none.
int render_run(const FactDb& facts, const ReportOptions& options, const ReportRequests& requests,
               const std::string& database);

}  // namespace ws::cli
