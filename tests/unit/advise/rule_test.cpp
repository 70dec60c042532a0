#include <filesystem>
#include <fstream>
#include <functional>

#include "support/rule_text.h"

using namespace ws;
using nlohmann::json;
using test::plain_rule;
using test::problems_of;

namespace {

struct Bend {
  const char* name;
  std::function<void(json&)> bend;
  const char* message;  // a part of the first message
};

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// A folder that goes when the test ends.
struct TempFolder {
  std::filesystem::path path;
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "wallsight_rules_XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path); }
};

json rule_with_id(const std::string& id) {
  json o = plain_rule();
  o["id"] = id;
  return o;
}

}  // namespace

TEST_CASE("a good rule is read whole") {
  const Rule rule = test::good_rule(plain_rule());
  CHECK(rule.id == "memory/sample");
  CHECK(rule.wall == "memory");
  CHECK(rule.phase == "fit");
  CHECK(rule.rank == 20);
  REQUIRE(rule.from.size() == 2);
  CHECK(rule.from[1].table == "fact_memory");
  CHECK(rule.from[1].alias == "mem");
  REQUIRE(rule.when.size() == 2);
  CHECK(rule.when[1].reads == std::vector<TableColumn>{{"fact_memory", "headroom_share"}});
  REQUIRE(rule.gain);
  CHECK(rule.gain->basis == "ceiling");
  CHECK(rule.actions[0].to == "a value");
}

TEST_CASE("a missing rank is 50 and a missing gain is none") {
  json o = plain_rule();
  o.erase("rank");
  o.erase("gain");
  const Rule rule = test::good_rule(o);
  CHECK(rule.rank == 50);
  CHECK(!rule.gain);
}

TEST_CASE("a fault of shape is told with its JSON pointer") {
  const std::vector<Bend> bends = {
      {"unknown key", [](json& o) { o["colour"] = "red"; }, "/: expected one of id title"},
      {"id of another path", [](json& o) { o["id"] = "memory/other"; },
       "/id: expected `memory/sample` as the path says, found `memory/other`"},
      {"short title", [](json& o) { o["title"] = "short"; }, "/title: expected at least 8"},
      {"unknown wall", [](json& o) { o["wall"] = "network"; }, "/wall: expected one of memory"},
      {"no wall though not data", [](json& o) { o["wall"] = nullptr; }, "/wall: expected a wall"},
      {"unknown phase", [](json& o) { o["phase"] = "later"; }, "/phase: expected one of data fit"},
      {"unknown cause", [](json& o) { o["causes"] = {"gremlins"}; }, "/causes/0: expected a value"},
      {"rank too large", [](json& o) { o["rank"] = 100; }, "/rank: expected a whole number"},
      {"rank of text", [](json& o) { o["rank"] = "1"; }, "/rank: expected a whole number"},
      {"when not a list", [](json& o) { o["when"] = "1"; }, "/when: expected a list, found string"},
      {"when empty", [](json& o) { o["when"] = json::array(); }, "/when: expected 1 to"},
      {"a clause that is no text", [](json& o) { o["when"][1] = 1; }, "/when/1: expected text"},
      {"no sources", [](json& o) { o["sources"] = json::array(); }, "/sources: expected 1 to"},
      {"empty source", [](json& o) { o["sources"] = {""}; }, "/sources/0: expected at least 1"},
      {"no why", [](json& o) { o.erase("why"); }, "/: expected the key `why`, found none"},
      {"actions empty", [](json& o) { o["actions"] = json::array(); }, "/actions: expected 1 to"},
      {"action that is no object", [](json& o) { o["actions"][0] = 3; }, "/actions/0: expected an"},
      {"action of nobody", [](json& o) { o["actions"][0]["framework"] = "jax"; },
       "/actions/0/framework: expected one of any megatron_lm"},
      {"action without set", [](json& o) { o["actions"][0].erase("set"); },
       "/actions/0: expected the key `set`"},
      {"unknown key of an action", [](json& o) { o["actions"][0]["run"] = "rm"; },
       "/actions/0: expected one of framework"},
      {"gain of text", [](json& o) { o["gain"] = "big"; }, "/gain: expected an object"},
      {"unknown basis", [](json& o) { o["gain"]["basis"] = "hope"; }, "/gain/basis: expected one"},
      {"unknown safety", [](json& o) { o["safety"] = "none"; }, "/safety: expected one of"},
      {"a control character", [](json& o) { o["why"] = "a line that ends here\n and goes on"; },
       "/why: expected one printable line"},
      {"too many clauses", [](json& o) { o["when"] = std::vector<std::string>(49, "1"); },
       "/when: expected 1 to 48"},
      {"a line with a key nobody knows",
       [](json& o) {
         o["pitfalls"][0] = {{"text", "a"}, {"if", "1"}};
       },
       "/pitfalls/0: expected one of text frameworks when"},
      {"a line without words",
       [](json& o) {
         o["verify"] = {{{"when", "1"}}};
       },
       "/verify/0: expected the key `text`"},
      {"a line for a framework nobody knows",
       [](json& o) {
         o["published"] = {{{"text", "a"}, {"frameworks", {"jax"}}}};
       },
       "/published/0/frameworks: expected some of megatron_lm"},
      {"no sentence in why", [](json& o) { o["why"] = json::array(); },
       "/why: expected a sentence"},
      {"no from", [](json& o) { o.erase("from"); }, "/: expected the key `from`"}};
  for (const Bend& b : bends) {
    INFO(b.name);
    json o = plain_rule();
    b.bend(o);
    const auto problems = problems_of(o.dump());
    REQUIRE(!problems.empty());
    CHECK(problems.front().find(b.message) != std::string::npos);
    CHECK(problems.front().find("rules/memory/sample.json: ") == 0);
    INFO(problems.front());
    CHECK(problems.front().find(b.message) != std::string::npos);
  }
}

TEST_CASE("a fault of SQL is told with its clause and character") {
  const std::vector<Bend> bends = {
      {"unknown column", [](json& o) { o["when"][1] = "mem.hedroom_share < 0.1"; },
       "/when/1: no such column: mem.hedroom_share (at character 0)"},
      {"column two tables have",
       [](json& o) {
         o["from"] = "fact_run a, fact_run b";
         o["when"] = {"gpu = 'x'"};
         o["evidence"] = json::array();
         o.erase("gain");
       },
       "/when/0: ambiguous column name: gpu"},
      {"a line that asks for no column",
       [](json& o) {
         o["pitfalls"][0] = {{"text", "a"}, {"when", "mem.colour = 1"}};
       },
       "/pitfalls/0/when: no such column: mem.colour"},
      {"misspelt literal", [](json& o) { o["when"][0] = "1 = 1 AND run.cause = 'alocator'"; },
       "found `alocator`; did you mean `allocator`? (at character 22"},
      {"misspelt literal on the left", [](json& o) { o["when"][0] = "'alocator' = run.cause"; },
       "found `alocator`; did you mean `allocator`? (at character 0"},
      {"misspelt literal in a list",
       [](json& o) { o["when"][0] = "run.wall NOT IN ('memory', 'comunication')"; },
       "/when/0: expected a value that fact_run.wall can hold, one of memory communication "
       "compute_host, found `comunication`; did you mean `communication`? (at character 27"},
      {"misspelt literal after IS NOT", [](json& o) { o["when"][0] = "run.also IS NOT 'hosts'"; },
       "expected a value that fact_run.also can hold, one of "},
      {"misspelt cause of another column",
       [](json& o) { o["when"][0] = "run.also_cause = 'alocator'"; },
       "expected a value that fact_run.also_cause can hold"},
      {"misspelt literal behind a function",
       [](json& o) { o["when"][0] = "coalesce(run.wall, 'memory') = 'memmory'"; },
       "expected a value of a column in this clause, found 'memmory'"},
      {"a number compared with text", [](json& o) { o["when"][1] = "mem.headroom_share < '0.1'"; },
       "expected a number beside fact_memory.headroom_share, found the text '0.1'"},
      {"division", [](json& o) { o["when"][1] = "mem.h2d_bytes / 2 > 1"; },
       "/when/1: expected no division, found `/`"},
      {"two expressions", [](json& o) { o["when"][1] = "1, 2"; },
       "/when/1: expected one expression, found `,` (at character 1"},
      {"double quotes", [](json& o) { o["when"][0] = "run.cause = \"allocator\""; },
       "expected one SQL expression, found `\"`"},
      {"one-argument max", [](json& o) { o["when"][1] = "max(mem.alloc_share) > 0"; },
       "expected two or more values in min() or max()"},
      {"unknown table", [](json& o) { o["from"] = "fact_run run, fact_moon mem"; },
       "/from: expected a fact table, found `fact_moon`"},
      {"evidence", [](json& o) { o["evidence"] = {"mem.nonsense"}; },
       "/evidence/0: no such column: mem.nonsense"},
      {"gain", [](json& o) { o["gain"]["hi_share"] = "mem.nonsense"; },
       "/gain/hi_share: no such column"},
      {"syntax", [](json& o) { o["when"][1] = "mem.alloc_share < < 1"; },
       "/when/1: near \"<\": syntax error (at character 18)"}};
  for (const Bend& b : bends) {
    INFO(b.name);
    json o = plain_rule();
    b.bend(o);
    const auto problems = problems_of(o.dump());
    REQUIRE(!problems.empty());
    INFO(problems.front());
    CHECK(problems.front().find(b.message) != std::string::npos);
  }
}

TEST_CASE("literals a column can hold pass in every position") {
  for (const char* clause :
       {"run.wall = 'memory'", "'memory' <> run.wall", "run.wall IN ('memory', 'communication')",
        "run.also_cause IS NOT 'allocator'", "coalesce(run.wall, 'memory') = 'communication'",
        "run.gpu LIKE '%H100%'", "run.gpu = 'anything'", "(run.wall) IS 'memory'",
        "iif(run.wall = 'memory', run.share_hi, 0) > 0.1"}) {
    INFO(clause);
    json o = plain_rule();
    o["when"][0] = clause;
    CHECK(problems_of(o.dump()).empty());
  }
}

TEST_CASE("a folder gives its good rules and all its problems, in order") {
  const TempFolder folder;
  write_file(folder.path / "memory" / "b.json", rule_with_id("memory/b").dump());
  write_file(folder.path / "memory" / "a.json", rule_with_id("memory/a").dump());
  write_file(folder.path / "memory" / "a.cases.json", "[]");
  write_file(folder.path / "memory" / "README.md", "not a rule");
  write_file(folder.path / "kernel_classes.json", "{}");
  write_file(folder.path / "host" / "broken.json", "{");
  write_file(folder.path / "host" / "Bad Name.json", "{}");
  const auto read = read_rule_folder(folder.path.string());
  REQUIRE(read);
  REQUIRE(read->set.rules.size() == 2);
  CHECK(read->set.rules[0].id == "memory/a");
  CHECK(read->set.find("memory/b") == &read->set.rules[1]);
  CHECK(read->set.find("memory/c") == nullptr);
  REQUIRE(read->problems.size() == 2);
  CHECK(read->problems[0].message.find("Bad Name.json: expected a name of a-z") !=
        std::string::npos);
  CHECK(read->problems[1].message.find("broken.json: byte 2: expected JSON") != std::string::npos);
  CHECK(!load_rules({folder.path.string()}));
}

TEST_CASE("a folder without rules is refused with the form it needs") {
  const TempFolder folder;
  const auto empty = read_rule_folder(folder.path.string());
  REQUIRE(!empty);
  CHECK(empty.error().message.find("<family>/<name>.json") != std::string::npos);
  write_file(folder.path / "platforms.json", "{}");  // a table of ours
  write_file(folder.path / "x.json", "{ broken");
  const auto stray = read_rule_folder(folder.path.string());
  REQUIRE(!stray);
  CHECK(stray.error().message.find("found x.json beside the families; move rules into a folder") !=
        std::string::npos);
  write_file(folder.path / "memory" / "a.json", rule_with_id("memory/a").dump());
  const auto problems = check_rule_folder(folder.path.string());
  REQUIRE(problems);
  REQUIRE(problems->size() == 2);
  CHECK(problems->front().message.find("a.cases.json: expected the cases of memory/a") !=
        std::string::npos);
  CHECK(problems->back().message.find("x.json: expected rules in <family>/<name>.json") !=
        std::string::npos);
  CHECK(load_rules({folder.path.string()}));  // for others it may stand there
  const auto absent = read_rule_folder((folder.path / "absent").string());
  REQUIRE(!absent);
  CHECK(absent.error().message.find("expected a folder with rules") != std::string::npos);
}

TEST_CASE("folders are joined; an id that comes twice is refused") {
  const TempFolder one, two;
  write_file(one.path / "memory" / "a.json", rule_with_id("memory/a").dump());
  json b = rule_with_id("memory/b");
  b["after"] = {"memory/a"};
  write_file(two.path / "memory" / "b.json", b.dump());
  const auto both = load_rules({two.path.string(), one.path.string()});
  REQUIRE(both);
  CHECK(both->rules[0].id == "memory/a");
  const auto twice = load_rules({one.path.string(), one.path.string()});
  REQUIRE(!twice);
  CHECK(twice.error().message.find("found `memory/a` again") != std::string::npos);
  CHECK(!load_rules({two.path.string()}));  // `after` leads nowhere
}

TEST_CASE("links between rules are checked") {
  const auto rule = [](const char* id, std::vector<std::string> after,
                       std::vector<std::string> conflicts) {
    Rule r;
    r.id = id;
    r.after = std::move(after);
    r.conflicts = std::move(conflicts);
    return r;
  };
  const auto messages = [](std::vector<Rule> rules) {
    RuleSet set;
    set.rules = std::move(rules);
    std::string all;
    for (const Error& e : check_links(set)) all += e.message + "|";
    return all;
  };
  CHECK(messages({rule("a/a", {}, {"a/b"}), rule("a/b", {}, {"a/a"})}) == "");
  CHECK(messages({rule("a/a", {}, {"a/b"}), rule("a/b", {"a/a"}, {"a/a"})}) ==
        "a/b: /conflicts: expected a rule that this one does not come after, found `a/a` in both|");
  CHECK(messages({rule("a/a", {"a/z"}, {})}) ==
        "a/a: /after: expected the id of a rule, found `a/z`|");
  CHECK(messages({rule("a/a", {}, {"a/b"}), rule("a/b", {}, {})}).find("names this one") !=
        std::string::npos);
  CHECK(messages({rule("a/a", {}, {"a/a"})}) ==
        "a/a: /conflicts: expected another rule than this one, found `a/a`|");
  CHECK(messages({rule("a/a", {"a/c"}, {}), rule("a/b", {"a/a"}, {}), rule("a/c", {"a/b"}, {})})
            .find("found a circle through") != std::string::npos);
  CHECK(messages({rule("a/a", {"a/a"}, {})}) ==
        "a/a: /after: expected another rule than this one, found `a/a`|");
}

TEST_CASE("errors and what says so break their phase") {
  json o = plain_rule();
  CHECK_FALSE(test::good_rule(o).breaks);
  o["breaks"] = true;
  CHECK(test::good_rule(o).breaks);
  o["breaks"] = "yes";
  CHECK(problems_of(o.dump()).at(0).find("/breaks: expected true or false, found string") !=
        std::string::npos);
  o.erase("breaks");
  o["kind"] = "silent";
  CHECK_FALSE(test::good_rule(o).breaks);
  o["kind"] = "error";
  CHECK(test::good_rule(o).breaks);
}
