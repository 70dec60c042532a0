// source: torchtitan torchtitan/config/job_config.py and config_manager.py in its releases,
// torchtitan/train.py (batch sizes), torchtitan/distributed/pipeline_parallel.py (stages,
// micro-batches), torchtitan/tools/utils.py (its loop collects, Python's timing is off)
// Tested by: torchtitan_test.cpp
#include "config/torchtitan.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/model_shape.h"

namespace ws {
namespace {

constexpr std::string_view kDefault = "default of torchtitan";

void drop(RunConfig& config, std::string_view key) {
  auto& all = config.entries;
  all.erase(
      std::remove_if(all.begin(), all.end(), [&](const ConfigEntry& e) { return e.key == key; }),
      all.end());
}

std::vector<std::string> words(const RunConfig& config, std::string_view key) {
  return list(config, key).value_or(std::vector<std::string>{});
}

// "float8", "quantize.linear.float8", "quantize.grouped_mm.float8"
bool converts_to(const RunConfig& config, std::string_view name) {
  const auto names = words(config, "converters");
  return std::any_of(names.begin(), names.end(), [&](const std::string& given) {
    return std::string_view(given).substr(given.rfind('.') + 1) == name;
  });
}

std::string lower(std::string s) {
  for (char& c : s)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return s;
}

struct Schedule {
  std::string_view name;  // in lower case, without underscores
  bool several_stages, zero_bubble, all_forward_first;
};
// source: PyTorch torch/distributed/pipelining/schedules.py
constexpr Schedule kSchedules[] = {
    {"1f1b", false, false, false},           {"gpipe", false, false, true},
    {"interleaved1f1b", true, false, false}, {"flexibleinterleaved1f1b", true, false, false},
    {"loopedbfs", true, false, true},        {"interleavedzerobubble", true, true, false},
    {"zbvzerobubble", true, true, false},    {"dualpipev", true, true, false}};

const Schedule* schedule_of(const RunConfig& config) {
  std::string name = lower(text(config, "pipeline_schedule").value_or(""));
  name.erase(std::remove(name.begin(), name.end(), '_'), name.end());
  for (const Schedule& s : kSchedules)
    if (s.name == name) return &s;
  return nullptr;
}

bool of_first_releases(const RunConfig& config) {
  const ConfigEntry* pp = entry(config, "pp");
  return integer(config, "pipeline_microbatches").has_value() ||
         (pp != nullptr && pp->shown.rfind("experimental.", 0) == 0);
}

}  // namespace

void add_torchtitan_defaults(RunConfig& config) {
  const auto leave = [&](const char* key, ConfigValue value) {
    add_missing(config, key, std::move(value), std::string(kDefault));
  };
  leave("fsdp_shard_size", int64_t{0});
  for (const char* degree : {"fsdp_replicas", "tp", "pp", "cp"}) leave(degree, int64_t{1});
  if (entry(config, "ep") != nullptr) leave("etp", int64_t{1});
  leave("manual_gc", true);
  leave("manual_gc_interval", int64_t{50});
  for (const char* off : {"torch_compile", "tp_comm_overlap", "optimizer_cpu_offload"})
    leave(off, false);
  leave("recompute_granularity", std::string("selective"));
  leave("selective_option", std::string("2"));
  leave("mixed_precision", std::string("bfloat16"));
  if (integer(config, "cp") > 1) leave("cp_comm_type", std::string("allgather"));
  if (integer(config, "pp") > 1) {
    leave("account_for_embedding", true);
    leave("account_for_loss", true);
  }
}

void add_converters(RunConfig& config) {
  const ConfigEntry* named = entry(config, "converters");
  const std::string place = named != nullptr ? named->place : std::string(kDefault);
  if (converts_to(config, "mx")) {
    set_value(config, "fp8_format", std::string("e4m3"), place);
    set_value(config, "fp8_recipe", std::string("mxfp8"), place);
    drop(config, "fp8_param_gather");
  } else if (converts_to(config, "float8") || text(config, "fp8_format")) {
    add_missing(config, "fp8_format", std::string("hybrid"), place);
    add_missing(config, "fp8_recipe", std::string("tensorwise"), place);
  } else if (!config.partial) {
    std::string idle;
    for (const char* key : {"fp8_recipe", "fp8_param_gather"}) {
      if (const ConfigEntry* e = entry(config, key)) idle += (idle.empty() ? "" : ", ") + e->shown;
      drop(config, key);
    }
    if (!idle.empty())
      config.notes.push_back(
          fmt::format("{}: without effect, since model.converters has no float8", idle));
  }
  const auto compiled = words(config, "compile_components");
  if (!compiled.empty() && std::count(compiled.begin(), compiled.end(), "model") == 0 &&
      boolean(config, "torch_compile") == true)
    set_value(config, "torch_compile", false, entry(config, "compile_components")->place);
  if (const ConfigEntry* backend = entry(config, "moe_flex_dispatcher_backend"))
    add_missing(config, "moe_token_dispatcher_type", std::string("flex"), backend->place);
}

std::optional<int64_t> pipelining_stages(const RunConfig& config, int64_t pp) {
  if (pp <= 1) return std::nullopt;
  const auto per_rank = [&](int64_t stages) {
    return stages > 0 && stages % pp == 0 ? std::optional(stages / pp) : std::nullopt;
  };
  if (const auto points = words(config, "pipeline_split_points"); !points.empty())
    return per_rank(static_cast<int64_t>(points.size()) + 1);
  const auto per_stage = integer(config, "layers_per_virtual_stage");
  const auto units = pipeline_units(config);
  if (per_stage && units) return per_rank((*units + *per_stage - 1) / *per_stage);
  if (per_stage) return std::nullopt;
  const Schedule* schedule = schedule_of(config);
  return schedule != nullptr && schedule->several_stages ? std::optional<int64_t>(2) : std::nullopt;
}

void cut_batch(const RunConfig& config, Layout& layout) {
  const bool whole = config.format == kTorchtitanFormat;
  if (whole && layout.micro_batch && layout.dp && !layout.global_batch &&
      !from_outside(config, "global_batch")) {
    layout.global_batch = saturating_product(*layout.micro_batch, *layout.dp);
    layout.batch_from_ranks = true;
  }
  if (const Schedule* schedule = schedule_of(config)) {
    layout.zero_bubble = schedule->zero_bubble;
    layout.forward_first = schedule->all_forward_first;
  }
  const auto size = integer(config, "pipeline_microbatch_size");
  const bool first = of_first_releases(config);
  if (layout.pp <= 1 || !layout.micro_batch || !(whole || size || first)) return;
  const int64_t samples = *layout.micro_batch;
  const int64_t count = integer(config, "pipeline_microbatches")
                            .value_or(saturating_product(layout.pp, layout.vpp.value_or(1)));
  const int64_t cut =
      first ? std::max<int64_t>(1, samples / count) : std::min(samples, size.value_or(1));
  layout.micro_batch = cut;
  layout.in_one_pass = std::max<int64_t>(1, samples / cut);
}

std::optional<int64_t> every_nth_recomputed(const RunConfig& config) {
  const std::string option = text(config, "selective_option").value_or("");
  const bool number =
      !option.empty() && option.size() < 6 &&
      std::all_of(option.begin(), option.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!number || text(config, "recompute_granularity") != "selective") return std::nullopt;
  return std::max(1, std::atoi(option.c_str()));  // 0: every layer
}

}  // namespace ws
