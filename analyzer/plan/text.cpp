// Tested by: render_plan_test.cpp, tests/golden
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plan/render_plan.h"
#include "report/escape.h"
#include "report/layout.h"
#include "report/numbers.h"

namespace ws {
namespace {

void section(std::ostream& out, std::string_view name) { out << "\n" << name << "\n"; }
void line(std::ostream& out, const std::string& label, const std::string& text) {
  out << hanging("  " + pad_right(label, 15) + " ", escape_text(text));
}

void header(const Plan& p, std::ostream& out) {
  std::string what = p.gpus ? gpus_words(*p.gpus) : "GPUs not given";
  if (!p.platform.empty()) what += ", " + p.platform;
  if (const std::string software = software_words(p); !software.empty()) what += ", " + software;
  out << hanging("wallsight plan  ",
                 escape_text(fmt::format("{} ({})  {}", p.source, p.format, what)));
  out << "\n" << hanging("RESULT    ", result_words(p));
}

void layout(const Plan& p, std::ostream& out) {
  if (p.model_only) {
    section(out, "MODEL   all that is taken from the file");
    line(out, "sizes", model_words(p));
    return;
  }
  section(out, "LAYOUT");
  for (const PlanGrid& g : p.grids) line(out, g.name, grid_arithmetic(g));
  line(out, "smallest job", p.min_gpus_arithmetic);
  line(out, "batch", batch_words(p));
  line(out, "context", context_words(p.context));
}

void memory(const Plan& p, std::ostream& out) {
  if (!p.memory) return;
  const PlanMemory& m = *p.memory;
  const bool stages = m.rank_totals.size() > 1;
  section(out, std::string("MEMORY PER GPU   estimate by formula") +
                   (stages ? ", of the fullest pipeline rank" : ""));
  size_t width = 10;
  std::string nothing;
  for (const MemoryPart& part : m.parts) width = std::max(width, width_of(part.name));
  for (const MemoryPart& part : m.parts) {
    if (part.bytes == 0) {
      const size_t remark = part.formula.find("; ");
      nothing += (nothing.empty() ? "" : "; ") + part.name;
      if (remark != std::string::npos) nothing += ": " + part.formula.substr(remark + 2);
      continue;
    }
    out << hanging(
        "  " + pad_right(part.name, width) + "  " + pad_left(bytes_text(part.bytes), 10) + "  ",
        part.formula);
  }
  if (!nothing.empty()) line(out, "nothing kept", nothing);
  std::string total = fmt::format("{} +- {}", memory_words(m), bytes_text(m.uncertainty_bytes));
  if (m.capacity_bytes) {
    const auto percent = [&](int64_t bytes) {
      return fmt::format(
          "{:.0f}", 100.0 * static_cast<double>(bytes) / static_cast<double>(*m.capacity_bytes));
    };
    total +=
        fmt::format(", {}{} % of {} ({})", m.least_bytes ? percent(*m.least_bytes) + " to " : "",
                    percent(m.total_bytes), bytes_text(*m.capacity_bytes), m.capacity_of);
  }
  line(out, "total", total + (stages ? fmt::format("; pipeline rank {}", m.rank) : ""));
  if (!m.assumed.empty()) line(out, "assumed", fmt::format("{}", fmt::join(m.assumed, "; ")));
  line(out, "not in it", fmt::format("{}", fmt::join(m.excluded, "; ")));
  std::vector<std::string> sources;
  for (const MemoryPart& part : m.parts)
    if (std::find(sources.begin(), sources.end(), part.source) == sources.end())
      sources.push_back(part.source);
  for (const std::string& s : sources) line(out, "source", s);
}

void findings(const Plan& p, std::ostream& out) {
  if (p.model_only && p.findings.empty()) return;
  section(out, "DO FIRST");
  if (p.findings.empty()) out << "  nothing found\n";
  int number = 0;
  for (const Finding& f : p.findings) {
    out << hanging(fmt::format("  {:<2} ", ++number),
                   escape_text(fmt::format("{}  [{}]", f.title, kind_words(f))));
    if (const std::string first = held_back_words(p, f); !first.empty())
      out << hanging("     after           ", escape_text(first));
    for (const Action& a : shown_actions(p, f))
      out << hanging("     " + pad_right(std::string(phrase_of_framework(a.framework)), 15) + " ",
                     escape_text(fix_words(a)));
    for (const std::string& other : with_words(p, f))
      out << hanging("     with            ", escape_text(other));
    out << hanging("     because         ", escape_text(f.why));
    if (const std::string values = evidence_words(f); !values.empty())
      out << hanging("     here            ", escape_text(values));
    for (const std::string& s : f.published)
      out << hanging("     published       ", escape_text(s));
    for (const std::string& s : f.pitfalls) out << hanging("     watch           ", escape_text(s));
    out << hanging("     source          ",
                   escape_text(fmt::format("{}", fmt::join(f.sources, "; "))));
  }
}

}  // namespace

void render_plan_text(const Plan& p, std::ostream& out) {
  header(p, out);
  layout(p, out);
  memory(p, out);
  findings(p, out);
  if (p.nearest) {
    section(out, "NEAREST PUBLISHED RUN");
    for (const std::string& s : nearest_words(*p.nearest)) out << hanging("  ", escape_text(s));
  }
  if (!p.dry_run.empty() || !p.profile_first.empty()) section(out, "NEXT");
  for (const std::string& s : p.dry_run) line(out, "dry run", s);
  if (!p.profile_first.empty()) line(out, "profile first", p.profile_first);
  if (p.notes.empty()) return;
  section(out, "WHAT LIMITS THIS PLAN");
  for (const std::string& n : p.notes) out << hanging("  ", shorten(escape_text(n), 600));
}

}  // namespace ws
