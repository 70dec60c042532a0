// Tested by: memory_estimate_test.cpp, plan_test.cpp
#include "config/config_study.h"

#include <fmt/format.h>

#include <algorithm>

namespace ws {
namespace {

// An explicit layout says how many virtual stages there are.
void take_stages_from_layout(Layout& layout, const PipelineSplit& split) {
  if (!split.given || layout.vpp || *split.given % layout.pp != 0) return;
  layout.vpp = *split.given / layout.pp;
  layout.stages = *split.given;
  if (layout.bubble_share) *layout.bubble_share /= static_cast<double>(*layout.vpp);
}

void limit(ConfigStudy& out, const char* what, const std::vector<std::string>& keys) {
  out.limits.push_back(fmt::format("{}: needs {}", what, fmt::join(keys, ", ")));
}

// Settings that the estimate reads and that only the start of the job knows. Without them it is no
// estimate: what is not there would count as one rank, or as off.
std::vector<std::string> missing_from_outside(const RunConfig& config) {
  static constexpr std::string_view kNoBytes[] = {"cuda_device_max_connections",
                                                  "gpus_per_node",
                                                  "layernorm_bwd_sm_margin",
                                                  "layernorm_fwd_sm_margin",
                                                  "manual_gc_interval",
                                                  "model",
                                                  "nodes",
                                                  "num_workers",
                                                  "overlap_grad_reduce",
                                                  "overlap_param_gather",
                                                  "platform"};
  std::vector<std::string> out;
  for (const std::string& key : config.outside)
    if (std::find(std::begin(kNoBytes), std::end(kNoBytes), key) == std::end(kNoBytes))
      out.push_back(key + " (comes from outside the file)");
  return out;
}

// As the file would write the key.
std::string spelled(const RunConfig& config, const std::string& key) {
  if (config.format == kNativeFormat) return key;
  if (config.format == kTorchtitanFormat) {
    std::vector<std::string> used;
    for (const ConfigEntry& e : config.entries) used.push_back(e.shown);
    const std::string name = key_table().in_torchtitan(key, used);
    return name.empty() ? key : name;
  }
  const std::string framework = text(config, "framework").value_or("");
  for (const WrittenKey& way : key_table().ways_to_write(key))
    if (way.framework == framework && way.constant.empty()) return way.name;
  return key;
}

bool shards_fit(const Layout& l) {
  if (!l.gpus || !l.shard_product) return true;
  return one_world_only(l) ? *l.gpus == *l.shard_product : *l.gpus % *l.shard_product == 0;
}

// What torchtitan has no name for stands in a section of our own.
std::string where_to_add(const RunConfig& config, const std::vector<std::string>& names) {
  if (config.format != kTorchtitanFormat) return "";
  const auto own = std::count_if(names.begin(), names.end(), [](const std::string& name) {
    return name.find('.') == std::string::npos;
  });
  if (own == 0) return "";
  return static_cast<size_t>(own) == names.size()
             ? " in a section [wallsight]"
             : ", names without a dot in a section [wallsight]";
}

void estimate(const RunConfig& config, ConfigStudy& out) {
  const char* kWhat = "memory estimate";
  std::vector<std::string> missing = out.model.missing;
  const auto outside = missing_from_outside(config);
  const auto is_outside = [&](const std::string& key) { return from_outside(config, key); };
  missing.erase(std::remove_if(missing.begin(), missing.end(), is_outside), missing.end());
  if (!out.layout.seq_len && !is_outside("seq_len")) missing.emplace_back("seq_len");
  for (std::string& key : missing) key = spelled(config, key);
  std::vector<std::string> needed = missing;
  if (!out.layout.gpus && !out.layout.dp && !is_outside("gpus"))
    needed.emplace_back("the number of GPUs (--gpus N)");
  needed.insert(needed.end(), outside.begin(), outside.end());
  if (!needed.empty()) {
    limit(out, kWhat, needed);
    if (missing.empty()) return;
    const std::string what = needed.size() > missing.size()
                                 ? fmt::format("{}", fmt::join(missing, ", "))
                             : missing.size() == 1 ? "it"
                                                   : "them";
    out.limits.back() += fmt::format("; add {} to the file{}", what, where_to_add(config, missing));
    return;
  }
  const bool experts_fit = !out.layout.experts || out.layout.edp || !out.layout.gpus;
  if (!out.layout.dp || !experts_fit || !shards_fit(out.layout))
    return limit(out, kWhat, {"a layout that divides the GPUs"});
  const auto wanted = static_cast<size_t>(out.layout.stages.value_or(1));
  if (out.split.stages.size() != wanted)
    return limit(out, kWhat, {"stages that agree with PP x VPP"});
  out.memory = estimate_memory(config, out.layout, *out.model.shape, out.split);
  if (!out.split.problem.empty())
    out.limits.push_back("memory estimate: layers spread as evenly as they go (" +
                         out.split.problem + ")");
}

// The job may not start, and nothing else in the plan says so.
void limit_groups(const RunConfig& config, ConfigStudy& out) {
  const auto groups = integer(config, "kv_heads");
  if (!groups || from_outside(out.layout, "tp") || text(config, "framework") == "pytorch") return;
  if (groups_take(config, *groups, out.layout.tp)) return;
  out.limits.push_back(
      fmt::format("TP {} over {} key-value head{}: Megatron Core refuses it before 0.16 "
                  "(--framework-version tells)",
                  out.layout.tp, *groups, *groups == 1 ? "" : "s"));
}

ConfigStudy arithmetic(const RunConfig& config, const Platform* platform) {
  ConfigStudy out;
  out.layout = layout_of(config);
  out.model = model_sizes(config);
  const ModelShape* shape = out.model.shape ? &*out.model.shape : nullptr;
  out.split = pipeline_split(config, out.layout, shape);
  take_stages_from_layout(out.layout, out.split);
  out.platform = platform;
  estimate(config, out);
  return out;
}

}  // namespace

ConfigStudy study_config(const RunConfig& config, const Platforms& platforms,
                         const Platform* recorded, int64_t recorded_bytes) {
  const auto name = text(config, "platform");
  const Platform* platform = recorded != nullptr ? recorded
                             : name              ? platforms.find(*name)
                                                 : nullptr;
  int64_t capacity = recorded_bytes;
  if (capacity == 0 && recorded != nullptr) capacity = recorded->memory_bytes;
  if (capacity == 0 && name) capacity = platforms.memory_of(*name);
  ConfigStudy out = arithmetic(config, platform);
  out.capacity_bytes = capacity;
  const auto memory = [&](const RunConfig& other) -> std::optional<MemoryShares> {
    const ConfigStudy study = arithmetic(other, platform);
    if (!study.memory || capacity == 0) return std::nullopt;
    const auto share = [&](int64_t bytes) {
      return static_cast<double>(bytes) / static_cast<double>(capacity);
    };
    const int64_t total = study.memory->ranks[study.memory->worst].total_bytes;
    return MemoryShares{share(total), share(total + study.memory->uncertainty_bytes), total};
  };
  const int64_t fast_domain = platform != nullptr ? platform->fast_domain_gpus : 0;
  out.remedies = remedies_of(config, out.layout, out.split, memory, fast_domain);
  out.offers = offers_of(config, out.layout, memory, fast_domain);
  limit_groups(config, out);
  out.precision = precision_of(config);
  out.recompute = check_recompute_names(config);
  if (out.model.shape && out.layout.seq_len)
    out.flops_per_token = flops_per_token(*out.model.shape, *out.layout.seq_len);
  return out;
}

}  // namespace ws
