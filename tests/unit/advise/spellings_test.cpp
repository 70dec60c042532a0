#include "advise/spellings.h"

#include "support/catch.h"

namespace ws {
namespace {

Action spelled(const std::string& set, const std::string& note, const std::string& version) {
  const FlagTable table = {{{"--new-flag", "0.16", "--old-flag"}, {"--only-new", "0.18", ""}}, {}};
  std::vector<Finding> findings(1);
  findings[0].actions = {{"megatron_lm", set, "", note}};
  spell_for_version(findings, table, version);
  return findings[0].actions[0];
}

}  // namespace

TEST_CASE("spellings: the release decides, without one both are told") {
  CHECK(spelled("--new-flag x", "", "0.15").set == "--old-flag x");
  CHECK(spelled("--new-flag x", "", "0.16").set == "--new-flag x");
  CHECK(spelled("--new-flag x", "", "0.16").note.empty());
  CHECK(spelled("--new-flag x", "", "").note == "--new-flag from core 0.16 on, before --old-flag");
  CHECK(spelled("--new-flag x", "once --old-flag", "").note == "once --old-flag");
  CHECK(spelled("--only-new", "careful", "0.17").note ==
        "careful; not in 0.17: --only-new came with core 0.18");
  CHECK(spelled("--only-new", "", "").note == "--only-new from core 0.18 on");
  CHECK(spelled("--new-flag-too", "", "0.1").set == "--new-flag-too");
  CHECK(spelled("--new-flag", "", "main").set == "--new-flag");
}

TEST_CASE("flags in use are left out of the advice, not out of what is said of the configuration") {
  const auto left = [](const std::string& set, const std::string& kind) {
    std::vector<Finding> findings(1);
    findings[0].kind = kind;
    findings[0].actions = {{"megatron_lm", set, "", ""}, {"pytorch", "--a", "", ""}};
    drop_flags_in_use(findings, {"--a", "--c"});
    CHECK(findings[0].actions[1].set == "--a");
    return findings[0].actions[0].set;
  };
  CHECK(left("--a --b", "") == "--b");
  CHECK(left("--b, --a, --d", "") == "--b, --d");
  CHECK(left("--b --c", "") == "--b");
  CHECK(left("--a", "") == "set already: --a");
  CHECK(left("--a --c", "") == "set already: --a --c");
  CHECK(left("--a-long", "") == "--a-long");
  CHECK(left("--a", "silent") == "--a");
}

TEST_CASE("spellings: versions by their numbers") {
  CHECK(is_older("0.9", "0.16"));
  CHECK_FALSE(is_older("0.16.1", "0.16"));
  CHECK_FALSE(is_older("1.0", "0.18"));
  CHECK_FALSE(is_older("", "0.16"));
}

TEST_CASE("spellings: the table of the catalogue, and a damaged one") {
  const auto table = load_spellings(WS_SOURCE_DIR "/rules/frameworks.json");
  REQUIRE(table);
  CHECK(table->flags.size() >= 10);
  for (const FlagSpelling& s : table->flags) {
    INFO(s.flag);
    CHECK(s.flag.rfind("--", 0) == 0);
    CHECK(is_older("0.1", s.since));
  }
  for (const auto& [flag, column] : table->in_use) {
    INFO(flag << " " << column);
    const auto columns = facts_columns();
    CHECK(std::any_of(columns.begin(), columns.end(), [&, c = column](const FactColumn& f) {
      return f.table == "fact_config" && f.column == c;
    }));
  }
  CHECK_FALSE(load_spellings(WS_SOURCE_DIR "/rules/platforms.json"));
}

}  // namespace ws
