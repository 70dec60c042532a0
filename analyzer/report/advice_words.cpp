// What stands around and in an action, in the words that text and Markdown share.
// Tested by: report_test (text_test.cpp, advice_words_test.cpp)
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "report/tables.h"

namespace ws {
namespace {

// Why what stands behind it has to wait.
std::string_view why_first(std::string_view phase) {
  if (phase == "data") return "what follows can not be judged by this recording";
  if (phase == "fit") return "what does not fit the GPU is not tuned";
  if (phase == "scale") return "a layout that is at fault is not tuned";
  return "what follows builds on it";
}

// "3 builds on 1", or waits for what is at fault before it.
std::vector<std::string> needs_words(const std::vector<const ReportFinding*>& shown) {
  std::vector<std::string> out;
  std::string held_by;
  for (size_t i = 0; i < shown.size(); ++i) {
    const Finding& later = shown[i]->finding;
    std::vector<size_t> below;
    for (size_t k = 0; k < i; ++k) {
      const Finding& first = shown[k]->finding;
      if (later.held_back_by == first.rule && held_by != first.rule) {
        held_by = first.rule;
        out.push_back(fmt::format("{} first, since {}", k + 1, why_first(first.phase)));
      } else if (std::count(later.after.begin(), later.after.end(), first.rule) > 0) {
        below.push_back(k + 1);
      }
    }
    if (!below.empty())
      out.push_back(fmt::format("{} builds on {}", i + 1, fmt::join(below, " and ")));
  }
  return out;
}

// "1 before 2 (fit before retune)" of the first neighbours of which that is so. The first `same`
// stand in for each other.
std::vector<std::string> phases_words(const std::vector<const ReportFinding*>& shown, size_t same) {
  static constexpr std::string_view kPhases[] = {"fit", "scale", "profile", "retune"};
  const auto index = [](const ReportFinding& f) {
    return std::find(std::begin(kPhases), std::end(kPhases), f.finding.phase) - std::begin(kPhases);
  };
  for (size_t i = same; i < shown.size(); ++i) {
    const auto first = index(*shown[i - 1]), later = index(*shown[i]);
    if (first < later && later < static_cast<std::ptrdiff_t>(std::size(kPhases)))
      return {fmt::format("{} before {} ({} before {})", i, i + 1, kPhases[first], kPhases[later])};
  }
  return {};
}

}  // namespace

std::string settings_caption(const Report& report) {
  using By = Frameworks::By;
  const bool any =
      std::any_of(report.findings.begin(), report.findings.end(),
                  [](const ReportFinding& f) { return f.finding.status == FindingStatus::fires; });
  if (!any) return "";
  const std::string yours =
      report.run.config_given
          ? "--framework NAME or `framework` in the file of --config leaves yours"
          : "--framework NAME or --config FILE leaves yours";
  switch (report.run.frameworks.by) {
    case By::configuration:
    case By::names:
      return "";
    case By::core:
      return "Megatron Core runs here; whether under Megatron-LM or Megatron Bridge was not "
             "recorded: settings of each; " +
             yours;
    case By::kernels:
      return "PyTorch runs here; whether Megatron-LM or Megatron Bridge runs on it was not "
             "recorded: settings of each; " +
             yours;
    case By::nothing:
      return "the framework is not known: settings of each; " + yours;
    case By::own_program:
      break;
  }
  return fmt::format(
      "no kernel here is of PyTorch or Megatron: only what holds for any program; where one of "
      "them runs, {} brings its settings",
      report.run.config_given ? "`framework` in the file of --config" : "--config FILE");
}

std::string action_text(const ReportFinding::Line& line) {
  if (line.text.empty()) return line.note;
  return line.note.empty() ? line.text : fmt::format("{}  ({})", line.text, line.note);
}

std::string first_sentences(const std::string& s) {
  constexpr size_t kLimit = 170;
  size_t end = std::min(s.find(". "), s.size());
  for (size_t next = s.find(". ", end + 1); end < s.size(); next = s.find(". ", end + 1)) {
    const size_t stop = std::min(next, s.size());
    if (stop > kLimit) break;
    end = stop;
  }
  return end < s.size() ? s.substr(0, end + 1) : s;
}

std::string may_apply_words(const ReportFinding& f) {
  // Titles say what holds, then what to do; those that begin with the order stay as they are.
  const std::string& title = f.finding.title;
  const bool order = title.rfind("record ", 0) == 0;
  return fmt::format("{}{} (to know, it needs {})", order ? "" : "if ", title, f.to_know);
}

std::string order_caption(const Report& report) {
  std::vector<const ReportFinding*> shown;
  for (const ReportFinding& f : report.findings)
    if (f.finding.status == FindingStatus::fires && shown.size() < kShortActions)
      shown.push_back(&f);
  if (shown.size() < 2) return "";
  std::vector<std::string> parts;
  // The leading ones of which each may stand in for the first.
  size_t same = 1;
  std::string which = "1";
  while (same < shown.size() &&
         std::count(shown[same]->instead_of.begin(), shown[same]->instead_of.end(),
                    "1 (" + shown[0]->finding.title + ")") > 0)
    which += fmt::format(" or {}", ++same);
  if (same > 1) parts.push_back(which + ": they exclude each other");
  std::vector<std::string> order = needs_words(shown);
  if (order.empty()) order = phases_words(shown, same);
  if (!order.empty()) parts.push_back(fmt::format("order matters: {}", fmt::join(order, ", ")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

size_t pitfalls_shown(const ReportFinding& f, bool all) {
  const size_t count = f.finding.pitfalls.size();
  return all || count <= kFewPitfalls ? count : kShortPitfalls;
}

std::string more_words(const ReportFinding& f, bool all) {
  std::string out = "wallsight rules show " + f.finding.rule;
  if (all) return out;
  std::vector<std::string> left;
  const auto add = [&](const std::vector<std::string>& list, size_t limit, std::string_view label) {
    if (list.size() > limit)
      left.push_back(fmt::format("{} of {} under {}", list.size() - limit, list.size(), label));
  };
  add(f.finding.published, kShortPublished, "published");
  add(f.finding.pitfalls, pitfalls_shown(f, all), "watch");
  add(f.finding.verify, kShortVerify, "verify");
  return left.empty() ? out : fmt::format("{} (not shown: {})", out, fmt::join(left, ", "));
}

}  // namespace ws
