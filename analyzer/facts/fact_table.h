#pragma once
// One prepared INSERT; rows are bound, never concatenated.
//
//   FactTable table(db, "fact_step_leaf");
//   table.row(rank, device, step, leaf, ns);
//   if (auto ok = table.result(); !ok) return ok.error();
#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/sqlite.h"

namespace ws {

class FactTable {
 public:
  FactTable(const Database& db, std::string_view name) : db_(db), name_(name) {}

  // Values in the order of the table's columns; nullopt is NULL.
  template <class... Values>
  void row(const Values&... values) {
    if (failed_) return;
    if (!statement_) prepare(sizeof...(values));
    if (failed_) return;
    int at = 0;
    (bind(++at, values), ...);
    statement_->step();
    failed_ = statement_->failed();
    statement_->reset();
  }

  Result<void> result() const {
    if (!failed_) return {};
    return Error{fmt::format("{}: can not write facts ({})", name_, db_.last_error())};
  }

 private:
  void prepare(size_t columns);
  template <class T>
  void bind(int at, const T& value) {
    if constexpr (std::is_integral_v<T>)  // bool too
      statement_->bind(at, static_cast<int64_t>(value));
    else if constexpr (std::is_floating_point_v<T>)
      statement_->bind(at, static_cast<double>(value));
    else
      statement_->bind(at, std::string_view(value));
  }
  template <class T>
  void bind(int at, const std::optional<T>& value) {
    if (value)
      bind(at, *value);
    else
      statement_->bind_null(at);
  }

  const Database& db_;
  std::string name_;
  std::optional<Statement> statement_;
  bool failed_ = false;
};

}  // namespace ws
