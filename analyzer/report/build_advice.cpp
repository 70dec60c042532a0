// Findings in words: what to set where, what it rests on, what it may gain, what is missing.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "advise/told_once.h"
#include "report/build_parts.h"
#include "report/fact_words.h"
#include "report/numbers.h"
#include "report/phrases.h"

namespace ws {
namespace {

// "the loss takes at least 18.2 %" and "the loss takes at most 27.3 %" are one interval.
bool joins_interval(const std::string& words, std::vector<std::string>& parts) {
  constexpr std::string_view kMost = " at most ", kLeast = " at least ";
  const size_t at = words.find(kMost);
  if (at == std::string::npos) return false;
  const std::string head = words.substr(0, at) + std::string(kLeast);
  const std::string hi = words.substr(at + kMost.size());
  for (std::string& part : parts) {
    if (part.rfind(head, 0) != 0) continue;
    const std::string lo = part.substr(head.size());
    const bool percent = lo.size() > 2 && lo.substr(lo.size() - 2) == " %";
    part = words.substr(0, at) + " " +
           (lo == hi ? hi : (percent ? lo.substr(0, lo.size() - 2) : lo) + " to " + hi);
    return true;
  }
  return false;
}

// Values that are not known say nothing here, nor does a zero, or a share that prints as one,
// beside a share that does not.
std::string because_words(const Finding& f) {
  const bool any_share = std::any_of(f.evidence.begin(), f.evidence.end(), [](const auto& e) {
    return visible_share(e).value_or(false);
  });
  std::vector<std::string> parts;
  for (const EvidenceValue& e : f.evidence) {
    if (any_share && !visible_share(e).value_or(true)) continue;
    const bool counted = e.expression.rfind("cfg.", 0) != 0 && e.expression.rfind("lay.", 0) != 0;
    if (counted && e.number == 0.0 && !visible_share(e)) continue;
    std::string words = fact_words(e, f);
    if (words.empty() || joins_interval(words, parts)) continue;
    // "of it" is of the exposed time, where that has been named.
    constexpr std::string_view kOfIt = "of it ";
    if (words.rfind(kOfIt, 0) == 0 &&
        std::none_of(parts.begin(), parts.end(),
                     [](const std::string& p) { return p.rfind("exposed ", 0) == 0; }))
      words.erase(0, kOfIt.size());
    parts.push_back(std::move(words));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string part_words(double part) {
  static constexpr std::pair<double, std::string_view> kParts[] = {
      {1, "all"},       {0.5, "half"},    {0.33, "a third"},     {0.25, "a quarter"},
      {0.2, "a fifth"}, {0.1, "a tenth"}, {0.05, "a twentieth"}, {0, "nothing"}};
  for (const auto& [value, words] : kParts)
    if (part == value) return std::string(words);
  return fmt::format("{:.0f} %", 100 * part);
}

// Where the gain comes from: a row of the table of changes, all of it or a part.
std::string what_if_words(const Finding::FromWhatIf& from) {
  std::string part;
  if (from.lo > 0 && (from.lo < 1 || from.hi < 1)) {
    part = fmt::format(", {} to {} of what {} save", part_words(from.lo), part_words(from.hi),
                       phrase_of_change(from.id));
  } else if (from.hi < 1) {
    part = fmt::format(", {} of what {} save", part_words(from.hi), phrase_of_change(from.id));
  }
  return part + (from.id == "bubble_halved" ? ", by formula" : ", re-simulated");
}

std::string gain_words(const Finding& f) {
  if (!f.gain_hi_share || *f.gain_hi_share < 0.0005) return "";
  const double hi = *f.gain_hi_share;
  const double lo = f.gain_lo_share.value_or(0);
  if (f.gain_basis == "what_if") {
    return (lo < 0.0005 ? "at most " + percent_text(hi) : percent_range(lo, hi)) +
           what_if_words(f.from_what_if.value_or(Finding::FromWhatIf{}));
  }
  if (f.gain_basis == "published") return percent_range(lo, hi) + ", published elsewhere";
  if (f.gain_basis == "estimate" && lo >= 0.0005) return percent_range(lo, hi) + ", estimated";
  return "at most " + percent_text(hi);
}

// Keys that a rule names together, "cfg.a.x / y" to "1 / 2", as pairs: "cfg.a.x = 1; cfg.a.y = 2".
std::string pairs_words(std::vector<std::string> keys, const std::vector<std::string>& values) {
  std::string section;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].find('.') == std::string::npos) keys[i].insert(0, section);
    section = keys[i].substr(0, keys[i].rfind('.') + 1);
    const std::string& value = values[values.size() == 1 ? 0 : i];
    const bool sentence = value.find(' ') != std::string::npos && value[0] != '[';
    if (!value.empty()) keys[i] += (sentence ? ": " : " = ") + value;
  }
  return fmt::format("{}", fmt::join(keys, "; "));
}

// A setting as one would write it: "--flag value", "cfg.key = value", "NAME=value"; what is rather
// a sentence gets a colon.
std::string setting_words(const Action& a) {
  if (a.set.rfind("cfg.", 0) == 0) {
    const auto keys = parts_of(a.set), values = parts_of(a.to);
    if (keys.size() > 1 && (values.size() == 1 || values.size() == keys.size()))
      return pairs_words(keys, values);
  }
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

// Flags stand one behind the other as on a command line, but not behind a sentence.
std::string_view between(const Action& a, bool behind_a_flag) {
  const bool flag = a.set.rfind("--", 0) == 0 && !a.takes_away();
  return flag && behind_a_flag ? " " : "; ";
}

std::vector<ReportFinding::Line> action_lines(const std::vector<Action>& actions) {
  std::vector<ReportFinding::Line> out;
  bool behind_a_flag = false;
  for (const Action& a : actions) {
    const std::string name(phrase_of_framework(a.framework));
    const std::string text = setting_words(a);
    if (!out.empty() && out.back().framework == name && out.back().note.empty()) {
      out.back().text += between(a, behind_a_flag);
      out.back().text += text;
      out.back().note = a.note;
    } else {
      out.push_back({name, text, a.note});
    }
    behind_a_flag = a.set.rfind("--", 0) == 0 && text.find(": ") == std::string::npos;
  }
  return out;
}

// Of the frameworks that the rule has settings for, none is that of the run.
ReportFinding::Line nothing_to_set(const std::vector<std::string>& only_for,
                                   const Frameworks& frameworks) {
  std::vector<std::string_view> others;
  others.reserve(only_for.size());
  for (const std::string& name : only_for) others.push_back(phrase_of_framework(name));
  return {frameworks.names.empty() ? "this program"
                                   : std::string(phrase_of_framework(frameworks.names.front())),
          "",
          fmt::format("no setting known; the catalogue has those of {}", fmt::join(others, ", "))};
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

ReportFinding worded(const Finding& f, const ReportRun& run) {
  const Frameworks& frameworks = run.frameworks;
  ReportFinding out{f, {}, because_words(f), gain_words(f), {}, {}, {}, {}, {}, {}};
  out.finding.actions = actions_for(f.actions, frameworks);
  auto& with = out.finding.with;
  with.erase(std::remove_if(with.begin(), with.end(),
                            [&](const Finding::With& w) {
                              return w.framework != "env" && w.framework != "any" &&
                                     std::count(frameworks.names.begin(), frameworks.names.end(),
                                                w.framework) == 0;
                            }),
             with.end());
  out.actions = action_lines(out.finding.actions);
  if (out.actions.empty() && with.empty()) {
    for (const Action& a : f.actions)
      if (std::find(out.only_for.begin(), out.only_for.end(), a.framework) == out.only_for.end())
        out.only_for.push_back(a.framework);
    out.actions.push_back(nothing_to_set(out.only_for, frameworks));
  }
  if (f.status == FindingStatus::unknown) {
    out.missing_facts = missing_facts(f);
    out.to_know = facts_words(out.missing_facts, run.supply);
  }
  return out;
}

// The kind of communication that the row of this expression is of: "tp" of `tp.exposed_share` with
// the clause `tp.kind = 'tp'`; "" for another row.
std::string comm_kind_of(const EvidenceValue& e, const Finding& f) {
  const std::string head = e.expression.substr(0, e.expression.find('.')) + ".kind = '";
  for (const ClauseValue& c : f.clauses) {
    if (c.clause.rfind(head, 0) != 0) continue;
    return c.clause.substr(head.size(), c.clause.find('\'', head.size()) - head.size());
  }
  return "";
}

bool column_ends_with(const EvidenceValue& e, std::string_view end) {
  return e.expression.size() >= end.size() &&
         e.expression.compare(e.expression.size() - end.size(), end.size(), end) == 0;
}

// Nothing at all of what the rule is about was recorded (no offloading, no allocator calls): there
// is nothing to offer. Communication that is there and hidden completely is worth a word.
bool can_not_apply(const EvidenceValue& e, const Finding& f, const Report& report) {
  if (*e.number != 0) return false;
  const bool hidden = column_ends_with(e, "exposed_share");
  const std::string kind = hidden ? comm_kind_of(e, f) : "";
  return kind.empty() || std::none_of(report.collectives.begin(), report.collectives.end(),
                                      [&](const ReportCollective& c) { return c.kind == kind; });
}

// A rule that clearly does not apply, with the share that says so: its first failing clause speaks
// of a share that is next to nothing. Other rules say nothing here; explain lists all.
std::optional<std::string> not_offered_words(const Finding& f, const Report& report) {
  constexpr double kNextToNothing = 0.02;
  if (f.phase == "data") return std::nullopt;
  if (!f.kind.empty()) return std::nullopt;  // judges the file: its shares are not of the step
  // Re-simulated, its lever is worth more than the share says.
  if (f.from_what_if && f.gain_hi_share.value_or(0) > kNextToNothing) return std::nullopt;
  const auto failing = std::find_if(f.clauses.begin(), f.clauses.end(), [](const ClauseValue& c) {
    return c.holds.has_value() && !*c.holds;
  });
  if (failing == f.clauses.end()) return std::nullopt;
  const EvidenceValue* most = nullptr;  // a sum of shares is small when all of them are
  for (const EvidenceValue& e : f.evidence) {
    if (!visible_share(e) || failing->clause.find(e.expression) == std::string::npos) continue;
    if (most == nullptr || *e.number > *most->number) most = &e;
  }
  if (most == nullptr || *most->number > kNextToNothing || can_not_apply(*most, f, report))
    return std::nullopt;
  return fmt::format("if {} ({})", f.title, fact_words(*most, f));
}

// Gains are never added: where an earlier finding promises the same time the later one says so.
std::string shared_gain_words(const ReportFinding& f, const ReportFinding& earlier, size_t number) {
  const Finding &a = f.finding, &b = earlier.finding;
  const bool same = std::abs(*a.gain_hi_share - *b.gain_hi_share) < 0.0005;  // as printed
  const bool all = std::all_of(a.gain_of.begin(), a.gain_of.end(), [&](const std::string& time) {
    return std::count(b.gain_of.begin(), b.gain_of.end(), time) > 0;
  });
  return same ? fmt::format("{}, the same as item {}", f.gain, number)
              : fmt::format("{}, {}of the same time as item {}", f.gain, all ? "" : "partly ",
                            number);
}

// "--a, --b of item 2", one line an item.
std::vector<std::string> with_words(const Finding& f,
                                    const std::map<std::string, size_t>& number_of) {
  std::map<size_t, std::string> of_item;
  for (const Finding::With& w : f.with) {
    const auto it = number_of.find(w.rule);
    if (it == number_of.end()) continue;
    std::string& names = of_item[it->second];
    if (names.find(w.set) == std::string::npos) names += (names.empty() ? "" : ", ") + w.set;
  }
  std::vector<std::string> out;
  for (const auto& [number, names] : of_item)
    out.push_back(fmt::format("{} of item {}", names, number));
  return out;
}

// Numbers are those of the reports: of what fires, in order.
void refer_to_others(std::vector<ReportFinding>& findings) {
  std::map<std::string, size_t> number_of;
  for (const ReportFinding& f : findings)
    if (f.finding.status == FindingStatus::fires)
      number_of.emplace(f.finding.rule, number_of.size() + 1);
  for (ReportFinding& f : findings) {
    if (f.finding.status != FindingStatus::fires) break;
    if (const auto it = number_of.find(f.finding.same_time_as);
        it != number_of.end() && !f.gain.empty())
      f.gain = shared_gain_words(f, findings[it->second - 1], it->second);
    f.with = with_words(f.finding, number_of);
    if (!f.finding.ahead) continue;
    const auto behind = number_of.find(f.finding.ahead->of_rule);
    const std::string which = behind == number_of.end() ? "" : fmt::format("{} ", behind->second);
    f.ahead_of =
        fmt::format("{}(phase {}): {}", which, f.finding.ahead->of_phase, f.finding.ahead->because);
  }
}

// What stands in the brackets, to name each reason once.
std::string reason_of(const std::string& words) { return words.substr(words.rfind(" (")); }

}  // namespace

std::string Report::LaterRelease::words() const {
  return fmt::format("{}{}{} ({})", set, set.empty() ? "" : " of: ", title, needs);
}

void add_findings(const std::vector<Finding>& findings, Report& report) {
  // With nothing seen of the GPU any of them may apply: that tells nobody what to do.
  const bool nothing_seen = report.verdict.kind == "insufficient" && report.run.device_count == 0;
  for (const FindingStatus wanted : {FindingStatus::fires, FindingStatus::unknown}) {
    for (const Finding& f : findings) {
      // What a configuration does not say is no fault of it; `explain` tells.
      if (f.status == FindingStatus::unknown && (!f.kind.empty() || nothing_seen)) continue;
      if (f.status == wanted) report.findings.push_back(worded(f, report.run));
    }
  }
  std::map<std::string, std::string> title_of;  // rules that fire and stand earlier
  std::map<std::string, size_t> number_of;      // as the reports count them
  for (ReportFinding& f : report.findings) {
    if (f.finding.status != FindingStatus::fires) break;
    for (const std::string& other : f.finding.conflicts) {
      if (const auto it = title_of.find(other); it != title_of.end())
        f.instead_of.push_back(fmt::format("{} ({})", number_of[other], it->second));
    }
    title_of.emplace(f.finding.rule, f.finding.title);
    number_of.emplace(f.finding.rule, number_of.size() + 1);
  }
  for (ReportFinding& f : report.findings) {
    const auto it = title_of.find(f.finding.held_back_by);
    if (it != title_of.end()) f.after = it->second;
  }
  refer_to_others(report.findings);
  for (const Finding& f : findings) {
    if (f.status == FindingStatus::fires)
      for (const Finding::LeftOut& l : f.left_out)
        report.later_releases.push_back({f.rule, f.title, l.needs, l.set});
    if (f.status != FindingStatus::no) continue;
    if (const auto first = title_of.find(f.waits_for); first != title_of.end())
      report.held_back.push_back(
          fmt::format("{} (after item {}: {})", f.title, number_of[f.waits_for], first->second));
    if (!f.later_release.empty() && f.applies())
      report.later_releases.push_back({f.rule, f.title, f.later_release, ""});
    auto words = not_offered_words(f, report);
    if (!words) continue;
    const bool known =
        std::any_of(report.not_offered.begin(), report.not_offered.end(),
                    [&](const std::string& w) { return reason_of(w) == reason_of(*words); });
    if (!known) report.not_offered.push_back(std::move(*words));
  }
}

}  // namespace ws
