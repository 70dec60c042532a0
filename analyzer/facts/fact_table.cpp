#include "facts/fact_table.h"

namespace ws {

void FactTable::prepare(size_t columns) {
  std::string sql = "INSERT INTO " + name_ + " VALUES (";
  for (size_t i = 0; i < columns; ++i) sql += i == 0 ? "?" : ", ?";
  auto statement = db_.prepare(sql + ")");
  if (!statement) {
    failed_ = true;
    return;
  }
  statement_.emplace(std::move(*statement));
}

}  // namespace ws
