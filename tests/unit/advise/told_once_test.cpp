#include "advise/told_once.h"

#include "support/catch.h"

using namespace ws;

namespace {

Finding finding(const char* rule, std::vector<Action> actions, const char* kind = "") {
  Finding f;
  f.rule = rule;
  f.phase = "fit";
  f.kind = kind;
  f.status = FindingStatus::fires;
  f.actions = std::move(actions);
  return f;
}

Action lm(const char* set, const char* to = "", const char* note = "") {
  return {"megatron_lm", set, to, note};
}

std::string sets(const Finding& f) {
  std::string out;
  for (const Action& a : f.actions) out += a.set + (a.to.empty() ? "" : "=" + a.to) + " ";
  return out;
}

std::string with(const Finding& f) {
  std::string out;
  for (const Finding::With& w : f.with) out += w.set + "<" + w.rule + " ";
  return out;
}

TEST_CASE("told once: flags of an action have their own values") {
  const auto all = assignments(lm("--a 8 --b --c", "x y"));
  REQUIRE(all.size() == 3);
  CHECK((all[0].name == "--a" && all[0].value == "8"));
  CHECK((all[1].name == "--b" && all[1].value.empty()));
  CHECK((all[2].name == "--c" && all[2].value == "x y"));
  const auto keys = assignments({"megatron_bridge", "cfg.model.a / b", "1 / 2", ""});
  REQUIRE(keys.size() == 2);
  CHECK((keys[0].name == "a" && keys[0].value == "1"));
  CHECK((keys[1].name == "b" && keys[1].value == "2"));
  CHECK(assignments({"any", "placement", "near", ""}).front().name == "placement");
}

TEST_CASE("told once: a later finding refers to what an earlier one sets, and keeps the rest") {
  std::vector<Finding> list = {
      finding("a/first", {lm("--use-distributed-optimizer")}),
      finding("a/second",
              {lm("--use-distributed-optimizer --exp-avg-dtype bf16"), {"env", "NCCL_X", "0", ""}}),
      finding("a/third", {{"env", "NCCL_X", "0", ""}, lm("--b", "1")})};
  tell_settings_once(list, "megatron_lm");
  CHECK(sets(list[0]) == "--use-distributed-optimizer ");
  CHECK(sets(list[1]) == "--exp-avg-dtype bf16 NCCL_X=0 ");
  CHECK(with(list[1]) == "--use-distributed-optimizer<a/first ");
  CHECK(sets(list[2]) == "--b=1 ");
  CHECK(with(list[2]) == "NCCL_X<a/second ");
}

TEST_CASE("told once: another value is no repetition") {
  std::vector<Finding> list = {finding("a/first", {lm("--recompute-modules", "mlp layernorm")}),
                               finding("a/second", {lm("--recompute-modules", "moe_act")})};
  tell_settings_once(list, "megatron_lm");
  CHECK(sets(list[1]) == "--recompute-modules=moe_act ");
  CHECK(list[1].with.empty());
}

TEST_CASE("told once: a finding that adds nothing is silent, what is said of the file is not") {
  std::vector<Finding> list = {finding("a/first", {lm("--a"), lm("--b", "2")}),
                               finding("a/second", {lm("--b", "2"), {"pytorch", "b()", "", ""}}),
                               finding("configuration/third", {lm("--a")}, "silent")};
  std::vector<Finding> unsure = list;
  tell_settings_once(list, "megatron_lm");
  CHECK(list[1].status == FindingStatus::no);
  CHECK(list[2].status == FindingStatus::fires);
  CHECK(sets(list[2]).empty());
  CHECK(with(list[2]) == "--a<a/first ");
  // What is new for a framework that the run may have is said.
  tell_settings_once(unsure, "");
  CHECK(unsure[1].status == FindingStatus::fires);
  CHECK(sets(unsure[1]) == "b() ");
}

TEST_CASE("told once: two faults with one fix both stand, and the second refers, by words too") {
  std::vector<Finding> list = {
      finding("configuration/first", {{"any", "TP", "4", ""}, lm("--a")}, "error"),
      finding("configuration/second", {{"any", "TP", "4", ""}, lm("--b")}, "error"),
      finding("configuration/third", {{"any", "TP", "8", ""}}, "error")};
  tell_settings_once(list, "megatron_lm");
  CHECK(sets(list[0]) == "TP=4 --a ");
  CHECK(sets(list[1]) == "--b ");
  CHECK(with(list[1]) == "TP<configuration/first ");
  CHECK(sets(list[2]) == "TP=8 ");
  for (const Finding& f : list) CHECK(f.status == FindingStatus::fires);
}

TEST_CASE("told once: alternatives stand whole, and what does not fire tells nothing") {
  std::vector<Finding> list = {finding("a/first", {lm("--a", "1")}),
                               finding("a/second", {lm("--a", "1")})};
  list[1].conflicts = {"a/first"};
  std::vector<Finding> silent = list;
  tell_settings_once(list, "megatron_lm");
  CHECK(sets(list[1]) == "--a=1 ");
  silent[1].conflicts.clear();
  silent[0].status = FindingStatus::no;
  tell_settings_once(silent, "megatron_lm");
  CHECK(silent[1].status == FindingStatus::fires);
}

}  // namespace
