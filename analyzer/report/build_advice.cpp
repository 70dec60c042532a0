// Findings in words: what to set where, what it rests on, what it may gain, what is missing.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/build_parts.h"
#include "report/numbers.h"
#include "report/phrases.h"

namespace ws {
namespace {

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

bool is_share(const EvidenceValue& e) {
  const std::string_view column = column_of(e.expression);
  return e.number && (ends_with(column, "_share") || column == "share");
}

// Columns whose comment says that they are 0 or 1.
bool is_flag(std::string_view column) {
  static const std::vector<FactColumn> kColumns = facts_columns();
  return std::any_of(kColumns.begin(), kColumns.end(), [&](const FactColumn& c) {
    return c.column == column &&
           (c.comment.rfind("0 or 1", 0) == 0 || c.comment.rfind("1:", 0) == 0);
  });
}

std::string spaced(std::string_view s) {
  std::string out(s);
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

// What a table alias of the rule stands for: "idle" with the clause `idle.cause = 'launch'` is
// "idle launch", "att" with `att.class = 'attention'` is "attention". Tables with one row: nothing.
std::string subject_of(std::string_view alias, const Finding& f) {
  for (const std::string_view one_row : {"run", "cfg", "config", "mem", "memory", "host"}) {
    if (alias == one_row) return "";
  }
  for (const ClauseValue& c : f.clauses) {
    for (const std::string_view key : {"kind", "cause", "class", "leaf", "loss"}) {
      const std::string head = fmt::format("{}.{} = '", alias, key);
      if (c.clause.rfind(head, 0) != 0) continue;
      const std::string value =
          spaced(c.clause.substr(head.size(), c.clause.find('\'', head.size()) - head.size()));
      return value.find(alias) == 0 ? value : fmt::format("{} {}", alias, value);
    }
  }
  return spaced(alias);
}

// "c.exposed_share" 0.451 -> "exposed share 45.1 %", with the subject in front.
std::string evidence_words(const EvidenceValue& e, const Finding& f) {
  const std::string_view column = column_of(e.expression);
  if (column.empty()) return fmt::format("{} = {}", e.expression, e.value);
  const size_t dot = e.expression.find('.');
  std::string subject = dot == std::string::npos ? "" : subject_of(e.expression.substr(0, dot), f);
  if (!subject.empty()) subject += ' ';
  if (!e.number) return subject + fmt::format("{} {}", spaced(column), e.value);
  if (is_share(e)) return subject + fmt::format("{} {}", spaced(column), percent_text(*e.number));
  const auto whole = static_cast<int64_t>(*e.number);
  if (is_flag(column))
    return subject + fmt::format("{} {}", spaced(column), whole != 0 ? "yes" : "no");
  if (ends_with(column, "_ns")) {
    return subject +
           fmt::format("{} {}", spaced(column.substr(0, column.size() - 3)), duration_text(whole));
  }
  if (ends_with(column, "_bytes")) {
    return subject +
           fmt::format("{} {}", spaced(column.substr(0, column.size() - 6)), bytes_text(whole));
  }
  return subject + fmt::format("{} {}", spaced(column), count_text(*e.number));
}

// Values that are not known say nothing here; shares of zero only when there is no other share.
std::string because_words(const Finding& f) {
  const bool any_share =
      std::any_of(f.evidence.begin(), f.evidence.end(),
                  [](const EvidenceValue& e) { return is_share(e) && *e.number >= 0.0005; });
  std::string out;
  for (const EvidenceValue& e : f.evidence) {
    if (e.value == "unknown" && !e.number) continue;
    if (any_share && is_share(e) && *e.number < 0.0005) continue;
    if (!out.empty()) out += ", ";
    out += evidence_words(e, f);
  }
  return out;
}

std::string gain_words(const Finding& f) {
  if (!f.gain_hi_share || *f.gain_hi_share < 0.0005) return "";
  const double hi = *f.gain_hi_share;
  const double lo = f.gain_lo_share.value_or(0);
  if (f.gain_basis == "what_if")
    return (lo < 0.0005 ? "at most " + percent_text(hi) : percent_range(lo, hi)) + ", re-simulated";
  if (f.gain_basis == "published") return percent_range(lo, hi) + ", published elsewhere";
  if (f.gain_basis == "estimate" && lo >= 0.0005) return percent_range(lo, hi) + ", estimated";
  return "at most " + percent_text(hi);
}

// A setting as one would write it: "--flag value", "cfg.key = value", "NAME=value"; what is rather
// a sentence gets a colon.
std::string setting_words(const Action& a) {
  if (a.to.empty()) return a.set;
  const bool one_word = a.to.find(' ') == std::string::npos;
  const bool one_name = a.set.find(' ') == std::string::npos;
  if (a.set.rfind("--", 0) == 0 && (one_word || a.to.find(" --") != std::string::npos)) {
    return a.set + ' ' + a.to;
  }
  if (a.framework == "env" && one_word && one_name) return a.set + '=' + a.to;
  if (a.set.rfind("cfg.", 0) == 0 && one_name) return a.set + " = " + a.to;
  return a.set + ": " + a.to;
}

// Where the configuration tells the framework, the settings of others are of no use; a finding
// that has nothing for it keeps them all.
std::vector<Action> actions_for(const std::vector<Action>& actions, const std::string& framework) {
  std::vector<Action> own;
  for (const Action& a : actions) {
    if (a.framework == framework || a.framework == "any" || a.framework == "env") own.push_back(a);
  }
  return framework.empty() || own.empty() ? actions : own;
}

std::vector<ReportFinding::Line> action_lines(const std::vector<Action>& actions) {
  std::vector<ReportFinding::Line> out;
  for (const Action& a : actions) {
    const std::string name(phrase_of_framework(a.framework));
    const std::string text = setting_words(a);
    if (!out.empty() && out.back().framework == name && out.back().note.empty()) {
      out.back().text += (a.set.rfind("--", 0) == 0 ? " " : "; ") + text;
      out.back().note = a.note;
    } else {
      out.push_back({name, text, a.note});
    }
  }
  return out;
}

std::vector<std::string> missing_facts(const Finding& f) {
  std::vector<std::string> out;
  for (const ClauseValue& c : f.clauses) {
    for (const std::string& fact : c.missing_facts) {
      if (std::find(out.begin(), out.end(), fact) == out.end()) out.push_back(fact);
    }
  }
  return out;
}

ReportFinding worded(const Finding& f, const std::string& framework) {
  ReportFinding out{f,
                    {},
                    because_words(f),
                    gain_words(f),
                    {},
                    {},
                    action_lines(actions_for(f.actions, framework))};
  if (f.status == FindingStatus::unknown) out.missing_facts = missing_facts(f);
  return out;
}

// A rule that clearly does not apply, with the share that says so: its first failing clause speaks
// of a share that is next to nothing. Other rules say nothing here; explain lists all.
std::optional<std::string> not_offered_words(const Finding& f) {
  constexpr double kNextToNothing = 0.02;
  if (f.phase == "data") return std::nullopt;
  const auto failing = std::find_if(f.clauses.begin(), f.clauses.end(), [](const ClauseValue& c) {
    return c.holds.has_value() && !*c.holds;
  });
  if (failing == f.clauses.end()) return std::nullopt;
  for (const EvidenceValue& e : f.evidence) {
    if (!is_share(e) || *e.number > kNextToNothing) continue;
    if (failing->clause.find(e.expression) == std::string::npos) continue;
    const std::string lever = spaced(f.rule.substr(f.rule.find('/') + 1));
    return fmt::format("{} ({})", lever, evidence_words(e, f));
  }
  return std::nullopt;
}

// What stands in the brackets, to name each reason once.
std::string reason_of(const std::string& words) { return words.substr(words.rfind(" (")); }

}  // namespace

void add_findings(const std::vector<Finding>& findings, Report& report) {
  std::string framework;
  for (const auto& [key, value] : report.run.config)
    if (key == "framework") framework = value;
  for (const FindingStatus wanted : {FindingStatus::fires, FindingStatus::unknown}) {
    for (const Finding& f : findings) {
      // What a configuration does not say is no fault of it; `explain` tells.
      if (f.status == FindingStatus::unknown && !f.kind.empty()) continue;
      if (f.status == wanted) report.findings.push_back(worded(f, framework));
    }
  }
  std::map<std::string, std::string> title_of;  // rules that fire and stand earlier
  for (ReportFinding& f : report.findings) {
    if (f.finding.status != FindingStatus::fires) break;
    for (const std::string& other : f.finding.conflicts) {
      if (const auto it = title_of.find(other); it != title_of.end())
        f.instead_of.push_back(it->second);
    }
    title_of.emplace(f.finding.rule, f.finding.title);
  }
  for (ReportFinding& f : report.findings) {
    const auto it = title_of.find(f.finding.held_back_by);
    if (it != title_of.end()) f.after = it->second;
  }
  for (const Finding& f : findings) {
    if (f.status != FindingStatus::no) continue;
    auto words = not_offered_words(f);
    if (!words) continue;
    const bool known =
        std::any_of(report.not_offered.begin(), report.not_offered.end(),
                    [&](const std::string& w) { return reason_of(w) == reason_of(*words); });
    if (!known) report.not_offered.push_back(std::move(*words));
  }
}

}  // namespace ws
