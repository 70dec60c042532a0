// Rule folders come from anybody: nothing in one may read outside the fact tables, change
// anything, or keep the program busy.
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "advise/advise.h"
#include "advise/evaluate.h"
#include "advise/json_text.h"
#include "support/rule_text.h"

using namespace ws;
using nlohmann::json;
using test::plain_rule;
using test::problems_of;

namespace {

std::string repeated(const std::string& s, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += s;
  return out;
}

std::string only_problem(const json& rule) {
  const auto problems = problems_of(rule.dump());
  REQUIRE(!problems.empty());
  return problems.front();
}

// What the sandbox itself says of a clause, without the checks of the text before it.
std::string sandbox_error(const std::string& sql) {
  const FactDb facts = test::facts_of("{}");
  const RuleSandbox sandbox(facts);
  auto query = sandbox.prepare(sql);
  if (!query) return query.error().message;
  return "";
}

}  // namespace

TEST_CASE("expressions that are more than an expression are refused") {
  const std::vector<std::string> clauses = {
      "1); DELETE FROM fact_run; --",
      "1; ATTACH 'x' AS y",
      "1) FROM fact_note --",
      "1) FROM fact_note /*",
      "1), (2",
      "1, 2",
      "(SELECT count(*) FROM sqlite_master)",
      "run.cause IN (SELECT name FROM fact_kernel)",
      "run.cause IN fact_kernel",
      "run.rank_count IN (VALUES (1), (2))",
      "EXISTS (SELECT 1)",
      "(WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c)",
      "load_extension('x')",
      "randomblob(1000000000)",
      "zeroblob(1000000000) IS NULL",
      "printf('%1000000000d', 1)",
      "readfile('/etc/passwd')",
      "random() > 0",
      "sqlite_version() > 'a'",
      "hex(run.gpu) = 'x'",
      "replace(run.gpu, 'a', 'bb') = 'x'",
      "instr(run.gpu, 'a')",
      "count(*)",
      "sum(mem.alloc_share)",
      "max(mem.alloc_share)",
      "group_concat(run.gpu)",
      "row_number() OVER ()",
      "abs(1) OVER (ORDER BY 1)",
      "run.gpu MATCH 'x'",
      "run.gpu REGEXP 'x'",
      "run.gpu GLOB 'x'",
      "run.gpu -> 'x'",
      "run.rowid = 1",
      "run._rowid_ = 1",
      "sqlite_master.sql = 'x'",
      "run.wall = ?1",
      "run.wall = :a",
      "run.wall = @a",
      "run.wall = $a",
      "run.wall = \"memory\"",
      "run.wall = [memory]",
      "run.wall = `memory`",
      "x'00' = 1",
      "CURRENT_TIMESTAMP > 'a'",
      "RAISE(IGNORE)",
      "1 & 2",
      "~1",
      "run.rank_count % 2",
      "'unterminated",
      "(1",
      "1)",
      "",
      "run.wall = 'memory'\n--",
      "run.w\xc3\xa4ll = 'memory'",
      repeated("(", 200) + "1" + repeated(")", 200),
      repeated("not ", 200) + "1",
      repeated("1 + ", 300) + "1",
      "1" + repeated(" OR 1", 400)};
  for (const std::string& clause : clauses) {
    INFO(clause.substr(0, 80));
    json o = plain_rule();
    o["when"] = {clause};
    CHECK(only_problem(o).find("/when/0: ") != std::string::npos);
    o = plain_rule();
    o["evidence"] = {clause};
    CHECK(only_problem(o).find("/evidence/0: ") != std::string::npos);
    o = plain_rule();
    o["gain"]["hi_share"] = clause;
    CHECK(only_problem(o).find("/gain") != std::string::npos);
  }
}

TEST_CASE("the sandbox holds without the checks of the text") {
  for (const char* sql :
       {"DELETE FROM fact_run",
        "ATTACH 'x' AS y",
        "PRAGMA user_version",
        "CREATE TABLE t (a)",
        "INSERT INTO fact_run DEFAULT VALUES",
        "UPDATE fact_run SET gpu = 'x'",
        "BEGIN",
        "VACUUM INTO 'x'",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM pragma_table_info('fact_run')",
        "SELECT 1 FROM fact_run WHERE 1 IN (SELECT 2)",
        "SELECT 1 FROM (SELECT 2)",
        "SELECT 1 UNION SELECT 2",
        "SELECT (SELECT 1)",
        "SELECT 1 WHERE 1 IN fact_kernel",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c",
        "SELECT load_extension('x')",
        "SELECT randomblob(10)",
        "SELECT printf('%d', 1)",
        "SELECT json_extract('{}', '$')",
        "SELECT count(*) FROM fact_run",
        "SELECT rowid FROM fact_run",
        "SELECT gpu = \"nonsense\" FROM fact_run",
        "SELECT 1; SELECT 2"}) {
    INFO(sql);
    CHECK(sandbox_error(sql) != "");
  }
  CHECK(sandbox_error("SELECT abs(1), coalesce(gpu, 'x') FROM fact_run") == "");
}

TEST_CASE("a list of tables is names and commas, nothing else") {
  for (const char* from :
       {"fact_run run; DELETE FROM fact_run", "sqlite_master m",
        "fact_run run JOIN fact_memory mem", "(SELECT 1) run", "fact_run run, fact_run run",
        "fact_run run,", "", ",", "fact_run a b c", "main.fact_run run", "fact_run run -- x",
        "pragma_table_info p",
        "fact_run a, fact_run b, fact_run c, fact_run d, fact_run e, fact_run f, fact_run g"}) {
    INFO(from);
    json o = plain_rule();
    o["from"] = from;
    CHECK(only_problem(o).find("/from: ") != std::string::npos);
  }
  json keyword = plain_rule();
  keyword["from"] = "fact_run select, fact_memory mem";
  CHECK(!problems_of(keyword.dump()).empty());
  keyword["from"] = "fact_run as, fact_memory mem";
  CHECK(!problems_of(keyword.dump()).empty());
}

TEST_CASE("files that are no rule are refused in bounded work") {
  const auto message = [](const std::string& text) {
    const auto problems = problems_of(text);
    REQUIRE(problems.size() == 1);
    return problems[0];
  };
  CHECK(message("").find("byte ") != std::string::npos);
  CHECK(message("[]").find("expected an object, found array") != std::string::npos);
  CHECK(message("{\"id\": \"\xff\xfe\"}").find("expected JSON in UTF-8") != std::string::npos);
  CHECK(message(repeated("[", 100)).find("levels of nesting") != std::string::npos);
  CHECK(message(repeated("{\"a\":", 60000)).find("expected at most 65536 bytes") !=
        std::string::npos);
  CHECK(message("{\"a\": 1, \"a\": 2}").find("found `a` twice") != std::string::npos);
  CHECK(message("{\"a\": 1e999}").find("out of range") != std::string::npos);
  CHECK(message(plain_rule().dump() + "{}").find("expected JSON") != std::string::npos);
}

TEST_CASE("a huge file, a pipe and a folder named like a rule are refused at once") {
  std::string name = (std::filesystem::temp_directory_path() / "wallsight_hostile_XXXXXX").string();
  const std::filesystem::path folder = mkdtemp(name.data());
  std::filesystem::create_directories(folder / "memory" / "folder.json");
  REQUIRE(mkfifo((folder / "memory" / "pipe.json").c_str(), 0600) == 0);
  std::ofstream(folder / "memory" / "huge.json") << "{";
  std::filesystem::resize_file(folder / "memory" / "huge.json", 100u << 20);
  std::ofstream(folder / "memory" / "..\n.json") << "{}";
  const std::string small = (folder / "memory" / "small.txt").string();
  std::ofstream(small) << "12345";
  CHECK(*read_small_file(small, 5) == "12345");
  CHECK(!read_small_file(small, 4));
  const auto begin = std::chrono::steady_clock::now();
  const auto read = read_rule_folder(folder.string());
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
  REQUIRE(read);
  CHECK(read->set.rules.empty());
  CHECK(read->problems.size() == 4);
  size_t too_large = 0;
  for (const Error& e : read->problems) {
    CHECK(e.message.find('\n') == std::string::npos);
    too_large += e.message.find("huge.json: expected at most 65536 bytes") != std::string::npos;
  }
  CHECK(too_large == 1);
  std::filesystem::remove_all(folder);
}

TEST_CASE("work is bounded: a join without end is stopped and named") {
  json o = plain_rule();
  o["from"] =
      "fact_kernel a, fact_kernel b, fact_kernel c, fact_kernel d, fact_kernel e, fact_kernel f";
  o["when"] = {"a.count + b.count + c.count + d.count + e.count + f.count < 0"};
  o["evidence"] = json::array();
  o.erase("gain");
  const Rule rule = test::good_rule(o);
  std::string rows;
  for (int i = 0; i < 60; ++i)
    rows += std::string(i > 0 ? "," : "") + R"({"name": "k", "class": "gemm"})";
  const FactDb facts = test::facts_of("{\"fact_kernel\": [" + rows + "]}");
  const auto begin = std::chrono::steady_clock::now();
  RuleSet set;
  set.rules.push_back(rule);
  const auto findings = advise(facts, set);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
  REQUIRE(!findings);
  CHECK(findings.error().message.find("memory/sample: expected an end within") == 0);
  // One rule's excess does not stop the next query of the session.
  const RuleSandbox sandbox(facts);
  CHECK(!evaluate(sandbox, rule));
  CHECK(evaluate(sandbox, test::good_rule(plain_rule())));
}

TEST_CASE("facts are as they were after hostile rules ran") {
  const FactDb facts = test::facts_of(R"({"fact_run": {"gpu": "GPU"}})");
  {
    const RuleSandbox sandbox(facts);
    for (const char* sql : {"DELETE FROM fact_run", "DROP TABLE fact_run"})
      CHECK(!sandbox.prepare(sql));
  }
  auto row = facts.db().prepare("SELECT gpu FROM fact_run");
  REQUIRE(row);
  REQUIRE(row->step());
  CHECK(row->text(0) == "GPU");
}
