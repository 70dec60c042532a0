// wallsight plan: a run configuration in, what arithmetic and rules say of it out. No trace.
#include <fmt/format.h>

#include <iostream>
#include <sstream>

#include "cli/common.h"
#include "cli/outputs.h"
#include "cli/plan_fail_on.h"
#include "cli/stated.h"
#include "cli/verbs.h"
#include "plan/render_plan.h"

namespace ws::cli {
namespace {

struct PlanOptions {
  std::string config, platform, fail_on;
  int64_t gpus = 0;
  StatedOptions stated;
  std::vector<std::string> reports, rule_folders;
};

void add_options(CLI::App& app, PlanOptions& o) {
  app.add_option("CONFIG", o.config,
                 "launch script, command line or argument dump of Megatron-LM; YAML of Megatron "
                 "Bridge or NeMo; TOML of torchtitan; JSON or YAML with the keys of "
                 "schemas/run_config.schema.json")
      ->check(not_empty())
      ->required();
  app.add_option("--gpus", o.gpus, "GPUs of the job, instead of what the file says")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 22))
      ->type_name("N");
  app.add_option("--platform", o.platform,
                 "a100, a100-40gb, h100, gb200, ..., or a GPU's name as its driver says it: "
                 "instead of what "
                 "the file says")
      ->check(not_empty())
      ->type_name("P");
  add_stated_options(app, o.stated);
  app.add_option("--report", o.reports,
                 "FORMAT[=PATH], repeatable: text, md, json; default text on stdout")
      ->type_name("FORMAT[=PATH]")
      ->allow_extra_args(false);
  app.add_option("--fail-on", o.fail_on,
                 "exit 1 when any of the comma-separated conditions holds: violations (settings "
                 "that do not work), does_not_fit (the memory, even at the estimate's lower end), "
                 "may_not_fit (at its upper end), silent (settings that do something else), "
                 "not_enough_known, finding:RULE")
      ->check(not_empty())
      ->type_name("SPEC");
  app.add_option("--rules", o.rule_folders, "folder with further rules, repeatable")
      ->check(not_empty())
      ->type_name("DIR")
      ->allow_extra_args(false);
}

Result<std::vector<std::pair<PlanFormat, std::string>>> formats_of(
    const std::vector<Output>& outputs) {
  std::vector<std::pair<PlanFormat, std::string>> out;
  for (const Output& o : outputs) {
    auto format = find_plan_format(o.format.name);
    if (!format) return format.error();
    out.emplace_back(*format, o.path);
  }
  return out;
}

Result<void> check_platform(const std::string& name, const Platforms& platforms) {
  if (name.empty() || platforms.find(name) != nullptr || memory_in_name(name) > 0) return {};
  std::vector<std::string> keys;
  for (const Platform& p : platforms.rows()) keys.push_back(p.key);
  return Error{fmt::format("--platform: expected one of {}, found '{}'; name one, or leave it out",
                           fmt::join(keys, " "), name)};
}

}  // namespace

int run_plan(int argc, char** argv) {
  CLI::App app{
      "A run configuration, before anything runs: does it add up, does it fit, what first.",
      "wallsight plan"};
  PlanOptions o;
  add_options(app, o);
  if (const auto code = parse_or_exit(app, argc, argv)) return *code;
  const auto outputs = parse_outputs(o.reports);
  if (!outputs) return fail(kBadUsage, outputs.error());
  const auto formats = formats_of(*outputs);
  if (!formats) return fail(kBadUsage, formats.error());
  if (auto ok = check_targets(*outputs, "", reads_of({o.config}, "", o.rule_folders)); !ok)
    return fail(kBadUsage, ok.error());
  const auto stated = stated_config(o.stated);
  if (!stated) return fail(kBadUsage, stated.error());
  const auto data = find_data_folder();
  if (!data) return fail(kBadInput, data.error());
  const auto platforms = Platforms::load(*data + "/rules/platforms.json");
  if (!platforms) return fail(kBadInput, platforms.error());
  if (auto ok = check_platform(o.platform, *platforms); !ok) return fail(kBadUsage, ok.error());
  const auto known = load_known_runs(*data + "/rules/configurations.json");
  if (!known) return fail(kBadInput, known.error());
  auto config = load_run_config(o.config);
  if (!config) return fail(kBadInput, config.error());
  if (auto ok = put_stated(*config, *stated); !ok) return fail(kBadUsage, ok.error());
  if (o.gpus > 0) set_value(*config, "gpus", o.gpus, "--gpus");
  if (!o.platform.empty()) set_value(*config, "platform", o.platform, "--platform");
  const auto rules = load_catalogue(o.rule_folders);
  if (!rules) return fail(kBadInput, rules.error());
  const auto conditions = parse_plan_fail_on(o.fail_on, *rules);
  if (!conditions) return fail(kBadUsage, conditions.error());
  const auto plan = build_plan(*config, *platforms, *known, *rules);
  if (!plan) return fail(kBadInput, plan.error());
  std::vector<RenderedOutput> rendered;
  for (const auto& [format, path] : *formats) {
    std::ostringstream text;
    format.render(*plan, text);
    rendered.push_back({path, text.str()});
  }
  if (auto ok = write_rendered(rendered); !ok) return fail(kBadInput, ok.error());
  const auto met = conditions_met(*conditions, *plan);
  if (met.empty()) return kDone;
  std::cout.flush();
  return fail(kTripped, Error{fmt::format("--fail-on: {}", fmt::join(met, ", "))});
}

}  // namespace ws::cli
