// What is in no table of names is said by its column. A rule may have any alias for a table with
// one row; of the others the clause that picks the row says what it is about. Tested by:
// fact_words_test.cpp
#include "report/fact_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "facts/fact_db.h"
#include "report/fact_names.h"
#include "report/numbers.h"
#include "report/phrases.h"

namespace ws {
namespace {

using Unit = FactUnit;

bool ends_with(std::string_view s, std::string_view end) {
  return s.size() >= end.size() && s.substr(s.size() - end.size()) == end;
}

// A plain column, "c.exposed_share": the name without alias. Empty for anything more.
std::string_view column_of(std::string_view expression) {
  if (expression.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") !=
      std::string_view::npos)
    return {};
  const size_t dot = expression.rfind('.');
  return dot == std::string_view::npos ? expression : expression.substr(dot + 1);
}

const FactName* words_of(std::string_view expression) {
  return name_of_fact(expression, column_of(expression));
}

// Columns whose comment says that they are 0 or 1.
bool is_flag(std::string_view column) {
  static const std::vector<FactColumn> kColumns = facts_columns();
  return std::any_of(kColumns.begin(), kColumns.end(), [&](const FactColumn& c) {
    return c.column == column &&
           (c.comment.rfind("0 or 1", 0) == 0 || c.comment.rfind("1:", 0) == 0);
  });
}

Unit unit_of(std::string_view column, const FactName* words) {
  if (words != nullptr && words->unit != Unit::plain) return words->unit;
  if (ends_with(column, "_share")) return Unit::share;
  if (ends_with(column, "_ns")) return Unit::time;
  if (ends_with(column, "_bytes")) return Unit::bytes;
  return is_flag(column) ? Unit::flag : Unit::plain;
}

std::string spaced(std::string_view s) {
  std::string out(s);
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

// A column of which no table has words: its unit is printed behind the value.
std::string plain_words(std::string_view column) {
  for (const std::string_view unit : {"_ns", "_bytes", "_share"})
    if (ends_with(column, unit)) column.remove_suffix(unit.size());
  return spaced(column);
}

bool in_name(char c) {
  return c == '_' || c == '.' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// "round(run.idle_share, 3)", "coalesce(mem.headroom_share, 0)": the column, whose words and unit
// hold for the whole; empty for anything else.
std::string_view rounded_column(std::string_view expression) {
  for (const std::string_view call : {"round(", "coalesce("}) {
    if (expression.substr(0, call.size()) != call || !ends_with(expression, ")")) continue;
    std::string_view inside = expression.substr(call.size());
    inside.remove_suffix(1);
    const std::string_view first = inside.substr(0, inside.find(','));
    const std::string_view rest = inside.substr(first.size());
    if (first.find('.') != std::string_view::npos && !column_of(first).empty() &&
        rest.find_first_not_of(", 0123456789.") == std::string_view::npos)
      return first;
  }
  return {};
}

std::string upper(std::string s) {
  for (char& c : s)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return s;
}

// What the row of that alias is about, and by which of its columns: `idle.cause = 'launch'` is
// "idle for launch calls", `c.kind = 'dp'` DP.
struct Subject {
  std::string_view key;
  std::string value, words;
};

std::string idle_words(const std::string& cause) {
  if (cause == "kernel_gap") return "idle between kernels";
  if (cause == "dependency") return "idle with work launched";
  if (cause == "unknown") return "idle without a cause";
  if (cause == "alloc") return "idle for the allocator";
  if (cause == "jit") return "idle for code loading and compilation";
  return fmt::format("idle for {}", phrase_of_idle(cause));
}

std::string subject_words(std::string_view key, const std::string& value) {
  if (key == "cause") return idle_words(value);
  if (key == "kind" && value.size() == 2) return upper(value);
  if (value == "membound") return "memory-bound";
  return spaced(value);
}

Subject subject_of(std::string_view expression, const Finding& f) {
  const std::string_view alias = expression.substr(0, expression.find('.'));
  for (const ClauseValue& c : f.clauses) {
    for (const std::string_view key : {"kind", "cause", "class", "leaf", "loss"}) {
      const std::string head = fmt::format("{}.{} = '", alias, key);
      if (c.clause.rfind(head, 0) != 0) continue;
      const std::string value =
          c.clause.substr(head.size(), c.clause.find('\'', head.size()) - head.size());
      return {key, value, subject_words(key, value)};
    }
  }
  for (const std::string_view kind : {"tp", "ep", "dp", "pp", "cp"})
    if (alias == kind) return {"kind", std::string(kind), upper(std::string(kind))};
  return {};
}

// What is counted differs by table: idle stretches of the whole recording, collectives of all
// operations of a kind, kernels, and with memory-bound ones copies and fills on the device.
std::string column_template(std::string_view column, const Subject& about, std::string usual) {
  constexpr std::string_view kOfKind = "{} communication";
  const size_t kind =
      about.key == "kind" && about.value == "other" ? usual.find(kOfKind) : std::string::npos;
  if (kind != std::string::npos)
    return usual.replace(kind, kOfKind.size(), "communication of unknown groups");
  if (about.key == "cause" && column == "share") return "{}";
  if (about.key == "cause" && column == "count") return "stretches {}, in all";
  if (about.key == "kind" && column == "count")
    return about.value == "other" ? "collectives of unknown groups per step"
                                  : "{} collectives of every kind per step";
  const bool membound = about.key == "class" && about.value == "membound";
  if (membound && column == "count")
    return "memory-bound kernels, device copies and fills per step";
  if (membound && column == "mean_ns") return "mean of these";
  if (about.key == "class" && column == "count") return "{} kernels per step";
  return usual;
}

std::string shown(const EvidenceValue& e, Unit unit) {
  if (!e.number) {
    const size_t first = e.value.find_first_not_of(' ');  // ' moe_act layernorm '
    return first == std::string::npos
               ? ""
               : e.value.substr(first, e.value.find_last_not_of(' ') - first + 1);
  }
  const auto whole = static_cast<int64_t>(*e.number);
  switch (unit) {
    case Unit::share:
      return percent_text(*e.number);
    case Unit::flag:
      return whole != 0 ? "yes" : "no";
    case Unit::time:
      return duration_text(whole);
    case Unit::bytes:
      return bytes_text(whole);
    case Unit::plain:
      break;
  }
  return count_text(*e.number);
}

// What a plain column is about, without its value.
std::string label_of(const std::string& expression, const Finding& f) {
  const std::string_view column = column_of(expression);
  const FactName* words = words_of(expression);
  std::string out = words != nullptr ? std::string(words->words) : plain_words(column);
  if (out.find("{}") == std::string::npos) return out;
  const Subject about = subject_of(expression, f);
  out = column_template(column, about, out);
  if (const size_t mark = out.find("{}"); mark != std::string::npos)
    out.replace(mark, 2, about.words);
  if (const size_t gap = out.find("  "); gap != std::string::npos) out.erase(gap, 1);
  if (!out.empty() && out[0] == ' ') out.erase(0, 1);
  return out;
}

// "100 * idle.share" as "100 * (idle for data loading)".
std::string with_words(const std::string& expression, const Finding& f) {
  std::string out;
  for (size_t at = 0; at < expression.size();) {
    size_t end = at;
    while (end < expression.size() && in_name(expression[end])) ++end;
    const std::string name = expression.substr(at, end - at);
    const bool column =
        name.find('.') != std::string::npos && !name.empty() && (name[0] < '0' || name[0] > '9');
    const std::string label = column ? label_of(name, f) : "";
    if (end == at) out += expression[end++];
    out += label.empty() ? name : "(" + label + ")";
    at = end;
  }
  return out;
}

}  // namespace

std::optional<bool> visible_share(const EvidenceValue& e) {
  const std::string_view column = column_of(e.expression);
  if (!e.number || unit_of(column, words_of(e.expression)) != Unit::share) return std::nullopt;
  return *e.number >= 0.0005;
}

bool has_words(std::string_view expression) { return words_of(expression) != nullptr; }

std::string column_words(std::string_view column) {
  const FactName* words = words_of(column);
  if (words == nullptr || words->words.empty() || words->words.find("{}") != std::string::npos)
    return spaced(column);
  return std::string(words->words);
}

std::string config_words(const std::string& column, const std::string& value) {
  if (column == "framework") return fmt::format("framework {}", phrase_of_framework(value));
  const bool number = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  const auto numeric = number ? std::optional(std::strtod(value.c_str(), nullptr)) : std::nullopt;
  return fact_words({"cfg." + column, value, numeric}, {});
}

std::string fact_words(const EvidenceValue& e, const Finding& f) {
  const std::string_view column = column_of(e.expression);
  const FactName* words = words_of(e.expression);
  if (words != nullptr && words->words.empty()) return "";
  if (column.empty() && words == nullptr) {
    if (const std::string_view inner = rounded_column(e.expression); !inner.empty())
      return fact_words({std::string(inner), e.value, e.number}, f);
    return fmt::format("{} = {}", with_words(e.expression, f), e.value);
  }
  const std::string value = shown(e, unit_of(column, words));
  if (value.empty() || e.is_unknown()) return "";
  if (column == "main_op") return "mostly " + spaced(value);
  if (column == "step_origin")
    return value == "whole" ? "no steps found"
                            : fmt::format("steps found by {}", phrase_of_origin(value));
  if (column == "where_ranks")
    return (value.find(',') == std::string::npos ? "on rank " : "on ranks ") + value;
  return label_of(e.expression, f) + ' ' + value;
}

}  // namespace ws
