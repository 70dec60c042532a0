#include "base/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <exception>

#include "base/text.h"

namespace ws {

void Statement::Finalize::operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }

bool Statement::step() {
  const int rc = sqlite3_step(stmt_.get());
  if (rc == SQLITE_ROW) return true;
  if (rc != SQLITE_DONE) failed_ = true;
  return false;
}

void Statement::reset() {
  sqlite3_reset(stmt_.get());
  sqlite3_clear_bindings(stmt_.get());
  failed_ = false;
}

int Statement::column_count() const { return sqlite3_column_count(stmt_.get()); }

std::string_view Statement::column_name(int i) const {
  const char* name = sqlite3_column_name(stmt_.get(), i);
  return name != nullptr ? std::string_view(name) : std::string_view();
}

bool Statement::is_null(int i) const { return sqlite3_column_type(stmt_.get(), i) == SQLITE_NULL; }

bool Statement::is_integer(int i) const {
  return sqlite3_column_type(stmt_.get(), i) == SQLITE_INTEGER;
}

bool Statement::is_real(int i) const { return sqlite3_column_type(stmt_.get(), i) == SQLITE_FLOAT; }

int64_t Statement::int64(int i) const { return sqlite3_column_int64(stmt_.get(), i); }

double Statement::real(int i) const { return sqlite3_column_double(stmt_.get(), i); }

std::string_view Statement::text(int i) const {
  const void* p = sqlite3_column_blob(stmt_.get(), i);
  const int n = sqlite3_column_bytes(stmt_.get(), i);
  if (p == nullptr || n <= 0) return {};
  return {static_cast<const char*>(p), static_cast<size_t>(n)};
}

std::optional<int64_t> Statement::maybe_int64(int i) const {
  if (is_null(i)) return std::nullopt;
  return int64(i);
}

Statement& Statement::bind(int i, int64_t v) {
  sqlite3_bind_int64(stmt_.get(), i, v);
  return *this;
}

Statement& Statement::bind(int i, double v) {
  sqlite3_bind_double(stmt_.get(), i, v);
  return *this;
}

Statement& Statement::bind(int i, std::string_view v) {
  const char* data = v.data() != nullptr ? v.data() : "";
  sqlite3_bind_text64(stmt_.get(), i, data, v.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind_null(int i) {
  sqlite3_bind_null(stmt_.get(), i);
  return *this;
}

bool RowValues::is_null(int i) const { return sqlite3_value_type(values_[i]) == SQLITE_NULL; }

int64_t RowValues::int64(int i) const { return sqlite3_value_int64(values_[i]); }

std::string_view RowValues::text(int i) const {
  const void* p = sqlite3_value_blob(values_[i]);
  const int n = sqlite3_value_bytes(values_[i]);
  if (p == nullptr || n <= 0) return {};
  return {static_cast<const char*>(p), static_cast<size_t>(n)};
}

void Database::Close::operator()(sqlite3* db) const { sqlite3_close_v2(db); }

namespace {

// A file: URI with every byte that has a meaning there escaped. The empty authority of absolute
// paths keeps "//folder" from being read as a host.
std::string file_uri(const std::string& path, std::string_view query) {
  std::string uri = path.substr(0, 1) == "/" ? "file://" : "file:";
  for (char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri.append(query);
}

}  // namespace

Result<Database> Database::open(const std::string& path, Mode mode) {
  std::string name = path;
  int flags = SQLITE_OPEN_READONLY;
  switch (mode) {
    case Mode::read_only:
      break;
    case Mode::immutable:
      name = file_uri(path, "?immutable=1&mode=ro");
      flags |= SQLITE_OPEN_URI;
      break;
    case Mode::create:
      flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      break;
    case Mode::memory:
      name = ":memory:";
      flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      break;
  }
  Database db;
  sqlite3* raw = nullptr;
  const int rc = sqlite3_open_v2(name.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  db.db_.reset(raw);
  if (rc != SQLITE_OK) {
    return Error{fmt::format("{}: can not open the database ({})", path, sqlite3_errstr(rc))};
  }
  // Untrusted files: no functions or tricks from the schema, no double-quoted strings.
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
  return db;
}

Result<Database> Database::copy() const {
  auto out = open("", Mode::memory);
  if (!out) return out.error();
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(db_.get(), "main", &size, 0);
  if (bytes == nullptr) return Error{fmt::format("can not copy the database ({})", last_error())};
  const int rc =
      sqlite3_deserialize(out->handle(), "main", bytes, size, size,
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
  if (rc != SQLITE_OK)
    return Error{fmt::format("can not copy the database ({})", sqlite3_errstr(rc))};
  return out;
}

Result<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* raw = nullptr;
  const char* tail = nullptr;
  const int rc =
      sqlite3_prepare_v2(db_.get(), sql.data(), static_cast<int>(sql.size()), &raw, &tail);
  Statement s;
  s.stmt_.reset(raw);
  if (rc != SQLITE_OK) {
    const int at = sqlite3_error_offset(db_.get());
    return Error{at >= 0 ? fmt::format("{} (at character {})", last_error(), at) : last_error()};
  }
  const auto rest = std::string_view(tail, static_cast<size_t>(sql.data() + sql.size() - tail));
  if (raw == nullptr || rest.find_first_not_of(" \t\r\n;") != std::string_view::npos) {
    return Error{"expected one SQL statement, found none or several"};
  }
  return s;
}

Result<void> Database::exec(std::string_view sql) const {
  char* message = nullptr;
  const int rc = sqlite3_exec(db_.get(), std::string(sql).c_str(), nullptr, nullptr, &message);
  if (rc == SQLITE_OK) return {};
  const std::string text = one_line(to_utf8(message != nullptr ? message : sqlite3_errstr(rc)));
  sqlite3_free(message);
  return Error{text};
}

namespace {

// Nothing may be thrown through SQLite's own frames: it waits here until the scan has ended.
struct RowTaker {
  const std::function<void(const RowValues&)>& row;
  std::exception_ptr thrown;
};

void take_row(sqlite3_context* context, int, sqlite3_value** values) {
  auto& taker = *static_cast<RowTaker*>(sqlite3_user_data(context));
  try {
    taker.row(RowValues(values));
  } catch (...) {
    taker.thrown = std::current_exception();
    sqlite3_result_error(context, "stopped", -1);
  }
}

void take_no_more(sqlite3_context*) {}

}  // namespace

Result<void> Database::each_row(std::string_view columns, std::string_view source,
                                const std::function<void(const RowValues&)>& row) const {
  RowTaker taker{row, nullptr};
  sqlite3_create_function_v2(db_.get(), "take_row", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, &taker,
                             nullptr, take_row, take_no_more, nullptr);
  Result<Statement> scan = prepare(fmt::format("SELECT take_row({}) FROM {}", columns, source));
  if (!scan) return scan.error();
  while (scan->step()) {
  }
  if (taker.thrown) std::rethrow_exception(taker.thrown);
  if (scan->failed()) return Error{last_error()};
  return {};
}

// SQLite quotes the SQL of the file, which may be anything: hence one_line, here and in exec.
std::string Database::last_error() const { return one_line(to_utf8(sqlite3_errmsg(db_.get()))); }

}  // namespace ws
