#pragma once
// Plans of short configurations and of the samples, with the tables of the checkout.
#include <sstream>
#include <string>
#include <utility>

#include "config/read_config.h"
#include "plan/plan.h"
#include "plan/render_plan.h"
#include "support/catch.h"
#include "unit/house/source_tree.h"

namespace ws::made {

inline const std::string kRoot = WS_SOURCE_DIR;

template <class T>
T value_of(Result<T> r) {
  if (!r) FAIL(r.error().message);
  return std::move(*r);
}

inline Plan plan_of(const std::string& text, const std::string& name = "run.yaml") {
  static const Platforms platforms = value_of(Platforms::load(kRoot + "/rules/platforms.json"));
  static const KnownRuns known = value_of(load_known_runs(kRoot + "/rules/configurations.json"));
  static const RuleSet rules = value_of(load_rules({kRoot + "/rules"}));
  RunConfig config = value_of(read_config(text, name));
  add_model_sizes(config, known);
  return value_of(build_plan(config, platforms, known, rules));
}

inline Plan sample(const std::string& name) {
  return plan_of(house::read_text(kRoot + "/samples/config/" + name), name);
}

inline const Finding* find(const Plan& plan, const std::string& rule) {
  for (const Finding& f : plan.findings)
    if (f.rule == rule) return &f;
  return nullptr;
}

inline size_t errors(const Plan& plan) {
  size_t n = 0;
  for (const Finding& f : plan.findings) n += f.kind == "error";
  return n;
}

inline std::string rendered(const Plan& plan, const char* format) {
  std::ostringstream out;
  value_of(find_plan_format(format)).render(plan, out);
  return out.str();
}

}  // namespace ws::made
