// One GPU plays ranks of the job. Tested by: plan_test.cpp
#include <fmt/format.h>

#include "advise/spellings.h"
#include "config/layout_search.h"
#include "plan/plan_parts.h"

namespace ws {
namespace {

// First, middle and last stage: they hold different layers and numbers of micro-batches.
std::vector<int64_t> ranks_to_play(const Layout& l, int64_t world) {
  std::vector<int64_t> stages = {0};
  if (l.pp > 2) stages.push_back(l.pp / 2);
  if (l.pp > 1) stages.push_back(l.pp - 1);
  for (int64_t& s : stages) s *= world / l.pp;
  return stages;
}

// What a rank without others can not do, or what the alltoall dispatcher does not go with.
// sources: Megatron-LM megatron/training/arguments.py (flex and DeepEP beside the fake group),
// megatron/core/transformer/transformer_config.py (what needs the flex dispatcher);
// Transformer Engine initialize_ub and NCCL user buffers need peers that answer
struct NotPlayed {
  const char *key, *value;  // of the run configuration; "": any value
  const char* spelled;      // a part of the name in the file; "": any name
  bool experts;             // in the way of the dispatcher of the dry run
  const char *flag, *why;
};
constexpr NotPlayed kNotPlayed[] = {
    {"moe_flex_dispatcher_backend", "deepep", "enable", true, "--moe-enable-deepep",
     "goes with the flex dispatcher alone"},
    {"moe_paged_stash", "true", "", true, "--moe-paged-stash", "needs the flex dispatcher"},
    {"moe_expert_rank_capacity_factor", "", "", true, "--moe-expert-rank-capacity-factor",
     "needs the flex dispatcher"},
    {"cuda_graph_impl", "full_iteration", "", true, "--cuda-graph-impl full_iteration",
     "captures an exchange of HybridEP alone"},
    {"tp_comm_overlap", "true", "", false, "--tp-comm-overlap", "its buffers need real peers"},
    {"nccl_ub", "true", "", false, "--use-nccl-ub", "registers buffers with NCCL"},
};

// What the command leaves out of the job's arguments; "": nothing.
std::string arguments_words(const RunConfig& config, const Layout& l) {
  std::string out;
  for (const NotPlayed& n : kNotPlayed) {
    const ConfigEntry* e = entry(config, n.key);
    if (e == nullptr || (n.experts && !l.experts)) continue;
    if (n.value[0] != '\0' && shown_value(e->value) != n.value) continue;
    if (e->shown.find(n.spelled) == std::string::npos) continue;
    out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", n.flag, n.why);
  }
  return out.empty() ? out : "ARGUMENTS are those of the job without " + out;
}

}  // namespace

// One GPU can play any rank of a job that exchanges nothing: memory is real, times are not.
// sources: Megatron-LM megatron/training/arguments.py (--fake-process-group, core 0.16 and later);
// Megatron-Bridge docs/training/memory-estimator.md; PyTorch
// torch/testing/_internal/distributed/fake_pg.py, which is no public interface; torchtitan
// run_train.sh (COMM_MODE)
std::vector<std::string> dry_run(const RunConfig& config, const Layout& l) {
  const std::string framework = text(config, "framework").value_or("");
  if (framework.empty())
    return {"needs the framework: --framework megatron-lm, megatron-bridge or pytorch"};
  if (!l.min_gpus) return {"needs the sizes that come from outside the file"};
  if (l.gpus && *l.gpus % *l.min_gpus != 0 && !SizeLimits(config, l).take(l))
    return {"follows once the sizes of the layout add up"};
  const bool adds_up = l.gpus && *l.gpus % *l.min_gpus == 0 && !one_world_only(l);
  const int64_t world = adds_up ? *l.gpus : *l.min_gpus;
  const std::vector<int64_t> ranks = ranks_to_play(l, world);
  if (framework == "megatron_bridge") {
    return {"Megatron Bridge has no dry run: estimate_training_memory(cfg, num_microbatches=" +
            (l.accumulation ? fmt::format("{}", *l.accumulation) : std::string("GA")) + ")"};
  }
  if (config.format == kTorchtitanFormat) {
    return {
        fmt::format("NGPU={} COMM_MODE=fake_backend CONFIG_FILE={} ./run_train.sh, of torchtitan "
                    "from end of 2025 on; it plays rank 0",
                    world, config.source)};
  }
  if (framework == "pytorch") {
    return {
        "PyTorch has no switch for it; in the script, in place of its own call: "
        "torch.distributed.init_process_group(\"fake\", store=FakeStore(), rank=R, world_size=" +
        fmt::format("{}) for R in {}; FakeStore from ", world, fmt::join(ranks, ", ")) +
        "torch.testing._internal.distributed.fake_pg, an internal of PyTorch's tests"};
  }
  const std::string version = text(config, "framework_version").value_or("");
  if (is_older(version, "0.16")) return {"--fake-process-group exists from Megatron Core 0.16 on"};
  std::string more = " --fake-process-group";
  if (l.experts) more += " --moe-token-dispatcher-type alltoall";
  std::vector<std::string> out;
  out.reserve(ranks.size());
  for (const int64_t rank : ranks)
    out.push_back(
        fmt::format("WORLD_SIZE={} RANK={} python pretrain_gpt.py ARGUMENTS{}", world, rank, more));
  const std::string without = arguments_words(config, l);
  if (!without.empty()) out.push_back(without);
  if (version.empty()) out.emplace_back("--fake-process-group exists from Megatron Core 0.16 on");
  return out;
}

}  // namespace ws
