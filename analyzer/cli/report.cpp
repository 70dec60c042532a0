// wallsight report: a fact database, the rules, the renderers.
#include "advise/advise.h"
#include "cli/common.h"
#include "cli/fail_on.h"
#include "cli/outputs.h"
#include "cli/render_run.h"
#include "cli/verbs.h"

namespace ws::cli {

int run_report(int argc, char** argv) {
  CLI::App app{"The report of a run.wsdb again, without the trace.", "wallsight report"};
  std::string input;
  ReportOptions options;
  app.add_option("run.wsdb", input, "fact database, written by `wallsight analyze ... -o`")
      ->check(not_empty())
      ->required();
  add_report_options(app, options);
  if (const auto code = parse_or_exit(app, argc, argv)) return *code;
  auto requests = check_report_options(options);
  if (!requests) return fail(kBadUsage, requests.error());
  if (auto ok = check_targets(requests->outputs, "", reads_of({input}, "", options.rule_folders));
      !ok)
    return fail(kBadUsage, ok.error());
  const auto facts = FactDb::open(input);
  if (!facts) return fail(kBadInput, facts.error());
  return render_run(*facts, options, *requests, "");
}

}  // namespace ws::cli
