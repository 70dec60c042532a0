#pragma once
// An export as tables: opened without locks or side files, columns by name, absent ones read NULL.
#include <functional>
#include <initializer_list>
#include <map>
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

  // Calls row() for every row of the table in row order, if there is one. An error is damage.
  Result<void> for_each_row(std::string_view table, std::initializer_list<std::string_view> columns,
                            const std::function<void(const RowValues&)>& row) const;
  // About how many rows the table has, never more than the file can hold; 0 when unknown.
  size_t estimated_rows(std::string_view table) const;

 private:
  Error damaged(std::string_view table) const;

  std::string path_;
  int64_t file_bytes_ = 0;
  Database db_;
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> tables_;
};

}  // namespace ws::nsys
