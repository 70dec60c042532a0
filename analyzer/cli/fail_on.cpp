// Tested by: cli_test (fail_on_test.cpp), tests/cli.
#include "cli/fail_on.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "facts/fact_db.h"

namespace ws::cli {
namespace {

constexpr std::string_view kLevels[] = {"low", "medium", "high"};

int level_of(std::string_view confidence) {
  for (int i = 0; i < 3; ++i) {
    if (kLevels[i] == confidence) return i;
  }
  return -1;
}

// Values a key may have: those its column of fact_run declares.
std::vector<std::string> allowed_values(std::string_view key) {
  const std::string_view column = key == "kind" ? std::string_view("verdict_kind") : key;
  for (const FactColumn& c : facts_columns()) {
    if (c.table == "fact_run" && c.column == column) return c.allowed;
  }
  return {};
}

bool compare(double a, std::string_view op, double b) {
  if (op == ">=") return a >= b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  if (op == "<") return a < b;
  return op == "=" ? a == b : a != b;
}

Result<FailCondition> parse_one(const std::string& text) {
  FailCondition c;
  c.text = text;
  if (text.rfind("finding:", 0) == 0 && text.size() > 8) {
    c.key = "finding";
    c.value = text.substr(8);
    return c;
  }
  const size_t at = text.find_first_of("=!<>");
  if (at == std::string::npos || at == 0) {
    return Error{
        fmt::format("--fail-on: expected a condition like wall=communication, found `{}`", text)};
  }
  const size_t end = text.find_first_not_of("=!<>", at);
  c.key = text.substr(0, at);
  c.op = text.substr(at, end == std::string::npos ? end : end - at);
  c.value = end == std::string::npos ? "" : text.substr(end);
  static constexpr std::string_view kOps[] = {"=", "!=", ">", ">=", "<", "<="};
  const bool known_op = std::find(std::begin(kOps), std::end(kOps), c.op) != std::end(kOps);
  const bool equality = c.op == "=" || c.op == "!=";
  if (c.key == "share") {
    const char* last = c.value.data() + c.value.size();
    const auto [rest, ec] = std::from_chars(c.value.data(), last, c.number);
    const bool good =
        ec == std::errc() && rest == last && !c.value.empty() && c.number >= 0 && c.number <= 1;
    if (!good || !known_op || equality) {
      return Error{fmt::format("--fail-on: expected share > a number of 0 to 1, found `{}`", text)};
    }
    return c;
  }
  const bool ordered = c.key == "confidence";
  const bool named = ordered || c.key == "wall" || c.key == "loss" || c.key == "cause" ||
                     c.key == "kind" || c.key == "also";
  if (!named || !known_op || (!ordered && !equality)) {
    return Error{fmt::format(
        "--fail-on: expected one of wall loss cause kind also share confidence finding:RULE with "
        "= or an order, found `{}`",
        text)};
  }
  const auto allowed = allowed_values(c.key);
  if (std::find(allowed.begin(), allowed.end(), c.value) == allowed.end()) {
    return Error{fmt::format("--fail-on: expected a {} ({}), found `{}`", c.key,
                             fmt::join(allowed, " "), c.value)};
  }
  return c;
}

std::string value_of(const FailCondition& c, const ReportVerdict& v) {
  if (c.key == "wall") return v.wall.value_or("");
  if (c.key == "loss") return v.loss.value_or("");
  if (c.key == "also") return v.also.value_or("");
  return c.key == "kind" ? v.kind : v.cause;
}

bool holds(const FailCondition& c, const Report& report) {
  const ReportVerdict& v = report.verdict;
  if (c.key == "finding") {
    return std::any_of(report.findings.begin(), report.findings.end(), [&](const ReportFinding& f) {
      return f.finding.rule == c.value && f.finding.status == FindingStatus::fires;
    });
  }
  if (c.key == "share") return v.share_lo && compare(*v.share_lo, c.op, c.number);
  if (c.key == "confidence") return compare(level_of(v.confidence), c.op, level_of(c.value));
  return (value_of(c, v) == c.value) == (c.op == "=");
}

}  // namespace

Result<std::vector<FailCondition>> parse_fail_on(const std::string& spec) {
  std::vector<FailCondition> out;
  if (spec.empty()) return out;
  for (size_t at = 0; at <= spec.size();) {
    const size_t comma = std::min(spec.find(',', at), spec.size());
    auto condition = parse_one(spec.substr(at, comma - at));
    if (!condition) return condition.error();
    out.push_back(std::move(condition.value()));
    at = comma + 1;
  }
  return out;
}

std::vector<std::string> conditions_met(const std::vector<FailCondition>& conditions,
                                        const Report& report) {
  std::vector<std::string> out;
  for (const FailCondition& c : conditions) {
    if (holds(c, report)) out.push_back(c.text);
  }
  return out;
}

}  // namespace ws::cli
