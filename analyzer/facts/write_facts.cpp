// Tested by: write_facts_test.cpp
#include "facts/write_facts.h"

#include <algorithm>

#include "facts/fact_writers.h"
#include "facts/work_share.h"

namespace ws {
namespace {

// GPUs of the job, to compare with those of a configuration: one for each rank of the world that
// the files name; without one, the recorded GPUs where they are more than the configuration has.
std::optional<int64_t> recorded_gpus(const RunAnalysis& run, const FactRowValues& asked) {
  const auto it = asked.find("gpus");
  if (it == asked.end()) return std::nullopt;
  int64_t world = 0, devices = 0;
  for (const RankAnalysis& rank : run.ranks) {
    world = std::max<int64_t>(world, rank.world_size);
    devices += static_cast<int64_t>(rank.devices.size());
  }
  if (world > 0) return world;
  const auto* configured = std::get_if<int64_t>(&it->second);
  return configured != nullptr && devices > *configured ? std::optional(devices) : std::nullopt;
}

std::optional<Contradiction> other_platform(const RunConfig& config, const FactInput& in) {
  const auto key = text(config, "platform");
  if (!key || !in.platforms.contradicts(*key, in.gpu.name, in.gpu.memory_bytes))
    return std::nullopt;
  return Contradiction{"platform", *key, in.gpu.name, false};
}

}  // namespace

Result<FactDb> write_facts(const RunAnalysis& run, const Platforms& platforms,
                           const FactOptions& options) {
  auto facts = FactDb::in_memory();
  if (!facts) return facts.error();
  const Database& db = facts->db();
  if (auto ok = db.exec("BEGIN"); !ok) return ok.error();
  FactInput in{run, platforms, options, evidence_of(run.ranks, run.means),
               recorded_gpu(run, platforms)};
  in.shown = config_shown(run, in.evidence);
  if (const RunConfig* said = options.config != nullptr ? options.config : options.stated)
    in.other_framework = framework_against_names(*said, in.shown);
  if (options.config != nullptr) {
    const FactRowValues asked = config_row(*options.config);
    FactRowValues recorded = recorded_config(run);
    if (const auto gpus = recorded_gpus(run, asked)) recorded["gpus"] = *gpus;
    std::set<std::string> defaults;
    for (const ConfigEntry& e : options.config->entries)
      if (e.place.rfind("default", 0) == 0) defaults.insert(e.key);
    int64_t world = 0;
    for (const RankAnalysis& rank : run.ranks) world = std::max<int64_t>(world, rank.world_size);
    const ConfigStudy study =
        study_config(*options.config, platforms, in.gpu.platform, in.gpu.smallest_bytes);
    in.work = work_share(in, study, in.shown);
    std::vector<Contradiction> of_other_run;
    // A program of somebody's own may run on Megatron Core: its file stays, and that is said.
    const bool own_program = in.other_framework &&
                             in.shown.program == ConfigShown::Program::megatron_core &&
                             options.config->format != kTorchtitanFormat;
    if (in.other_framework && !own_program) of_other_run.push_back(*in.other_framework);
    if (auto c = work_against_time(in.work)) of_other_run.push_back(*c);
    in.merge = merge_config(asked, recorded, defaults, layout_against_gpus(study.layout, world),
                            in.shown, of_other_run);
    const int64_t shards = study.layout.shard_product.value_or(1);
    if (world > 0 && world % shards == 0 && !in.merge->other_run)
      in.merge->row.try_emplace("gpus", world);
    if (own_program) in.merge->contradictions.push_back(*in.other_framework);
    if (const auto other = other_platform(*options.config, in))
      in.merge->contradictions.push_back(*other);
  }
  for (auto write : {write_run, write_config, write_layout, write_ranks, write_steps, write_losses,
                     write_kernels, write_collectives, write_idle, write_host, write_memory,
                     write_across, write_what_if, write_recorder, write_notes})
    if (auto ok = write(db, in); !ok) return ok.error();
  if (auto ok = db.exec("COMMIT"); !ok) return ok.error();
  return facts;
}

}  // namespace ws
