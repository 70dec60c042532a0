#include "cli/plan_fail_on.h"

#include "support/catch.h"

using namespace ws;
using namespace ws::cli;

namespace {

RuleSet rules() {
  RuleSet out;
  out.rules.resize(1);
  out.rules[0].id = "configuration/a";
  return out;
}

Plan plan(const char* kind, int64_t total, int64_t around) {
  Plan out;
  out.gpus = out.min_gpus = 8;
  out.memory.emplace();
  out.memory->total_bytes = total;
  out.memory->uncertainty_bytes = around;
  out.memory->capacity_bytes = 100;
  if (*kind != '\0') {
    out.findings.resize(1);
    out.findings[0].rule = "configuration/a";
    out.findings[0].kind = kind;
  }
  return out;
}

std::string met(const Plan& p) {
  const auto all = parse_plan_fail_on(
      "violations,silent,does_not_fit,may_not_fit,not_enough_known,finding:configuration/a",
      rules());
  REQUIRE(all);
  std::string out;
  for (const std::string& c : conditions_met(*all, p)) out += c + " ";
  return out;
}

}  // namespace

TEST_CASE("plan --fail-on: each condition on its own, and none on a plan that fits") {
  CHECK(met(plan("", 80, 20)).empty());
  CHECK(met(plan("", 80, 21)) == "may_not_fit ");
  CHECK(met(plan("", 130, 30)) == "may_not_fit ");
  CHECK(met(plan("", 130, 29)) == "does_not_fit may_not_fit ");
  CHECK(met(plan("error", 10, 1)) == "violations finding:configuration/a ");
  CHECK(met(plan("silent", 10, 1)) == "silent finding:configuration/a ");
  CHECK(met(plan("advice", 10, 1)) == "finding:configuration/a ");
  Plan no_gpus = plan("", 10, 1);
  no_gpus.gpus.reset();
  CHECK(met(no_gpus) == "not_enough_known ");
}

TEST_CASE("plan --fail-on: what can never hold is refused") {
  CHECK(parse_plan_fail_on("", rules())->empty());
  for (const char* bad : {"violation", "violations,", ",", "finding:", "finding:configuration/b"}) {
    INFO(bad);
    CHECK_FALSE(parse_plan_fail_on(bad, rules()));
  }
  CHECK(parse_plan_fail_on("banana", rules()).error().message ==
        "--fail-on: expected one of violations silent does_not_fit may_not_fit not_enough_known "
        "finding:RULE, found `banana`");
}
