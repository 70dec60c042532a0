// Tested by: render_plan_test.cpp
#include <fmt/format.h>

#include "plan/render_plan.h"
#include "report/escape.h"
#include "report/numbers.h"

namespace ws {
namespace {

std::string md(const std::string& s) { return escape_markdown(s); }

void row(std::ostream& out, const std::string& a, const std::string& b) {
  out << "| " << md(a) << " | " << md(b) << " |\n";
}

void memory(const Plan& p, std::ostream& out) {
  if (!p.memory) return;
  const PlanMemory& m = *p.memory;
  out << "\n## Memory per GPU\n\nEstimate by formula";
  if (m.rank_totals.size() > 1) out << ", of pipeline rank " << m.rank << ", the fullest";
  out << ".\n\n| part | size | formula | source |\n|---|---:|---|---|\n";
  for (const MemoryPart& part : m.parts)
    out << "| " << md(part.name) << " | " << bytes_text(part.bytes) << " | " << md(part.formula)
        << " | " << md(part.source) << " |\n";
  out << "| **total** | **" << memory_words(m) << "** | +- " << bytes_text(m.uncertainty_bytes);
  if (m.capacity_bytes)
    out << fmt::format(" of {} ({})", bytes_text(*m.capacity_bytes), md(m.capacity_of));
  out << " | |\n\n";
  if (!m.assumed.empty())
    out << "Assumed: " << md(fmt::format("{}", fmt::join(m.assumed, "; "))) << ".\n";
  out << "Not in it: " << md(fmt::format("{}", fmt::join(m.excluded, "; "))) << ".\n";
}

void findings(const Plan& p, std::ostream& out) {
  if (p.model_only && p.findings.empty()) return;
  out << "\n## Do first\n\n";
  if (p.findings.empty()) out << "Nothing found.\n";
  int number = 0;
  for (const Finding& f : p.findings) {
    out << ++number << ". **" << md(f.title) << "** (" << kind_words(f) << ")\n";
    if (const std::string first = held_back_words(p, f); !first.empty())
      out << "   - after: " << md(first) << "\n";
    for (const Action& a : shown_actions(p, f))
      out << "   - " << md(std::string(phrase_of_framework(a.framework))) << ": "
          << markdown_code(fix_words(a)) << "\n";
    for (const std::string& other : with_words(p, f)) out << "   - with: " << md(other) << "\n";
    out << "   - because: " << md(f.why) << "\n";
    if (const std::string values = evidence_words(f); !values.empty())
      out << "   - here: " << md(values) << "\n";
    for (const std::string& s : f.published) out << "   - published: " << md(s) << "\n";
    for (const std::string& s : f.pitfalls) out << "   - watch: " << md(s) << "\n";
    out << "   - source: " << md(fmt::format("{}", fmt::join(f.sources, "; "))) << "\n";
  }
}

void list(std::ostream& out, const char* title, const std::vector<std::string>& lines, bool code) {
  if (lines.empty()) return;
  out << "\n## " << title << "\n\n";
  for (const std::string& s : lines) out << "- " << (code ? markdown_code(s) : md(s)) << "\n";
}

}  // namespace

void render_plan_markdown(const Plan& p, std::ostream& out) {
  out << "# Plan of " << md(p.source) << "\n\n| | |\n|---|---|\n";
  row(out, "result", result_words(p));
  row(out, "form", p.format);
  row(out, "GPUs", p.gpus ? fmt::format("{}", *p.gpus) : "not given");
  row(out, "platform", p.platform.empty() ? "not known" : p.platform);
  row(out, "framework", p.framework.empty() ? "not known" : software_words(p));
  if (p.model_only) {
    row(out, "model", model_words(p));
  } else {
    for (const PlanGrid& g : p.grids) row(out, g.name, grid_arithmetic(g));
    row(out, "smallest job", p.min_gpus_arithmetic);
    row(out, "batch", batch_words(p));
    row(out, "context", context_words(p.context));
  }
  if (!p.profile_first.empty()) row(out, "profile first", p.profile_first);
  memory(p, out);
  findings(p, out);
  if (p.nearest) list(out, "Nearest published run", nearest_words(*p.nearest), false);
  list(out, "Dry run", p.dry_run, true);
  list(out, "What limits this plan", p.notes, false);
}

}  // namespace ws
