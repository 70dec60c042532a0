#pragma once
// Plan: what can be said of a run before anything has run. Plain values; renderers only format.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "advise/finding.h"
#include "advise/rule.h"
#include "base/result.h"
#include "config/config_study.h"
#include "config/known_runs.h"

namespace ws {

struct PlanGrid {
  std::string name;                                 // attention, sharding, experts
  using Size = std::optional<int64_t>;              // absent: only the start of the job knows
  std::vector<std::pair<std::string, Size>> sizes;  // TP CP PP, or ETP EP PP
  std::string rest_name;  // DP, EDP; "": nothing is left, world is product
  std::optional<int64_t> product;
  std::optional<int64_t> world, rest;  // rest: world / product, whole numbers only
  bool fits() const { return rest_name.empty() ? *world == *product : *world % *product == 0; }
};

struct PlanContext {
  std::optional<int64_t> seq_len, tokens_per_rank, suggested, cp, tp;
};

struct PlanMemory {
  std::vector<MemoryPart> parts;  // of the fullest pipeline rank
  size_t rank = 0;
  std::vector<int64_t> rank_totals;
  int64_t total_bytes = 0, uncertainty_bytes = 0;
  std::optional<int64_t> least_bytes;  // the total is the upper end of a range
  std::optional<int64_t> capacity_bytes;
  std::string capacity_of;  // "h100"
  std::vector<std::string> assumed, excluded;
};

struct PlanNearest {
  KnownRun run;
  std::vector<std::string> differences;  // "CP 32 there, 16 here"
};

// What it comes to. `status` is the worst that is known: a setting that does not work, then the
// memory, then what can not be said.
struct PlanResult {
  std::string status;                 // violations does_not_fit not_enough_known may_not_fit fits
  std::string memory;                 // does_not_fit may_not_fit fits unknown
  size_t violations = 0, silent = 0;  // findings of these kinds; that of the memory is none
  std::vector<std::string> unknown;   // "the number of GPUs"
};

struct Plan {
  std::string source, format, platform, framework, framework_version;
  bool model_only = false;  // the file holds the sizes of a model and nothing of a run
  std::vector<std::pair<std::string, std::string>> config;  // every key with its value
  std::vector<PlanGrid> grids;
  std::optional<int64_t> min_gpus;
  std::string min_gpus_arithmetic;  // "PP 8 x lcm(TP x CP 32, ETP x EP 32) = 256"
  PlanContext context;
  std::optional<int64_t> gpus, dp, edp, accumulation, micro_batch, global_batch;
  std::optional<double> bubble_share;
  std::optional<PlanMemory> memory;
  std::optional<double> flops_per_token;
  std::optional<PlanNearest> nearest;
  std::vector<std::string> dry_run;  // lines to type, or why there are none
  std::string profile_first;
  std::vector<Finding> findings;  // what fires, in the order in which to act
  std::vector<std::string> notes;
};

PlanResult result_of(const Plan& plan);

// `platforms` must outlive the call only. Rules that read more than the configuration are not
// asked.
Result<Plan> build_plan(const RunConfig& config, const Platforms& platforms, const KnownRuns& known,
                        const RuleSet& rules);

}  // namespace ws
