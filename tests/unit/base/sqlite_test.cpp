#include "base/sqlite.h"

#include <stdexcept>

#include "support/catch.h"

namespace ws {

TEST_CASE("a message of SQLite is one printable line, whatever it quotes") {
  auto db = Database::open("", Database::Mode::memory);
  REQUIRE(db);
  const auto bad = db->prepare("SELECT \"a\n\x1b[31m b\" FROM");
  REQUIRE_FALSE(bad);
  CHECK(bad.error().message.find('\n') == std::string::npos);
  const auto missing = db->exec("SELECT * FROM \"no\nsuch\"");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message.find('\n') == std::string::npos);
  CHECK(missing.error().message.find("no such table") != std::string::npos);
}

TEST_CASE("values go in and come out by type") {
  auto db = Database::open("", Database::Mode::memory);
  REQUIRE(db);
  REQUIRE(db->exec("CREATE TABLE t (i INTEGER, r REAL, s TEXT)"));
  auto in = db->prepare("INSERT INTO t VALUES (?, ?, ?)");
  REQUIRE(in);
  in->bind(1, INT64_MIN).bind(2, 0.5).bind(3, std::string_view("a\0b", 3));
  CHECK_FALSE(in->step());
  CHECK_FALSE(in->failed());
  in->reset();
  in->bind_null(1);
  CHECK_FALSE(in->step());
  auto out = db->prepare("SELECT i, r, s FROM t ORDER BY rowid");
  REQUIRE(out);
  REQUIRE(out->step());
  CHECK(out->int64(0) == INT64_MIN);
  CHECK(out->is_integer(0));
  CHECK(out->real(1) == 0.5);
  CHECK(out->text(2) == std::string_view("a\0b", 3));
  CHECK(out->column_name(2) == "s");
  REQUIRE(out->step());
  CHECK(out->is_null(0));
  CHECK_FALSE(out->maybe_int64(0).has_value());
  CHECK_FALSE(out->step());
  CHECK_FALSE(out->failed());
}

TEST_CASE("a copy has everything, and its changes are its own") {
  auto db = Database::open("", Database::Mode::memory);
  REQUIRE(db);
  REQUIRE(db->exec("CREATE TABLE t (x INTEGER) STRICT; INSERT INTO t VALUES (7)"));
  auto copy = db->copy();
  REQUIRE(copy);
  REQUIRE(copy->exec("UPDATE t SET x = x + 1"));
  for (const auto& [of, x] : {std::pair(&*db, 7), std::pair(&*copy, 8)}) {
    auto row = of->prepare("SELECT x FROM t");
    REQUIRE((row && row->step()));
    CHECK(row->int64(0) == x);
  }
}

TEST_CASE("one statement per prepare, and opening what is not there fails") {
  auto db = Database::open("", Database::Mode::memory);
  REQUIRE(db);
  CHECK_FALSE(db->prepare("SELECT 1; SELECT 2"));
  CHECK(db->prepare("SELECT 1; "));
  CHECK_FALSE(Database::open("/nowhere/at/all.sqlite", Database::Mode::read_only));
}

TEST_CASE("each_row gives every row in order, and an exception of the taker comes out whole") {
  const Result<Database> db = Database::open("", Database::Mode::memory);
  REQUIRE(db);
  REQUIRE(
      db->exec("CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x'), (NULL, x'00ff'), "
               "(3, 2.9)"));
  std::string seen;
  const auto note = [&](const RowValues& row) {
    seen += row.is_null(0) ? "-" : std::to_string(row.int64(0));
    seen += ":" + std::to_string(row.text(1).size()) + " ";
  };
  REQUIRE(db->each_row("a, b", "t", note));
  CHECK(seen == "1:1 -:2 3:3 ");
  const auto refuse = [](const RowValues&) { throw std::runtime_error("no room"); };
  CHECK_THROWS_WITH(db->each_row("a", "t", refuse), "no room");
  CHECK_FALSE(db->each_row("nothing", "t", note));
  seen.clear();
  CHECK(db->each_row("a, NULL", "t", note));  // the refusals before leave no trace
  CHECK(seen == "1:0 -:0 3:0 ");
}

}  // namespace ws
