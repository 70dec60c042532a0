// The report as Markdown: the sections and tables of the text report, for pull requests and wikis.
// Everything that comes from the trace goes through escape_markdown, so tables keep their columns.
// Tested by: report_test (markdown_test.cpp, renderers_agree_test.cpp), tests/golden.
#include <fmt/format.h>

#include "report/escape.h"
#include "report/numbers.h"
#include "report/phrases.h"
#include "report/render.h"
#include "report/tables.h"

namespace ws {
namespace {

void print_row(const std::vector<std::string>& cells, std::ostream& out) {
  out << '|';
  for (const std::string& c : cells) out << ' ' << c << " |";
  out << '\n';
}

void print_table(const Table& table, std::ostream& out) {
  out << "\n## " << escape_markdown(table.title) << "\n\n";
  if (!table.caption.empty()) out << escape_markdown(table.caption) << "\n\n";
  std::vector<std::string> names, rule;
  for (const auto& c : table.columns) {
    names.push_back(c.name);
    rule.emplace_back(c.right ? "---:" : "---");
  }
  if (!table.rows.empty()) {
    print_row(names, out);
    print_row(rule, out);
  }
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    cells.reserve(row.size());
    for (const std::string& c : row) cells.push_back(escape_markdown(c));
    print_row(cells, out);
  }
  for (const std::string& remark : table.remarks) out << "\n" << escape_markdown(remark) << "\n";
}

void print_verdict(const Report& report, std::ostream& out) {
  const ReportVerdict& v = report.verdict;
  out << "\n## VERDICT\n\n**" << escape_markdown(v.headline) << "**";
  if (v.kind != "insufficient") out << " (confidence: " << v.confidence << ")";
  out << "\n\n";
  for (const std::string& s : v.why) out << "- " << escape_markdown(s) << "\n";
  if (const std::string price = price_sentence(report); !price.empty())
    out << "- " << price << "\n";
  for (const std::string& s : v.missing) {
    out << "- " << (v.kind == "insufficient" ? "record: " : "to be surer: ") << escape_markdown(s)
        << "\n";
  }
}

void print_where(const Report& report, std::ostream& out) {
  const WhereTable& table = report.where;
  if (table.sum_ns == 0) return;
  const bool judged = report.verdict.kind != "insufficient";
  out << "\n## " << (judged ? "WHERE THE STEP GOES" : "WHAT WAS RECORDED") << "\n\n"
      << escape_markdown(where_caption(report)) << (judged ? "" : "; no basis for a verdict")
      << "\n\n";
  print_row({"group", "share", table.unit.name, "of which"}, out);
  print_row({"---", "---:", "---:", "---"}, out);
  for (const WhereRow& w : table.rows) {
    print_row({w.group, tenths(w.share_tenths) + " %", shown(w.time_shown, table.unit),
               escape_markdown(fmt::format("{}", fmt::join(details_of(w, table.unit), " ")))},
              out);
  }
  print_row({"sum", "100.0 %", shown(table.sum_shown, table.unit), ""}, out);
}

void print_item(const std::string& label, const std::string& text, std::ostream& out) {
  if (!text.empty()) out << "   - " << label << ": " << escape_markdown(text) << "\n";
}

void print_some(const std::string& label, const std::vector<std::string>& texts, size_t limit,
                std::ostream& out) {
  for (size_t i = 0; i < texts.size() && i < limit; ++i) print_item(label, texts[i], out);
}

void print_action(size_t number, const ReportFinding& f, bool all, std::ostream& out) {
  out << number << ". **" << escape_markdown(f.finding.title) << "** (";
  if (!f.gain.empty()) out << "gain " << f.gain << "; ";
  out << "phase: " << f.finding.phase << ")\n";
  print_item("after", f.after, out);
  print_item("ahead of", f.ahead_of, out);
  for (const std::string& other : f.instead_of) print_item("instead of", other, out);
  for (const auto& line : f.actions) {
    if (line.text.empty()) {
      print_item(line.framework, line.note, out);
      continue;
    }
    out << "   - " << escape_markdown(line.framework) << ": " << markdown_code(line.text);
    if (!line.note.empty()) out << " (" << escape_markdown(line.note) << ")";
    out << "\n";
  }
  for (const std::string& other : f.with) print_item("with", other, out);
  print_item("because", f.because, out);
  print_item("why", all ? f.finding.why : first_sentences(f.finding.why), out);
  print_some("published", f.finding.published, all ? SIZE_MAX : kShortPublished, out);
  print_some("watch", f.finding.pitfalls, pitfalls_shown(f, all), out);
  print_some("verify", f.finding.verify, all ? SIZE_MAX : kShortVerify, out);
  out << "   - more: " << markdown_code(more_words(f, true))
      << more_words(f, all).substr(more_words(f, true).size()) << "\n";
}

void print_unknown(const Report& report, bool all, std::ostream& out) {
  size_t count = 0;
  for (const ReportFinding& f : report.findings) {
    if (f.finding.status != FindingStatus::unknown || f.missing_facts.empty()) continue;
    if (count++ == 0) out << "\nMay apply, but not everything it needs is known:\n\n";
    if (!all && count > kShortList) continue;
    out << "- " << escape_markdown(may_apply_words(f)) << "\n";
  }
  if (!all && count > kShortList) out << fmt::format("- and {} more (--all)\n", count - kShortList);
}

void print_actions(const Report& report, const RenderOptions& options, std::ostream& out) {
  size_t count = 0, left = 0;
  out << "\n## DO NEXT\n\n";
  for (const std::string& caption : {order_caption(report), settings_caption(report)})
    if (!caption.empty()) out << escape_markdown(caption) << "\n\n";
  for (const ReportFinding& f : report.findings) {
    if (f.finding.status != FindingStatus::fires) continue;
    if (!options.all && count == kShortActions) {
      ++left;
    } else {
      print_action(++count, f, options.all, out);
    }
  }
  if (count == 0)
    out << (report.later_releases.empty()
                ? "No rule of the catalogue applies to what was recorded.\n"
                : "Nothing that the stated release has applies to what was recorded.\n");
  if (left > 0) out << fmt::format("\nand {} more (--all)\n", left);
  print_unknown(report, options.all, out);
  if (!report.held_back.empty())
    out << "\nHeld back by a setting that an item above is to change first:\n\n";
  for (const std::string& words : report.held_back) out << "- " << escape_markdown(words) << "\n";
  if (!report.later_releases.empty())
    out << "\nNot offered, since the stated release does not have it:\n\n";
  for (const Report::LaterRelease& later : report.later_releases)
    out << "- " << escape_markdown(later.words()) << "\n";
  for (size_t i = 0; i < report.not_offered.size() && (options.all || i < kShortNotOffered); ++i) {
    if (i == 0) out << "\nNot offered, since next to nothing of the step is lost to it:\n\n";
    out << "- " << escape_markdown(report.not_offered[i]) << "\n";
  }
  if (!options.all && report.not_offered.size() > kShortNotOffered)
    out << fmt::format("- and {} more (--all)\n", report.not_offered.size() - kShortNotOffered);
}

void print_notes(const Report& report, bool all, std::ostream& out) {
  out << "\n## WHAT I COULD NOT SEE\n\n";
  for (size_t i = 0; i < report.notes.size(); ++i) {
    const ReportNote& n = report.notes[i];
    out << "- " << phrase_of_severity(n.severity) << ": " << escape_markdown(note_line(n));
    if (advises(report, i)) out << "; do: " << escape_markdown(n.advice);
    out << "\n";
  }
  if (const auto line = recorder_line(report))
    out << "- recording: " << escape_markdown(*line) << "\n";
  for (const std::string& line : assumption_lines(report, all))
    out << "- assumed: " << escape_markdown(line) << "\n";
}

}  // namespace

void render_markdown(const Report& report, const RenderOptions& options, std::ostream& out) {
  out << "# wallsight " << escape_markdown(report.run.tool_version) << "\n\n";
  std::string line;
  for (const std::string& part : headline_of_run(report)) line += (line.empty() ? "" : ", ") + part;
  out << escape_markdown(line) << "\n";
  if (report.run.selection)
    out << "\nonly a part: " << escape_markdown(*report.run.selection) << "\n";
  print_verdict(report, out);
  print_where(report, out);
  print_actions(report, options, out);
  print_notes(report, options.all, out);
  for (const Table& table : detail_tables(report, options.all)) print_table(table, out);
}

}  // namespace ws
