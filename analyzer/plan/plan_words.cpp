// Tested by: plan_test.cpp, render_plan_test.cpp
#include <fmt/format.h>

#include <algorithm>

#include "plan/render_plan.h"
#include "report/fact_words.h"
#include "report/numbers.h"

namespace ws {

Result<PlanFormat> find_plan_format(std::string_view name) {
  static constexpr PlanFormat kFormats[] = {
      {"text", render_plan_text}, {"md", render_plan_markdown}, {"json", render_plan_json}};
  for (const PlanFormat& f : kFormats)
    if (f.name == name) return f;
  return Error{fmt::format("--report: expected one of text md json, found '{}'", name)};
}

std::string gpus_words(int64_t count) {
  return fmt::format("{} GPU{}", count, count == 1 ? "" : "s");
}

std::string memory_words(const PlanMemory& m) {
  if (!m.least_bytes) return bytes_text(m.total_bytes);
  return fmt::format("{} (all recomputed) to {} (nothing)", bytes_text(*m.least_bytes),
                     bytes_text(m.total_bytes));
}

std::string grid_arithmetic(const PlanGrid& grid) {
  std::string out;
  for (const auto& [name, size] : grid.sizes)
    out += fmt::format("{}{} {}", out.empty() ? "" : " x ", name,
                       size ? fmt::format("{}", *size) : "?");
  if (!grid.product) return out + ": not known, a size comes from outside the file";
  out += fmt::format(" = {}", *grid.product);
  if (!grid.world) return out;
  if (grid.rest_name.empty())
    return out + (grid.fits() ? ", the GPUs" : fmt::format("; not {}", gpus_words(*grid.world)));
  if (grid.rest)
    return out + fmt::format("; {} / {} = {} {}", gpus_words(*grid.world), *grid.product,
                             grid.rest_name, *grid.rest);
  return out + fmt::format("; {} / {} = {:.4g}, no whole number", gpus_words(*grid.world),
                           *grid.product,
                           static_cast<double>(*grid.world) / static_cast<double>(*grid.product));
}

std::string_view kind_words(const Finding& finding) {
  if (finding.kind == "error") return "does not work";
  return finding.kind == "silent" ? "does something else" : "could be better";
}

std::string held_back_words(const Plan& plan, const Finding& finding) {
  for (const Finding& f : plan.findings)
    if (f.rule == finding.held_back_by) return f.title;
  return "";
}

std::string evidence_words(const Finding& finding) {
  std::string out;
  for (const EvidenceValue& e : finding.evidence) {
    const std::string words = fact_words(e, finding);
    if (!words.empty()) out += (out.empty() ? "" : ", ") + words;
  }
  return out;
}

std::string fix_words(const Action& action) {
  std::string out = action.set;
  if (!action.to.empty()) {
    const bool assigned = action.framework == "megatron_bridge" || action.framework == "env";
    const bool flag = action.set.rfind("--", 0) == 0;
    out += (action.takes_away() ? ": " : assigned ? " = " : flag ? " " : ": ") + action.to;
  }
  if (!action.note.empty()) out += " (" + action.note + ")";
  return out;
}

namespace {

bool is_for(const Plan& plan, const std::string& framework) {
  return plan.framework.empty() || framework == plan.framework || framework == "any" ||
         framework == "env";
}

}  // namespace

std::vector<Action> shown_actions(const Plan& plan, const Finding& finding) {
  std::vector<Action> own;
  for (const Action& a : finding.actions)
    if (is_for(plan, a.framework)) own.push_back(a);
  return own.empty() && with_words(plan, finding).empty() ? finding.actions : own;
}

std::vector<std::string> with_words(const Plan& plan, const Finding& finding) {
  std::vector<std::string> out;
  for (const Finding::With& w : finding.with) {
    if (!is_for(plan, w.framework)) continue;
    const auto at = std::find_if(plan.findings.begin(), plan.findings.end(),
                                 [&](const Finding& f) { return f.rule == w.rule; });
    std::string words = fmt::format("{} of item {}", w.set, at - plan.findings.begin() + 1);
    if (std::find(out.begin(), out.end(), words) == out.end()) out.push_back(std::move(words));
  }
  return out;
}

std::string model_words(const Plan& plan) {
  std::string out;
  for (const auto& [key, value] : plan.config) out += (out.empty() ? "" : ", ") + key + " " + value;
  return out;
}

std::string context_words(const PlanContext& c) {
  if (!c.seq_len) return "sequence length not given";
  if (!c.suggested || !c.tokens_per_rank || !c.cp || !c.tp)
    return fmt::format("a sequence of {}; TP or CP comes from outside the file", *c.seq_len);
  return fmt::format(
      "CP {}: {} tokens per rank of a sequence of {}; first guess sequence / 4096 over TP {} = {}",
      *c.cp, *c.tokens_per_rank, *c.seq_len, *c.tp, *c.suggested);
}

std::string batch_words(const Plan& p) {
  std::vector<std::string> missing;
  if (!p.micro_batch) missing.emplace_back("micro-batch");
  if (!p.global_batch) missing.emplace_back("global batch");
  if (!p.dp) missing.emplace_back("DP");
  if (!missing.empty()) {
    const std::string last = missing.back();
    missing.pop_back();
    return fmt::format("{}{}{} not known", fmt::join(missing, ", "), missing.empty() ? "" : " and ",
                       last);
  }
  if (!p.accumulation)
    return fmt::format("global batch {} / (micro-batch {} x DP {}) = {:.4g}, no whole number",
                       *p.global_batch, *p.micro_batch, *p.dp,
                       static_cast<double>(*p.global_batch) / static_cast<double>(*p.micro_batch) /
                           static_cast<double>(*p.dp));
  std::string out =
      fmt::format("global batch {} / (micro-batch {} x DP {}) = {} micro-batches per step",
                  *p.global_batch, *p.micro_batch, *p.dp, *p.accumulation);
  if (p.bubble_share)
    out += fmt::format("; pipeline bubble {:.1f} % of the ideal step", 100 * *p.bubble_share);
  return out;
}

std::vector<std::string> nearest_words(const PlanNearest& n) {
  const KnownRun& r = n.run;
  std::vector<std::string> out = {
      fmt::format("{} on {} x {}: sequence {}, TP {} CP {} EP {} ETP {} PP {} VPP {}, {}, {}",
                  r.name, r.gpus, r.platform, r.seq_len, r.tp, r.cp, r.ep, r.etp, r.pp, r.vpp,
                  r.precision, r.dispatcher),
      fmt::format("recompute {}; graphs {}; {} TFLOPS per GPU", r.recompute, r.graphs,
                  r.tflops_per_gpu),
      n.differences.empty() ? "the same layout"
                            : fmt::format("differs: {}", fmt::join(n.differences, "; ")),
      fmt::format("source: {}", r.source)};
  if (!r.note.empty()) out.push_back("note: " + r.note);
  return out;
}

}  // namespace ws
