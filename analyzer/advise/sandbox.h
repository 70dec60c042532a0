#pragma once
// RuleSandbox: while it lives, the connection of a FactDb runs nothing but one-level SELECTs over
// fact tables with a few harmless functions, bounded in size and in instructions. Rules come from
// anybody's folder. Ending it restores the connection. One at a time per connection.
#include <memory>
#include <string>
#include <vector>

#include "advise/rule.h"
#include "facts/fact_db.h"

namespace ws {

class RuleSandbox {
 public:
  explicit RuleSandbox(const FactDb& facts);
  ~RuleSandbox();
  RuleSandbox(const RuleSandbox&) = delete;
  RuleSandbox& operator=(const RuleSandbox&) = delete;

  struct Query {
    Statement statement;
    std::vector<TableColumn> reads;  // each once, in order of first use
  };
  // The error says what is not allowed, or what SQLite did not understand and where.
  Result<Query> prepare(const std::string& sql) const;
  // After a failed step: what stopped it. Every query starts a fresh instruction count.
  std::string why_stopped() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

// "SELECT (a), (b) FROM fact_run run": the only form a rule's expressions ever run in.
std::string select_sql(const std::vector<std::string>& expressions,
                       const std::vector<TableRef>& from);

}  // namespace ws
