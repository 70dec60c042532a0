// Tested by: fact_db_test.cpp
#include "facts/fact_db.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <set>
#include <sstream>

#include "base/file_error.h"

#include "facts/facts_schema.inc"  // generated from schemas/facts.sql

namespace ws {
namespace {

constexpr int kVersion = 19;

// Every table and column of the schema, as tables: a file that lost one is no fact database, and
// what is read from it would blame the reader.
Result<void> check_tables(const Database& db, const std::string& path) {
  std::string table;
  std::set<std::string> columns;
  for (const FactColumn& c : facts_columns()) {
    if (c.table != table) {
      table = c.table;
      columns.clear();
      auto query = db.prepare(
          "SELECT i.name FROM sqlite_master m JOIN pragma_table_info(m.name) i "
          "WHERE m.type = 'table' AND m.name = ?1");
      if (!query)
        return Error{fmt::format("{}: can not read its tables; analyze the recording again", path)};
      query->bind(1, std::string_view(table));
      while (query->step()) columns.emplace(query->text(0));
      if (columns.empty()) {
        return Error{
            fmt::format("{}: expected a fact database, found none of its tables named {}; analyze "
                        "the recording again",
                        path, table)};
      }
    }
    if (columns.count(c.column) == 0) {
      return Error{
          fmt::format("{}: expected a fact database, found {} without its column {}; analyze the "
                      "recording again",
                      path, table, c.column)};
    }
  }
  return {};
}

Result<void> check_version(const Database& db, const std::string& path) {
  auto has =
      db.prepare("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'fact_run'");
  if (!has || !has->step() || has->int64(0) == 0) {
    return Error{
        fmt::format("{}: expected a fact database (run.wsdb), found something else; "
                    "make one with `wallsight analyze INPUT -o run.wsdb`",
                    path)};
  }
  auto version = db.prepare("PRAGMA user_version");
  if (!version || !version->step())
    return Error{
        fmt::format("{}: can not read its schema version; analyze the recording again", path)};
  if (const int64_t found = version->int64(0); found != kVersion) {
    return Error{
        fmt::format("{}: facts of schema version {}, this program reads version {}; "
                    "analyze the recording again",
                    path, found, kVersion)};
  }
  return {};
}

std::string strip(std::string_view s) {
  const size_t a = s.find_first_not_of(" \t");
  const size_t b = s.find_last_not_of(" \t,");
  return a == std::string_view::npos ? std::string() : std::string(s.substr(a, b - a + 1));
}

std::vector<std::string> words_after(std::string_view comment, std::string_view marker) {
  std::vector<std::string> out;
  const size_t at = comment.find(marker);
  if (at == std::string_view::npos) return out;
  const std::string_view rest = comment.substr(at + marker.size());
  std::istringstream in{std::string(rest.substr(0, rest.find_first_of(";,()")))};
  for (std::string w; in >> w;) out.push_back(w);
  return out;
}

}  // namespace

std::string_view facts_schema() { return kFactsSchema; }
int facts_version() { return kVersion; }

Result<FactDb> FactDb::in_memory() {
  auto db = Database::open("", Database::Mode::memory);
  if (!db) return db.error();
  if (auto ok = db->exec(kFactsSchema); !ok) return ok.error();
  return FactDb(std::move(*db));
}

Result<FactDb> FactDb::create(const std::string& path) {
  std::remove(path.c_str());
  auto db = Database::open(path, Database::Mode::create);
  if (!db) return db.error();
  if (auto ok = db->exec(kFactsSchema); !ok) {
    std::remove(path.c_str());
    return Error{fmt::format("{}: can not write facts ({}); check the folder and free space", path,
                             ok.error().message)};
  }
  return FactDb(std::move(*db));
}

Result<FactDb> FactDb::open(const std::string& path) {
  struct stat st {};
  if (stat(path.c_str(), &st) != 0 || access(path.c_str(), R_OK) != 0)
    return can_not_read(path, errno);
  if (!S_ISREG(st.st_mode)) return not_a_file(path, S_ISDIR(st.st_mode), "a fact database");
  auto db = Database::open(path, Database::Mode::immutable);
  if (!db) return db.error();
  if (auto ok = check_version(*db, path); !ok) return ok.error();
  if (auto ok = check_tables(*db, path); !ok) return ok.error();
  return FactDb(std::move(*db));
}

bool FactDb::may_replace(const std::string& path) {
  struct stat st {};
  if (stat(path.c_str(), &st) != 0 || (S_ISREG(st.st_mode) && st.st_size == 0)) return true;
  auto db = Database::open(path, Database::Mode::immutable);
  if (!db) return false;
  auto has =
      db->prepare("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'fact_run'");
  return has && has->step() && has->int64(0) > 0;
}

// Names come from the schema, values from the table: nothing of a file gets into the SQL.
Result<FactDb> FactDb::without_file() const {
  auto db = db_.copy();
  if (!db) return db.error();
  std::string change =
      "DELETE FROM fact_setting; DELETE FROM fact_throughput;"
      "INSERT INTO fact_throughput DEFAULT VALUES;";
  for (const FactColumn& c : facts_columns()) {
    if (c.table != "fact_config" && c.table != "fact_layout") continue;
    const std::string value =
        fmt::format("(SELECT value FROM fact_without_file WHERE table_name = '{}' AND name = '{}')",
                    c.table, c.column);
    change += fmt::format("UPDATE {} SET {} = {};", c.table, c.column,
                          c.not_null ? "coalesce(" + value + ", 0)" : value);
  }
  if (auto ok = db->exec(change); !ok) return ok.error();
  return FactDb(std::move(*db));
}

Result<void> FactDb::save(const std::string& path) const {
  const std::string part = fmt::format("{}.{}.tmp", path, getpid());
  std::remove(part.c_str());
  // Made here, so that a folder that can not be written is told as what it is.
  const int made = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (made < 0) return can_not_write(path, errno);
  ::close(made);
  const auto drop = [&] {
    std::remove(part.c_str());
    std::remove((part + "-journal").c_str());
  };
  auto statement = db_.prepare("VACUUM INTO ?1");
  if (!statement) {
    drop();
    return Error{fmt::format("{}: can not write facts ({}); check the folder and free space", path,
                             statement.error().message)};
  }
  statement->bind(1, std::string_view(part));
  statement->step();
  if (statement->failed()) {
    std::string why = db_.last_error();
    if (const size_t at = why.find(part); at != std::string::npos)
      why.replace(at, part.size(), path);
    drop();
    return Error{fmt::format(
        "{}: can not write facts ({}); check free space and the limit of file sizes (ulimit -f)",
        path, why)};
  }
  if (std::rename(part.c_str(), path.c_str()) != 0) {
    const Error error = can_not_write(path, errno);
    drop();
    return error;
  }
  return {};
}

// The schema file keeps one column, or one group of columns with a common comment, per line.
std::vector<FactColumn> facts_columns() {
  std::vector<FactColumn> out;
  std::istringstream in{std::string(kFactsSchema)};
  std::string table;
  for (std::string line; std::getline(in, line);) {
    const size_t dashes = line.find("--");
    const std::string comment = dashes == std::string::npos ? "" : strip(line.substr(dashes + 2));
    std::string code = line.substr(0, dashes);
    if (const size_t at = code.find("CREATE TABLE "); at != std::string::npos) {
      const size_t open = code.find('(');
      table = strip(code.substr(at + 13, open - at - 13));
      code = code.substr(open + 1);
    }
    if (table.empty()) continue;
    const bool ends = code.find(") STRICT") != std::string::npos;
    code = code.substr(0, code.find(')'));
    std::istringstream columns(code);
    std::vector<FactColumn> fresh;
    for (std::string part; std::getline(columns, part, ',');) {
      std::istringstream words(part);
      FactColumn c;
      if (!(words >> c.column >> c.type)) continue;
      c.table = table;
      c.comment = comment;
      c.not_null = part.find("NOT NULL") != std::string::npos;
      fresh.push_back(c);
    }
    // "class; one of: ..." names the column; without a name the list belongs to the first text
    // column.
    const auto allowed = words_after(comment, "one of:");
    for (FactColumn& c : fresh) {
      if (allowed.empty() || c.type != "TEXT") continue;
      const bool named = comment.rfind(c.column + ";", 0) == 0;
      const bool other_named =
          comment.find("; one of:") != std::string::npos && !named && fresh.size() > 1;
      if (!other_named) c.allowed = allowed;
    }
    out.insert(out.end(), fresh.begin(), fresh.end());
    if (ends) table.clear();
  }
  return out;
}

}  // namespace ws
