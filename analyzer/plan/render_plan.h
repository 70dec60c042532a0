#pragma once
// The plan in the formats of reports: text, md, json (schemas/plan.schema.json).
#include <ostream>
#include <string_view>

#include "plan/plan.h"
#include "report/phrases.h"

namespace ws {

struct PlanFormat {
  std::string_view name;
  void (*render)(const Plan&, std::ostream&);
};

void render_plan_text(const Plan& plan, std::ostream& out);
void render_plan_markdown(const Plan& plan, std::ostream& out);
void render_plan_json(const Plan& plan, std::ostream& out);

Result<PlanFormat> find_plan_format(std::string_view name);

// Shared by the renderers: "TP 1 x CP 32 x PP 8 = 256, DP 1", and what a finding is.
std::string gpus_words(int64_t count);  // "1 GPU", "8 GPUs"
// "17.2 GiB", or both ends where the recompute is not known.
std::string memory_words(const PlanMemory& memory);
std::string result_words(const Plan& plan);    // "adds up and fits the memory; smallest job 8 GPUs"
std::string software_words(const Plan& plan);  // "Megatron-LM 0.16"; "": not known
std::string model_words(const Plan& plan);     // what a file of a model alone gives
std::string grid_arithmetic(const PlanGrid& grid);
std::string_view kind_words(const Finding& finding);
std::string held_back_words(const Plan& plan, const Finding& finding);  // title to act on first
std::string fix_words(const Action& action);
std::string evidence_words(const Finding& finding);  // "GPU h100, PP 8"; "": nothing of it is shown
// Where the configuration tells the framework, the settings of others are of no use.
std::vector<Action> shown_actions(const Plan& plan, const Finding& finding);
// "--sequence-parallel of item 1": what belongs to the fix and is told there.
std::vector<std::string> with_words(const Plan& plan, const Finding& finding);
std::string context_words(const PlanContext& context);
std::string batch_words(const Plan& plan);
std::vector<std::string> nearest_words(const PlanNearest& nearest);

}  // namespace ws
