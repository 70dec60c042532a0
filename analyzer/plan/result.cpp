// Tested by: plan_result_test.cpp, plan_test.cpp, tests/cli/plan_result_check.py
#include <fmt/format.h>

#include <algorithm>

#include "plan/plan.h"
#include "plan/render_plan.h"

namespace ws {
namespace {

// The error that tells of the memory, by what it shows: it is no setting that does not work.
bool tells_of_memory(const Finding& f) {
  return f.kind == "error" &&
         std::any_of(f.evidence.begin(), f.evidence.end(),
                     [](const EvidenceValue& e) { return e.expression == "lay.memory_lo_share"; });
}

std::string memory_state(const Plan& p) {
  if (!p.memory || !p.memory->capacity_bytes) return "unknown";
  const int64_t capacity = *p.memory->capacity_bytes, around = p.memory->uncertainty_bytes;
  const int64_t least = p.memory->least_bytes.value_or(p.memory->total_bytes);
  if (least - around > capacity) return "does_not_fit";
  return p.memory->total_bytes + around > capacity ? "may_not_fit" : "fits";
}

std::vector<std::string> unknown_of(const Plan& p) {
  if (p.model_only) return {"a run: the file holds the sizes of a model alone"};
  std::vector<std::string> out;
  if (!p.min_gpus) out.emplace_back("sizes that come from outside the file");
  if (!p.gpus) out.emplace_back("the number of GPUs");
  if (memory_state(p) == "unknown")
    out.emplace_back(p.memory ? "the memory of the GPU" : "what memory it takes");
  return out;
}

}  // namespace

PlanResult result_of(const Plan& p) {
  PlanResult out;
  for (const Finding& f : p.findings) {
    out.silent += f.kind == "silent";
    out.violations += f.kind == "error" && !tells_of_memory(f);
  }
  out.memory = memory_state(p);
  out.unknown = unknown_of(p);
  const bool exceeds = out.memory == "does_not_fit";
  out.status = out.violations > 0     ? "violations"
               : exceeds              ? "does_not_fit"
               : !out.unknown.empty() ? "not_enough_known"
                                      : out.memory;
  return out;
}

std::string result_words(const Plan& p) {
  const PlanResult r = result_of(p);
  std::string out;
  if (r.status == "violations") {
    out = r.violations == 1 ? "1 setting that does not work"
                            : fmt::format("{} settings that do not work", r.violations);
  } else if (r.status == "not_enough_known") {
    out = fmt::format("{}not known: {}", p.model_only ? "" : "no fault found, but ",
                      fmt::join(r.unknown, ", "));
  } else {
    out = r.status == "fits"          ? "adds up and fits the memory"
          : r.status == "may_not_fit" ? "adds up, but may not fit the memory"
                                      : "adds up, but does not fit the memory";
  }
  if (r.status != "violations" && r.silent > 0) out += "; see what it does without saying so";
  if (p.min_gpus) out += "; smallest job " + gpus_words(*p.min_gpus);
  return out;
}

std::string software_words(const Plan& p) {
  if (p.framework.empty()) return "";
  return std::string(phrase_of_framework(p.framework)) +
         (p.framework_version.empty() ? "" : " " + p.framework_version);
}

}  // namespace ws
