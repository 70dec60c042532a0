// Exports come from colleagues and the internet. Only ordinary tables are read: a view or a virtual
// table of the same name is as if it were not there, and no SQL text of the file is ever run. The
// immutable mode takes no lock and leaves nothing beside the file, but it also does not see a
// write-ahead log or a hot journal: a file with one of these is refused with the reason.
// Tested by: nsys_file_test.cpp
#include "import/nsys_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "base/text.h"
#include "import/nsys.h"

namespace ws::nsys {
namespace {

constexpr size_t kHeaderBytes = 100;

std::string first_bytes(const std::string& path, size_t n) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes(n, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(n));
  bytes.resize(static_cast<size_t>(std::max<std::streamsize>(0, in.gcount())));
  return bytes;
}

int64_t size_of(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<int64_t>(info.st_size) : -1;
}

uint32_t big_endian(const std::string& s, size_t at, size_t n) {
  uint32_t v = 0;
  for (size_t i = 0; i < n; ++i) v = v << 8 | static_cast<unsigned char>(s[at + i]);
  return v;
}

// Bytes the header promises, 0 when it does not say.
int64_t promised_bytes(const std::string& header) {
  const uint32_t stored = big_endian(header, 16, 2);
  const int64_t page = stored == 1 ? 65536 : stored;
  const bool counted = big_endian(header, 24, 4) == big_endian(header, 92, 4);
  return counted ? page * big_endian(header, 28, 4) : 0;
}

Result<void> check_surroundings(const std::string& path, int64_t file_bytes) {
  const std::string header = first_bytes(path, kHeaderBytes);
  if (header.size() < kHeaderBytes || file_bytes < promised_bytes(header)) {
    const int64_t promised = header.size() < kHeaderBytes ? 0 : promised_bytes(header);
    return Error{
        fmt::format("{}: expected an SQLite file{}, found {} bytes: it is cut off; copy it again, "
                    "or run nsys export again",
                    path, promised > 0 ? fmt::format(" of {} bytes", promised) : "", file_bytes)};
  }
  if (const int64_t wal = size_of(path + "-wal"); header[18] == 2 && wal > 0) {
    return Error{
        fmt::format("{}: expected a finished export, found a write-ahead log of {} bytes beside it "
                    "({}-wal) whose rows are not in the file yet; close the program that has it "
                    "open, or run nsys export again",
                    path, wal, path)};
  }
  if (first_bytes(path + "-journal", 4) == "\xd9\xd5\x05\xf9") {
    return Error{
        fmt::format("{}: expected a finished export, found a hot journal beside it ({}-journal): "
                    "the export did not finish; run nsys export again",
                    path, path)};
  }
  return {};
}

std::string quoted(std::string_view name) {
  std::string out = "\"";
  for (char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out += '"';
}

}  // namespace

Result<File> File::open(const std::string& path) {
  File file;
  file.path_ = path;
  file.file_bytes_ = size_of(path);
  if (const Result<void> ok = check_surroundings(path, file.file_bytes_); !ok) return ok.error();
  Result<Database> db = Database::open(path, Database::Mode::immutable);
  if (!db) return db.error();
  file.db_ = std::move(*db);
  Result<Statement> tables =
      file.db_.prepare("SELECT name, sql FROM sqlite_master WHERE type='table'");
  if (!tables) return file.damaged("sqlite_master");
  while (tables->step()) {
    if (lower_ascii(tables->text(1)).find("create virtual") == 0) continue;
    file.tables_[std::string(tables->text(0))];
  }
  if (tables->failed()) return file.damaged("sqlite_master");
  for (auto& [table, columns] : file.tables_) {
    Result<Statement> info = file.db_.prepare("PRAGMA table_info(" + quoted(table) + ")");
    if (!info) return file.damaged(table);
    while (info->step()) columns.emplace(info->text(1));
  }
  return file;
}

bool File::has_column(std::string_view table, std::string_view column) const {
  const auto it = tables_.find(table);
  return it != tables_.end() && it->second.count(column) != 0;
}

Result<void> File::for_each_row(std::string_view table,
                                std::initializer_list<std::string_view> columns,
                                const std::function<void(const RowValues&)>& row) const {
  if (!has_table(table)) return {};
  std::string names;
  for (std::string_view column : columns) {
    if (!names.empty()) names += ", ";
    names += has_column(table, column) ? quoted(column) : "NULL";
  }
  if (!db_.each_row(names, quoted(table), row)) return damaged(table);
  return {};
}

size_t File::estimated_rows(std::string_view table) const {
  constexpr int64_t kSmallestRowBytes = 16;
  if (!has_table(table)) return 0;
  Result<Statement> s = db_.prepare("SELECT max(rowid) FROM " + quoted(table));
  if (!s || !s->step()) return 0;
  return static_cast<size_t>(std::clamp<int64_t>(s->int64(0), 0, file_bytes_ / kSmallestRowBytes));
}

Error File::damaged(std::string_view table) const {
  return Error{fmt::format(
      "{}: table {}: expected a readable table, found damage ({}); copy the file again, or run "
      "nsys export again",
      path_, table, db_.last_error())};
}

}  // namespace ws::nsys
