// Tested by: report_test (missing_facts_test.cpp)
#include "report/missing_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "advise/frameworks.h"
#include "base/text.h"
#include "report/fact_words.h"

namespace ws {
namespace {

constexpr std::string_view kConfig = "--config FILE";
constexpr std::string_view kMemory =
    "torch.profiler with profile_memory=True, or nsys with --cuda-memory-usage=true";
constexpr std::string_view kAllRanks =
    "record the same steps on every rank and analyze the files together";
constexpr std::string_view kHost =
    "nsys with -t cuda,nvtx,osrt, or torch.profiler with CPU activities";
constexpr std::string_view kKernels =
    "nsys with -t cuda, or torch.profiler with CUDA activities, over whole steps";
constexpr std::string_view kTypes = "torch.profiler, or `wallsight record`, over whole steps";
constexpr std::string_view kReplay =
    "analyze whole steps that follow each other, without --no-what-if";

struct Source {
  std::string_view fact;  // "table.column", or "table" for the rest of its columns
  std::string_view what;  // "": the column, of the run configuration
  std::string_view how;
};
constexpr Source kSources[] = {
    {"fact_memory", "memory events", kMemory},
    {"fact_run.latent_memory_wall", "memory events", kMemory},
    {"fact_run.gpu", "the kind of GPU", "record it, or name the platform in the configuration"},
    {"fact_run.platform", "the kind of GPU",
     "record it, or name the platform in the configuration"},
    {"fact_run.framework", "the framework", kConfig},
    {"fact_run.framework_by", "the framework", kConfig},
    {"fact_run.stage_max_over_mean", "all pipeline stages on one clock", kAllRanks},
    {"fact_run.linked_share", "launches beside their kernels", kHost},
    {"fact_run", "a partition of the step", kKernels},
    {"fact_rank", "several ranks on one clock", kAllRanks},
    {"fact_rank_leaf", "several ranks on one clock", kAllRanks},
    {"fact_across", "several ranks on one clock", kAllRanks},
    {"fact_late_cause", "several ranks on one clock", kAllRanks},
    {"fact_comm", "communication of that kind", "record steps in which it runs"},
    {"fact_collective", "communication of that kind", "record steps in which it runs"},
    {"fact_host", "API calls and host ranges", kHost},
    {"fact_idle", "idle time by cause", kHost},
    {"fact_kernel", "recorded kernels", kKernels},
    {"fact_kernel_class", "recorded kernels", kKernels},
    {"fact_leaf", "a partition of the step", kKernels},
    {"fact_loss", "a partition of the step", kKernels},
    {"fact_step", "steps", "record whole steps with step markers"},
    {"fact_step_leaf", "steps", "record whole steps with step markers"},
    {"fact_layout", "sizes, GPUs and platform in the run configuration", kConfig},
    {"fact_throughput", "batch and sequence in the run configuration", kConfig},
    {"fact_setting", "the run configuration", kConfig},
    {"fact_what_if", "re-simulated gains", kReplay},
    {"fact_replay", "re-simulated gains", kReplay},
    {"fact_config.optimizer_seen", "the kind of optimizer", kHost},
    {"fact_config.ddp_seen", "ranges of DistributedDataParallel", kHost},
    {"fact_config.loader_workers_seen", "ranges of the loader", kHost},
    {"fact_config.reduces_in_16_bits", "the type of the gradients that are reduced", kTypes},
    {"fact_config.precision", "the precision of the matrix multiplications", kKernels},
    {"fact_config", "", kConfig}};

// What is computed of the configuration, by column, and the settings that it rests on.
struct Need {
  std::string_view column, settings;
};
constexpr Need kNeeds[] = {{"dp", "gpus"},
                           {"edp", "gpus num_experts"},
                           {"accumulation", "gpus micro_batch global_batch"},
                           {"bubble_share", "gpus micro_batch global_batch"},
                           {"samples_per_pass", "gpus micro_batch"},
                           {"batch_fits", "gpus micro_batch global_batch"},
                           {"attention_fits", "gpus"},
                           {"expert_fits", "gpus num_experts"},
                           {"experts_fit", "num_experts"},
                           {"tokens_per_shard", "seq_len"},
                           {"sequence_fits", "seq_len"},
                           {"cp_suggested", "seq_len"},
                           {"cp_offered", "seq_len"},
                           {"tokens_per_step", "global_batch seq_len"},
                           {"tokens_per_s_per_gpu", "gpus global_batch seq_len"},
                           {"core_release", "framework_version"},
                           {"te_release", "te_version"},
                           {"torch_release", "torch_version"},
                           {"cuda_graphs", "cuda_graph_impl"}};

std::vector<std::string> settings_behind(std::string_view column) {
  for (const Need& need : kNeeds)
    if (need.column == column) return words_of(need.settings);
  return {};
}

// Those that the given file has not.
std::vector<std::string> absent_behind(std::string_view column, const Supply& supply) {
  std::vector<std::string> out;
  if (!supply.config_given) return out;
  for (std::string& setting : settings_behind(column))
    if (std::find(supply.absent.begin(), supply.absent.end(), setting) != supply.absent.end())
      out.push_back(std::move(setting));
  return out;
}

const Source* source_of(const std::string& fact) {
  const auto find = [](std::string_view name) {
    const auto* it = std::find_if(std::begin(kSources), std::end(kSources),
                                  [&](const Source& s) { return s.fact == name; });
    return it == std::end(kSources) ? nullptr : it;
  };
  const Source* exact = find(fact);
  return exact != nullptr ? exact : find(std::string_view(fact).substr(0, fact.find('.')));
}

std::string column_in(const std::string& fact) {
  return fact.substr(std::min(fact.find('.'), fact.size() - 1) + 1);
}

std::string column_of(const std::string& fact) { return column_words(column_in(fact)); }

bool is_setting(const std::string& fact) {
  const Source* source = source_of(fact);
  return source != nullptr && source->what.empty() && fact.find('.') != std::string::npos;
}

}  // namespace

std::string missing_words(const std::string& fact) {
  if (is_setting(fact)) return column_of(fact) + " of the run configuration";
  const Source* source = source_of(fact);
  if (source == nullptr) return column_of(fact);
  return source->what.empty() ? "the run configuration" : std::string(source->what);
}

Supply supply_of(const FactDb& facts, const std::vector<Finding>& findings) {
  Supply out;
  out.recorders = recorders_of(facts);
  auto row = facts.db().prepare(
      "SELECT given, sizes_contradicted, framework, coalesce(spelled, '') FROM fact_config");
  if (!row || !row->step()) return out;
  const bool disowned = std::any_of(findings.begin(), findings.end(),
                                    [](const Finding& f) { return f.disowns_file; });
  out.config_given = row->int64(0) != 0 && row->int64(1) == 0 && !disowned;  // of this run
  out.framework = std::string(row->text(2));
  out.spelled = std::string(row->text(3));
  for (const Need& need : kNeeds) {
    for (const std::string& key : words_of(need.settings)) {
      auto value = facts.db().prepare("SELECT 1 FROM fact_config WHERE " + key + " IS NOT NULL");
      if (!value || value->step() ||
          std::find(out.absent.begin(), out.absent.end(), key) != out.absent.end())
        continue;
      out.absent.push_back(key);
    }
  }
  return out;
}

std::string how_to_supply(const std::string& fact, const Supply& supply) {
  const Source* source = source_of(fact);
  if (source == nullptr) return "not in this recording";
  if (source->how != kConfig || !supply.config_given) return supply.recorders.in_order(source->how);
  const std::string column = column_in(fact);
  std::string key = is_setting(fact) ? key_in_file(column, supply.framework, supply.spelled) : "";
  for (const std::string& setting : absent_behind(column, supply))
    key += (key.empty() ? "" : ", ") + key_in_file(setting, supply.framework, supply.spelled);
  return key.empty() ? "`wallsight plan` on the file of --config lists what it lacks"
                     : fmt::format("add {} to the file of --config", key);
}

std::string facts_words(const std::vector<std::string>& facts, const Supply& supply) {
  struct Way {
    std::string how;
    std::vector<std::string> settings, others;
  };
  std::vector<Way> ways;
  for (const std::string& fact : facts) {
    const std::string how = how_to_supply(fact, supply);
    auto way = std::find_if(ways.begin(), ways.end(), [&](const Way& w) { return w.how == how; });
    if (way == ways.end()) way = ways.insert(ways.end(), Way{how, {}, {}});
    std::vector<std::string> words;
    for (const std::string& setting : absent_behind(column_in(fact), supply))
      words.push_back(column_words(setting));
    const bool of_settings = is_setting(fact) || !words.empty();
    if (words.empty()) words = {is_setting(fact) ? column_of(fact) : missing_words(fact)};
    auto& list = of_settings ? way->settings : way->others;
    for (std::string& word : words)
      if (std::find(list.begin(), list.end(), word) == list.end()) list.push_back(std::move(word));
  }
  std::vector<std::string> out;
  for (Way& way : ways) {
    if (!way.settings.empty())
      way.others.insert(way.others.begin(),
                        fmt::format("{} of the run configuration", fmt::join(way.settings, ", ")));
    out.push_back(fmt::format("{}: {}", fmt::join(way.others, ", "), way.how));
  }
  return fmt::format("{}", fmt::join(out, "; "));
}

}  // namespace ws
