#include "facts/fact_db.h"

#include <algorithm>

#include "support/catch.h"

using namespace ws;

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
