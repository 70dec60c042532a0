#include "cli/render_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "advise/advise.h"
#include "cli/common.h"
#include "cli/verbs.h"
#include "report/build_report.h"

namespace ws::cli {
namespace {

Result<void> check_rule_ids(const std::vector<FailCondition>& conditions, const RuleSet& rules) {
  for (const FailCondition& c : conditions) {
    if (c.key == "finding" && rules.find(c.value) == nullptr) {
      return Error{fmt::format(
          "--fail-on: expected the id of a rule (`wallsight rules list`), found `{}`", c.value)};
    }
  }
  return {};
}

}  // namespace

void add_report_options(CLI::App& app, ReportOptions& options) {
  app.add_option("--report", options.reports,
                 "FORMAT[=PATH], repeatable: text, md, json; default text on stdout")
      ->check(not_empty())
      ->type_name("FORMAT[=PATH]")
      ->allow_extra_args(false);
  app.add_option("--rules", options.rule_folders, "folder with further rules, repeatable")
      ->check(not_empty())
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_option(
         "--fail-on", options.fail_on,
         "exit 1 when any of the comma-separated conditions holds: wall=communication, loss=host, "
         "cause!=compute_bound, kind=insufficient, also=imbalance, share>0.2 (lower end of the "
         "verdict's "
         "share), confidence>=medium, finding:RULE")
      ->check(not_empty())
      ->type_name("SPEC");
  app.add_flag("--all", options.all, "all actions and rows instead of the first few");
}

Result<ReportRequests> check_report_options(const ReportOptions& options) {
  auto outputs = parse_outputs(options.reports);
  if (!outputs) return outputs.error();
  auto conditions = parse_fail_on(options.fail_on);
  if (!conditions) return conditions.error();
  return ReportRequests{std::move(*outputs), std::move(*conditions)};
}

int render_run(const FactDb& facts, const ReportOptions& options, const ReportRequests& requests,
               const std::string& database) {
  const auto rules = load_catalogue(options.rule_folders);
  if (!rules) return fail(kBadInput, rules.error());
  if (auto ok = check_rule_ids(requests.conditions, *rules); !ok)
    return fail(kBadUsage, ok.error());
  const auto findings = advise(facts, *rules);
  if (!findings) return fail(kBadInput, findings.error());
  auto report = build_report(facts, *findings);
  if (!report) return fail(kBadInput, report.error());
  if (!database.empty()) {
    if (auto ok = facts.save(database); !ok) return fail(kBadInput, ok.error());
  }
  if (auto ok = write_outputs(*report, requests.outputs, options.all); !ok)
    return fail(kBadInput, ok.error());
  const auto met = conditions_met(requests.conditions, *report);
  if (met.empty()) return kDone;
  std::cout.flush();
  return fail(kTripped, Error{fmt::format("--fail-on: {}", fmt::join(met, ", "))});
}

}  // namespace ws::cli
