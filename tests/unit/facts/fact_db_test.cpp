#include "facts/fact_db.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "support/catch.h"

using namespace ws;

namespace {
std::string temporary_path(const std::string& ending) {
  return (std::filesystem::temp_directory_path() /
          ("wallsight_facts_" + std::to_string(getpid()) + ending))
      .string();
}
}  // namespace

TEST_CASE("every column of the fact schema has a type and is found by the parser") {
  const auto columns = facts_columns();
  auto db = FactDb::in_memory();
  REQUIRE(db);
  auto tables = db->db().prepare(
      "SELECT m.name, p.name, p.\"notnull\" FROM sqlite_master m, pragma_table_info(m.name) p");
  REQUIRE(tables);
  size_t count = 0;
  while (tables->step()) {
    const std::string table(tables->text(0)), column(tables->text(1));
    const auto it = std::find_if(columns.begin(), columns.end(), [&](const FactColumn& c) {
      return c.table == table && c.column == column;
    });
    INFO(table << "." << column);
    REQUIRE(it != columns.end());
    CHECK(it->not_null == (tables->int64(2) != 0));
    ++count;
  }
  CHECK(count == columns.size());
}

TEST_CASE("declared value sets are read from the comments") {
  const auto columns = facts_columns();
  const auto allowed = [&](std::string_view table, std::string_view column) {
    for (const FactColumn& c : columns) {
      if (c.table == table && c.column == column) return c.allowed.size();
    }
    return size_t{0};
  };
  CHECK(allowed("fact_run", "cause") == 30);
  CHECK(allowed("fact_run", "wall") == 3);
  CHECK(allowed("fact_kernel", "class") == 8);
  CHECK(allowed("fact_kernel", "name") == 0);
  CHECK(allowed("fact_leaf", "leaf") == 41);
}

TEST_CASE("a database that lost a table or a column is refused, with its name") {
  const std::string path = temporary_path(".wsdb");
  const struct {
    const char *sql, *expected;
  } rows[] = {{"DROP TABLE fact_leaf", "none of its tables named fact_leaf"},
              {"DROP TABLE fact_comm; CREATE VIEW fact_comm AS SELECT 1 AS kind",
               "none of its tables named fact_comm"},
              {"ALTER TABLE fact_host DROP COLUMN syncs_per_step",
               "fact_host without its column syncs_per_step"},
              {"DROP TABLE fact_run", "found something else"}};
  for (const auto& row : rows) {
    {
      const auto made = FactDb::create(path);
      REQUIRE(made);
      REQUIRE(made->db().exec(row.sql));
    }
    const auto opened = FactDb::open(path);
    INFO(row.sql);
    REQUIRE_FALSE(opened);
    INFO(opened.error().message);
    CHECK(opened.error().message.find(row.expected) != std::string::npos);
  }
  std::filesystem::remove(path);
}

TEST_CASE("only a fact database, nothing or an empty file may be replaced by one") {
  const std::string path = temporary_path(".wsdb");
  CHECK(FactDb::may_replace(path));
  REQUIRE(FactDb::create(path));
  CHECK(FactDb::may_replace(path));
  { std::ofstream(path, std::ios::trunc) << ""; }
  CHECK(FactDb::may_replace(path));
  { std::ofstream(path, std::ios::trunc) << "notes of mine"; }
  CHECK_FALSE(FactDb::may_replace(path));
  std::filesystem::remove(path);
  {
    const auto other = Database::open(path, Database::Mode::create);
    REQUIRE(other);
    REQUIRE(other->exec("CREATE TABLE books (a)"));
  }
  CHECK_FALSE(FactDb::may_replace(path));
  std::filesystem::remove(path);
}
