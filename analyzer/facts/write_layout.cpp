// fact_layout and fact_throughput: what the run configuration adds to what was recorded.
// Tokens per second and GPU = global batch x sequence / step time / GPUs; model FLOP/s utilisation
// = that x operations per token (model_shape.h) / dense datasheet peak of the GEMMs' precision.
// Tested by: config_facts_test.cpp
#include <fmt/format.h>

#include <algorithm>

#include "facts/config_facts.h"
#include "facts/fact_writers.h"

namespace ws {
namespace {

struct RunRow {
  std::optional<double> step_s;
  std::optional<int64_t> world_size;
  bool has_steps = false;
};

RunRow run_row(const Database& db) {
  RunRow out;
  auto row = db.prepare("SELECT step_mean_ns, world_size, step_count FROM fact_run");
  if (!row || !row->step()) return out;
  if (!row->is_null(0) && row->int64(0) > 0) out.step_s = row->real(0) / 1e9;
  if (!row->is_null(1)) out.world_size = row->int64(1);
  out.has_steps = row->int64(2) > 0;
  return out;
}

FactRowValues withheld(const std::string& why) { return {{"withheld", why}}; }

// Why the rates of the file are not those of the recording: another GPU, another run or scale.
std::optional<std::string> not_this_run(const FactInput& in) {
  constexpr const char* kRemedy = "; give the configuration of this run";
  if (in.merge && (in.merge->other_run || in.merge->other_scale))
    return fmt::format(
        "the configuration is that of another run or scale, and so may be its batch{}", kRemedy);
  if (in.merge && in.merge->not_in_use.count("num_experts") > 0)
    return fmt::format(
        "the configuration is of a model of experts, and nothing of experts was recorded{}",
        kRemedy);
  if (boolean(*in.options.config, "fake_process_group") == true)
    return "the configuration asks for fake ranks: a dry run exchanges nothing, and its steps are "
           "shorter than those of training";
  const auto key = text(*in.options.config, "platform");
  if (!key || !in.platforms.contradicts(*key, in.gpu.name, in.gpu.memory_bytes))
    return std::nullopt;
  return fmt::format("the configuration is for {}, the recording is of {}{}", *key, in.gpu.name,
                     kRemedy);
}

// GEMMs in FP32 or TF32 are slower than those in 16 bits: their peak bounds them too.
int64_t bound_flops(const Platform& platform, const std::string& precision) {
  const int64_t peak = peak_flops(platform, precision);
  return peak > 0 ? peak : std::max(platform.bf16_flops, platform.fp8_flops);
}

FactRowValues throughput_row(const FactInput& in, const ConfigStudy& study, const RunRow& run,
                             const std::string& precision) {
  FactRowValues out;
  const Layout& l = study.layout;
  if (study.flops_per_token) out["flops_per_token"] = *study.flops_per_token;
  if (!l.global_batch || !l.seq_len) return out;
  const int64_t tokens = saturating_product(*l.global_batch, *l.seq_len);
  out["tokens_per_step"] = tokens;
  const auto gpus = l.gpus ? l.gpus : run.world_size;
  if (!gpus || !run.step_s) return out;
  if (!run.has_steps) {
    out["withheld"] = std::string(
        "no step was found, and the whole recording is none; mark the steps in the recording");
    return out;
  }
  std::optional<WorkShare> work = in.work;
  if (work && study.platform != nullptr) work = work->held_against(*study.platform, precision);
  if (work && work->share() > 1)
    return withheld(fmt::format(
        "the model of the configuration needs {} per GPU and step, the recording "
        "has {}: model, batch or GPUs of the file are not those of the run, or the steps are "
        "parts of its steps; give the configuration of this run",
        work->work_words(), work->time_words()));
  const double rate = static_cast<double>(tokens) / *run.step_s / static_cast<double>(*gpus);
  out["tokens_per_s_per_gpu"] = rate;
  if (!study.flops_per_token) return out;
  const double tflops = rate * *study.flops_per_token / 1e12;
  out["tflops_per_gpu"] = tflops;
  if (study.platform == nullptr) return out;
  const int64_t bound = bound_flops(*study.platform, precision);
  if (bound > 0 && tflops * 1e12 > static_cast<double>(bound))
    return withheld(fmt::format(
        "it would be more than the peak of {}: the model, batch or GPUs of the configuration are "
        "not those of the recorded run; give its configuration",
        study.platform->key));
  if (precision.empty()) return out;
  const int64_t peak = peak_flops(*study.platform, precision);
  if (peak == 0) return out;
  out["peak_tflops"] = static_cast<double>(peak) / 1e12;
  out["peak_precision"] = precision;
  out["mfu"] = tflops / (static_cast<double>(peak) / 1e12);
  return out;
}

// What is known without a configuration of this run: the platform, and what every rank shows.
FactRowValues without_file(const FactInput& in, const Platform* platform) {
  FactRowValues out = platform_row(platform);
  if (in.shown.experts || in.shown.no_experts)
    out["experts"] = static_cast<int64_t>(in.shown.experts);
  return out;
}

// Of another run's file: nothing, or that and why its sizes make no grid.
FactRowValues of_other_run(const ConfigMerge& merge, const FactRowValues& layout) {
  FactRowValues out;
  const auto ends = [](std::string_view key, std::string_view part) {
    return key.size() >= part.size() && key.substr(key.size() - part.size()) == part;
  };
  for (const auto& [key, value] : layout) {
    const bool grid = key == "experts" || key == "attention_fits" || key == "expert_fits" ||
                      ends(key, "_arithmetic") || ends(key, "_nearest");
    if (merge.unfit && grid) out[key] = value;
  }
  return out;
}

}  // namespace

Result<void> write_layout(const Database& db, const FactInput& in) {
  const RunRow run = run_row(db);
  const Platform* platform = in.gpu.platform;
  FactRowValues alone = without_file(in, platform);
  if (in.options.config == nullptr) {
    if (auto ok = insert_row(db, "fact_layout", alone); !ok) return ok.error();
    return insert_row(db, "fact_throughput", {});
  }
  RunConfig config = as_it_ran(*in.options.config, *in.merge);
  const int64_t shards = layout_of(config).shard_product.value_or(1);
  if (run.world_size && *run.world_size % shards == 0 && !in.merge->other_run)
    add_missing(config, "gpus", *run.world_size, "recording");
  const ConfigStudy study = study_config(config, in.platforms, platform, in.gpu.smallest_bytes);
  const bool other_run = in.merge->other_run;
  FactRowValues layout = layout_row(config, study);
  if (other_run) {
    layout = of_other_run(*in.merge, layout);
    layout.insert(alone.begin(), alone.end());
  }
  layout["recorded"] = alone["recorded"] = static_cast<int64_t>(run.has_steps);
  if (auto ok = insert_row(db, "fact_layout", layout); !ok) return ok.error();
  if (auto ok = insert_without_file(db, "fact_layout", alone); !ok) return ok.error();
  std::string precision = study.precision.value_or("");
  if (const auto it = in.merge->row.find("precision"); it != in.merge->row.end())
    precision = std::get<std::string>(it->second);
  FactRowValues throughput = throughput_row(in, study, run, precision);
  const bool rated = throughput.count("tokens_per_s_per_gpu") + throughput.count("withheld") > 0;
  if (const auto why = not_this_run(in); why && (rated || other_run))
    throughput = rated ? withheld(*why) : FactRowValues{};
  return insert_row(db, "fact_throughput", throughput);
}

}  // namespace ws
