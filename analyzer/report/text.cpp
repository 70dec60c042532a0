// The terminal report: verdict, the table that proves it, what to do, what could not be seen, then
// the details. At most 100 columns, no control bytes but our own colours.
// Tested by: report_test (text_test.cpp, renderers_agree_test.cpp), tests/golden.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/escape.h"
#include "report/layout.h"
#include "report/numbers.h"
#include "report/phrases.h"
#include "report/render.h"
#include "report/tables.h"

namespace ws {
namespace {

constexpr size_t kBarColumns = 24;
constexpr size_t kFlexibleColumns = 70;  // at most, of one column
constexpr size_t kLeastColumns = 12;
constexpr size_t kNameColumns = 24;  // less room is not worth a kernel's name

struct Paint {
  bool color = false;
  std::string operator()(const char* code, const std::string& s) const {
    return color ? fmt::format("\x1b[{}m{}\x1b[0m", code, s) : s;
  }
  std::string bold(const std::string& s) const { return (*this)("1", s); }
};

std::string heading(const Paint& paint, const std::string& title, const std::string& caption) {
  if (caption.empty()) return "\n" + paint.bold(title) + "\n";
  return "\n" + paint.bold(title) + hanging(title + "   ", caption).substr(title.size());
}

// The parts of the first line, two blanks apart; a part that does not fit starts the next line.
void print_headline(const Report& report, std::ostream& out) {
  std::string line = "wallsight " + escape_text(report.run.tool_version);
  for (const std::string& raw : headline_of_run(report)) {
    const std::string part = escape_text(raw);
    if (width_of(line) + 2 + width_of(part) > kReportColumns) {
      out << line << "\n";
      line = std::string(8, ' ');
    }
    line += "  " + shorten(part, kReportColumns - 10);
  }
  out << line << "\n";
}

void print_verdict(const Report& report, const Paint& paint, std::ostream& out) {
  const ReportVerdict& v = report.verdict;
  const std::string headline = escape_text(v.headline);
  const std::string confidence = v.kind == "insufficient" ? "" : "confidence: " + v.confidence;
  const char* color = v.kind == "none" ? "1;32" : v.kind == "insufficient" ? "1;33" : "1;31";
  const std::string indent(10, ' ');
  const auto lines = wrap(headline, kReportColumns - indent.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string line = paint(color, lines[i]);
    const size_t used = indent.size() + width_of(lines[i]);
    if (i + 1 == lines.size() && !confidence.empty()) {
      const bool fits = used + 2 + confidence.size() <= kReportColumns;
      line += fits ? std::string(kReportColumns - used - confidence.size(), ' ') + confidence
                   : "\n" + indent + confidence;
    }
    out << (i == 0 ? paint.bold("VERDICT") + "   " : indent) << line << "\n";
  }
  for (const std::string& sentence : v.why) out << hanging(indent, escape_text(sentence));
  if (const std::string price = price_sentence(report); !price.empty())
    out << hanging(indent, price);
  for (const std::string& sentence : v.missing) {
    out << hanging(indent + (v.kind == "insufficient" ? "record:   " : "to be surer:  "),
                   escape_text(sentence));
  }
}

void print_where(const Report& report, const Paint& paint, std::ostream& out) {
  const WhereTable& table = report.where;
  if (table.sum_ns == 0) return;
  const bool judged = report.verdict.kind != "insufficient";
  out << heading(paint, judged ? "WHERE THE STEP GOES" : "WHAT WAS RECORDED",
                 where_caption(report) + (judged ? "" : "; no basis for a verdict"));
  const size_t width =
      std::max<size_t>(8, shown(table.sum_shown, table.unit).size() + table.unit.name.size() + 1);
  const auto row = [&](const std::string& group, int64_t share, int64_t time,
                       const std::string& rest) {
    const std::string first =
        fmt::format("  {} {} %  {}  ", pad_right(group, 13), pad_left(tenths(share), 6),
                    pad_left(shown(time, table.unit) + " " + table.unit.name, width));
    out << hanging(first, rest);
  };
  for (const WhereRow& w : table.rows) {
    const std::string bar(judged ? static_cast<size_t>(w.share_tenths) * kBarColumns / 1000 : 0,
                          '#');
    const std::string first = fmt::format(
        "  {} {} %  {}  {}", pad_right(w.group, 13), pad_left(tenths(w.share_tenths), 6),
        pad_left(shown(w.time_shown, table.unit) + " " + table.unit.name, width),
        judged ? pad_right(bar, kBarColumns) + "  " : "");
    std::vector<std::string> details = details_of(w, table.unit);
    for (std::string& d : details) d = escape_text(d);
    out << hanging_pieces(first, details);
  }
  row("sum", 1000, table.sum_shown, "");
}

void print_labelled(const std::string& label, const std::string& text, std::ostream& out) {
  if (!text.empty()) out << hanging("     " + pad_right(label, 17), escape_text(text));
}

void print_some(const std::string& label, const std::vector<std::string>& texts, size_t limit,
                std::ostream& out) {
  for (size_t i = 0; i < texts.size() && i < limit; ++i)
    print_labelled(i == 0 ? label : "", texts[i], out);
}

void print_action(size_t number, const ReportFinding& f, bool all, const Paint& paint,
                  std::ostream& out) {
  const std::string first = fmt::format("  {}  ", number);
  std::string tail = "phase: " + f.finding.phase;
  const std::string with_gain = "gain " + f.gain + "   " + tail;
  const bool gain_in_tail = !f.gain.empty() && with_gain.size() <= kReportColumns;
  if (gain_in_tail) tail = with_gain;
  const auto lines = wrap(escape_text(f.finding.title), kReportColumns - first.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string line = (i == 0 ? first : std::string(first.size(), ' ')) + paint.bold(lines[i]);
    const size_t used = first.size() + width_of(lines[i]);
    if (i + 1 == lines.size()) {
      const bool fits = used + 3 + tail.size() <= kReportColumns;
      line += fits ? std::string(kReportColumns - used - tail.size(), ' ') + tail
                   : "\n" + pad_left(tail, kReportColumns);
    }
    out << line << "\n";
  }
  if (!gain_in_tail) print_labelled("gain", f.gain, out);
  print_labelled("after", f.after, out);
  print_labelled("ahead of", f.ahead_of, out);
  for (const std::string& other : f.instead_of) print_labelled("instead of", other, out);
  std::string previous;
  for (const auto& line : f.actions) {
    print_labelled(line.framework == previous ? "" : line.framework, action_text(line), out);
    previous = line.framework;
  }
  for (const std::string& other : f.with) print_labelled("with", other, out);
  print_labelled("because", f.because, out);
  print_labelled("why", all ? f.finding.why : first_sentences(f.finding.why), out);
  print_some("published", f.finding.published, all ? SIZE_MAX : kShortPublished, out);
  print_some("watch", f.finding.pitfalls, pitfalls_shown(f, all), out);
  print_some("verify", f.finding.verify, all ? SIZE_MAX : kShortVerify, out);
  print_labelled("more", more_words(f, all), out);
}

void print_unknown(const Report& report, bool all, std::ostream& out) {
  size_t count = 0;
  for (const ReportFinding& f : report.findings) {
    if (f.finding.status != FindingStatus::unknown || f.missing_facts.empty()) continue;
    if (count++ == 0) out << "  may apply, but not everything it needs is known:\n";
    if (!all && count > kShortList) continue;
    out << hanging("     ", escape_text(may_apply_words(f)));
  }
  if (!all && count > kShortList)
    out << fmt::format("     and {} more (--all)\n", count - kShortList);
}

void print_actions(const Report& report, const RenderOptions& options, const Paint& paint,
                   std::ostream& out) {
  size_t count = 0, left = 0;
  out << heading(paint, "DO NEXT", order_caption(report));
  if (const std::string whose = settings_caption(report); !whose.empty())
    out << hanging("  ", whose);
  for (const ReportFinding& f : report.findings) {
    if (f.finding.status != FindingStatus::fires) continue;
    if (!options.all && count == kShortActions) {
      ++left;
    } else {
      print_action(++count, f, options.all, paint, out);
    }
  }
  if (count == 0)
    out << (report.later_releases.empty()
                ? "  No rule of the catalogue applies to what was recorded.\n"
                : "  Nothing that the stated release has applies to what was recorded.\n");
  if (left > 0) out << fmt::format("  and {} more (--all)\n", left);
  print_unknown(report, options.all, out);
  if (!report.held_back.empty())
    out << "  held back by a setting that an item above is to change first:\n";
  for (const std::string& words : report.held_back) out << hanging("     ", escape_text(words));
  if (!report.later_releases.empty())
    out << "  not offered, since the stated release does not have it:\n";
  for (const Report::LaterRelease& later : report.later_releases)
    out << hanging("     ", escape_text(later.words()));
  for (size_t i = 0; i < report.not_offered.size() && (options.all || i < kShortNotOffered); ++i) {
    if (i == 0) out << "  not offered, since next to nothing of the step is lost to it:\n";
    out << hanging("     ", escape_text(report.not_offered[i]));
  }
  if (!options.all && report.not_offered.size() > kShortNotOffered)
    out << fmt::format("     and {} more (--all)\n", report.not_offered.size() - kShortNotOffered);
}

void print_notes(const Report& report, bool all, const Paint& paint, std::ostream& out) {
  const auto assumptions = assumption_lines(report, all);
  out << heading(paint, "WHAT I COULD NOT SEE", "");
  for (size_t i = 0; i < report.notes.size(); ++i) {
    const ReportNote& n = report.notes[i];
    const std::string label = "  " + pad_right(phrase_of_severity(n.severity), 11);
    out << hanging(
        n.severity == "info" ? label : paint(n.severity == "data_loss" ? "31" : "33", label),
        escape_text(note_line(n)));
    if (advises(report, i)) out << hanging(std::string(13, ' ') + "do: ", escape_text(n.advice));
  }
  if (const auto line = recorder_line(report))
    out << hanging("  " + pad_right("recording", 11), escape_text(*line));
  for (const std::string& line : assumptions)
    out << hanging("  " + pad_right("assumed", 11), escape_text(line));
}

struct Columns {
  std::vector<size_t> widths;
  size_t used = 0;     // with the blanks between
  bool brief = false;  // names
};

std::string name_of(const Table::Column& column, bool brief) {
  return brief && !column.brief.empty() ? column.brief : column.name;
}

// Flexible columns give way until the line fits, the last of them first; then names.
Columns columns_of(const Table& table, const std::vector<std::vector<std::string>>& cells,
                   size_t count, bool brief = false) {
  Columns out;
  out.brief = brief;
  for (size_t i = 0; i < count; ++i) {
    size_t width = width_of(name_of(table.columns[i], brief));
    for (const auto& row : cells) {
      const size_t wide = width_of(row[i]);
      width = std::max(width, table.columns[i].flexible ? std::min(wide, kFlexibleColumns) : wide);
    }
    out.widths.push_back(width);
    out.used += width + 2;
  }
  for (size_t i = count; i-- > 0 && out.used > kReportColumns;) {
    if (!table.columns[i].flexible) continue;
    const size_t least =
        std::min(out.widths[i], std::max(kLeastColumns, width_of(table.columns[i].name)));
    const size_t over = std::min(out.used - kReportColumns, out.widths[i] - least);
    out.widths[i] -= over;
    out.used -= over;
  }
  return brief || out.used <= kReportColumns ? out : columns_of(table, cells, count, true);
}

void print_table(const Table& table, const Paint& paint, std::ostream& out) {
  std::vector<std::vector<std::string>> cells;
  for (const auto& row : table.rows) {
    auto& line = cells.emplace_back();
    for (const std::string& cell : row) line.push_back(escape_text(cell));
  }
  size_t count = table.columns.size();
  Columns columns = columns_of(table, cells, count);
  if (table.columns.back().below && columns.widths.back() < kNameColumns &&
      std::any_of(cells.begin(), cells.end(),
                  [&](const auto& row) { return width_of(row.back()) > columns.widths.back(); }))
    columns = columns_of(table, cells, --count);
  for (size_t i = 0; i < count; ++i) {
    if (!table.columns[i].flexible) continue;
    std::vector<std::string> column;
    column.reserve(cells.size());
    for (const auto& row : cells) column.push_back(row[i]);
    column = shorten_distinct(column, columns.widths[i]);
    for (size_t r = 0; r < cells.size(); ++r) cells[r][i] = column[r];
  }
  const auto print_row = [&](const std::vector<std::string>& row) {
    std::string line = "  ";
    for (size_t i = 0; i < count; ++i)
      line += (i > 0 ? "  " : "") + (table.columns[i].right ? pad_left(row[i], columns.widths[i])
                                                            : pad_right(row[i], columns.widths[i]));
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << "\n";
  };
  out << heading(paint, table.title, table.caption);
  std::vector<std::string> names;
  for (const auto& c : table.columns) names.push_back(name_of(c, columns.brief));
  if (!cells.empty()) print_row(names);
  for (const auto& row : cells) {
    print_row(row);
    if (count == row.size() || row.back().empty()) continue;
    const std::string label = "    " + table.columns.back().name + ": ";
    out << label << shorten_middle(row.back(), kReportColumns - width_of(label)) << "\n";
  }
  for (const std::string& remark : table.remarks) out << hanging("  ", remark);
}

}  // namespace

void render_text(const Report& report, const RenderOptions& options, std::ostream& out) {
  const Paint paint{options.color};
  print_headline(report, out);
  if (report.run.selection) out << hanging("only a part: ", escape_text(*report.run.selection));
  out << "\n";
  print_verdict(report, paint, out);
  print_where(report, paint, out);
  print_actions(report, options, paint, out);
  print_notes(report, options.all, paint, out);
  for (const Table& table : detail_tables(report, options.all)) print_table(table, paint, out);
}

}  // namespace ws
