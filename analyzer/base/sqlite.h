#pragma once
// Thin RAII over sqlite3. Only this file and its users in import/nsys*, facts/ and advise/ touch
// SQLite.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;
struct sqlite3_value;

namespace ws {

class Statement {
 public:
  bool step();  // true while a row is there; false at the end or on error (see failed())
  bool failed() const { return failed_; }
  void reset();
  int column_count() const;
  std::string_view column_name(int i) const;
  bool is_null(int i) const;
  bool is_integer(int i) const;
  bool is_real(int i) const;
  int64_t int64(int i) const;
  double real(int i) const;
  std::string_view text(int i) const;  // raw bytes, valid until the next step
  std::optional<int64_t> maybe_int64(int i) const;
  Statement& bind(int i, int64_t v);  // i counts from 1, as in SQLite
  Statement& bind(int i, double v);
  Statement& bind(int i, std::string_view v);
  Statement& bind_null(int i);

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* s) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> stmt_;
  bool failed_ = false;
};

// The values of one row, valid during the call that is given it.
class RowValues {
 public:
  explicit RowValues(sqlite3_value** values) : values_(values) {}
  bool is_null(int i) const;
  int64_t int64(int i) const;
  std::string_view text(int i) const;  // raw bytes

 private:
  sqlite3_value** values_;
};

class Database {
 public:
  enum class Mode { read_only, immutable, create, memory };
  // immutable: reads without locks or side files (for untrusted input in read-only folders).
  static Result<Database> open(const std::string& path, Mode mode);
  Result<Statement> prepare(
      std::string_view sql) const;  // one statement; error text has the position
  Result<void> exec(std::string_view sql) const;
  // Calls row() for "SELECT <columns> FROM <source>", in row order. The rows pass through an
  // aggregate function: half the cost of stepping a statement and asking for each column. row()
  // must not scan the same database.
  Result<void> each_row(std::string_view columns, std::string_view source,
                        const std::function<void(const RowValues&)>& row) const;
  // The whole database once more, in memory.
  Result<Database> copy() const;
  std::string last_error() const;
  sqlite3* handle() const { return db_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  std::unique_ptr<sqlite3, Close> db_;
};

}  // namespace ws
