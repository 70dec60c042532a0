// wallsight explain: the clauses of the rules with their values on one run.
#include <fmt/format.h>

#include <iostream>

#include "advise/advise.h"
#include "cli/common.h"
#include "cli/verbs.h"
#include "report/render.h"

namespace ws::cli {

int run_explain(int argc, char** argv) {
  CLI::App app{"Clauses, values, facts and evidence: why a rule fired, did not, or can not say.",
               "wallsight explain"};
  std::string input, wanted;
  std::vector<std::string> folders;
  app.add_option("run.wsdb", input, "fact database, written by `wallsight analyze ... -o`")
      ->check(not_empty())
      ->required();
  app.add_option("RULE", wanted, "id of one rule; without it, one line for each");
  bool all = false;
  app.add_flag("--all", all, "clauses, values and evidence of every rule");
  app.add_option("--rules", folders, "folder with further rules, repeatable")
      ->check(not_empty())
      ->type_name("DIR")
      ->allow_extra_args(false);
  if (const auto code = parse_or_exit(app, argc, argv)) return *code;
  const auto rules = load_catalogue(folders);
  if (!rules) return fail(kBadInput, rules.error());
  if (!wanted.empty() && rules->find(wanted) == nullptr) {
    return fail(
        kBadUsage,
        Error{fmt::format(
            "{}: expected the id of a rule, found none of that name; see `wallsight rules list`",
            wanted)});
  }
  const auto facts = FactDb::open(input);
  if (!facts) return fail(kBadInput, facts.error());
  const auto findings = advise(*facts, *rules);
  if (!findings) return fail(kBadInput, findings.error());
  std::vector<Finding> shown;
  for (const Finding& f : *findings) {
    if (wanted.empty() || f.rule == wanted) shown.push_back(f);
  }
  if (wanted.empty() && !all) {
    render_explanation_summary(shown, std::cout, supply_of(*facts, *findings));
  } else {
    render_explanations(shown, std::cout, supply_of(*facts, *findings));
  }
  return kDone;
}

}  // namespace ws::cli
