#pragma once
// An export as tables: opened without locks or side files, columns by name, absent ones read NULL.
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/sqlite.h"

namespace ws::nsys {

class File {
 public:
  // Errors: cut off, locked in a write-ahead log or journal, damaged.
  static Result<File> open(const std::string& path);

  const std::string& path() const { return path_; }
  int64_t file_bytes() const { return file_bytes_; }
  bool has_table(std::string_view table) const { return tables_.count(table) != 0; }
  bool has_column(std::string_view table, std::string_view column) const;

  // "SELECT <columns> FROM <table>": in row order; nullopt when there is no such table.
  std::optional<std::string> query(std::string_view table,
                                   std::initializer_list<std::string_view> columns) const;
  // The same, prepared. An error is damage.
  Result<std::optional<Statement>> select(std::string_view table,
                                          std::initializer_list<std::string_view> columns) const;
  // About how many rows the table has, never more than the file can hold; 0 when unknown.
  size_t estimated_rows(std::string_view table) const;

  Error damaged(std::string_view table) const;

 private:
  std::string path_;
  int64_t file_bytes_ = 0;
  Database db_;
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> tables_;
};

// Calls row(statement) for every row of the table, if there is one.
template <class Row>
Result<void> for_each_row(const File& file, std::string_view table,
                          std::initializer_list<std::string_view> columns, Row row) {
  Result<std::optional<Statement>> rows = file.select(table, columns);
  if (!rows) return rows.error();
  if (!*rows) return {};
  Statement& s = **rows;
  while (s.step()) row(s);
  if (s.failed()) return file.damaged(table);
  return {};
}

}  // namespace ws::nsys
