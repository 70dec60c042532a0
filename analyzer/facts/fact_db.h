#pragma once
// FactDb: the fact database of one run (schemas/facts.sql), on disk or in memory. The only thing
// that advise/ and report/ see of a run.
#include <string>
#include <vector>

#include "base/result.h"
#include "base/sqlite.h"

namespace ws {

// Text of schemas/facts.sql as compiled in.
std::string_view facts_schema();
// Its PRAGMA user_version.
int facts_version();

class FactDb {
 public:
  static Result<FactDb> in_memory();
  // Creates or replaces the file; on failure nothing new is left behind.
  static Result<FactDb> create(const std::string& path);
  // Read-only. Refuses what is not a fact database and versions this program can not read.
  static Result<FactDb> open(const std::string& path);
  // Nothing there, an empty file, or a fact database of any version: nothing else is lost by
  // writing one to path.
  static bool may_replace(const std::string& path);
  const Database& db() const { return db_; }
  // A copy in memory that knows no setting of the run configuration: the recording alone, and which
  // software it is.
  Result<FactDb> without_file() const;
  // Writes a consistent copy to path (replacing it as a whole at the end).
  Result<void> save(const std::string& path) const;

 private:
  explicit FactDb(Database db) : db_(std::move(db)) {}
  Database db_;
};

// A column and what its comment says of it, read from the schema text.
struct FactColumn {
  std::string table, column, type, comment;
  bool not_null = false;
  std::vector<std::string> allowed;  // of "one of: a b c", else empty
};
std::vector<FactColumn> facts_columns();

// The key that a column of fact_config stands for, as a file of the framework spells it and, where
// that differs, in our own form: "--cpu-offloading-num-layers (cpu_offloading_layers)". "": none.
// `spelled`: fact_config.spelled, by which the releases of torchtitan are told apart.
std::string key_in_file(const std::string& column, const std::string& framework,
                        const std::string& spelled);

// Names of torchtitan in a text, as the file of fact_config.spelled has them or would have them.
std::string in_words_of_torchtitan(const std::string& text, const std::string& spelled);
bool is_of_torchtitan(const std::string& spelled);

}  // namespace ws
