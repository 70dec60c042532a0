#pragma once
// Report formats. One function per format, one line each in formats.cpp.
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/report.h"

namespace ws {

struct RenderOptions {
  bool color = false;  // ANSI colours, text only
  bool all = false;    // every action and row
};

void render_text(const Report& report, const RenderOptions& options, std::ostream& out);
void render_markdown(const Report& report, const RenderOptions& options, std::ostream& out);
void render_json(const Report& report, const RenderOptions& options, std::ostream& out);

struct ReportFormat {
  std::string_view name;
  void (*render)(const Report&, const RenderOptions&, std::ostream&);
};

// The format of that name, or one line on what there is instead.
Result<ReportFormat> find_format(std::string_view name);

// Findings with clauses, values and missing facts: why each rule fired, did not, or can not say.
// One line per rule: those that fire first.
void render_explanation_summary(const std::vector<Finding>& findings, std::ostream& out,
                                const Supply& supply = {});
void render_explanations(const std::vector<Finding>& findings, std::ostream& out,
                         const Supply& supply = {});

}  // namespace ws
