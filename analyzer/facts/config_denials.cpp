// Tested by: config_denials_test.cpp
#include "facts/config_denials.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "facts/denial_sides.h"

namespace ws {
namespace {

// Reductions of whole tensors and nothing that sharding needs: neither gathers nor scatters.
bool only_all_reduces(const KindTraffic& t, double least) {
  return !t.unclear && t.all_reduces >= least && t.gathers == 0 && t.reduce_scatters == 0 &&
         t.all_to_alls == 0 && t.sends == 0;
}

// Enough of it to matter, in pieces of which all but the last could lie under compute, and none
// does.
bool never_hidden(const ConfigShown& shown, const KindTraffic& t, double ns, double hidden_ns) {
  constexpr double kMatters = 0.02, kNothing = 0.005;
  return shown.whole && t.records >= 2 && ns > kMatters * shown.step_ns &&
         hidden_ns < kNothing * ns;
}

constexpr const char* kLone = "one GPU that never communicates";
constexpr const char* kNothingHidden = "nothing of that traffic under compute";

// Attention and norms have kernels of the forward pass alone; other modules show by the range of
// their checkpoint. Of a list that runs in part nothing is said.
// source: Megatron-LM megatron/core/tensor_parallel/random.py (CheckpointFunction,
// CheckpointWithoutOutput)
bool no_module_again(const Sides& s) {
  if (s.shown.no_checkpoint) return true;
  std::string others = s.text("recompute_modules");
  for (const std::string_view name : {" core_attn ", " layernorm "})
    if (const size_t at = others.find(name); at != std::string::npos)
      others.erase(at, name.size() - 1);
  return s.shown.no_recompute && others.find_first_not_of(' ') == std::string::npos;
}

Found recompute(const Sides& s) {
  const std::string asked = s.text("recompute_granularity");
  const bool denied = (asked == "full" && s.shown.no_recompute) ||
                      (asked == "selective" && s.megatron() && no_module_again(s));
  if (!denied) return std::nullopt;
  return Denial{"recompute_granularity",
                asked,
                "no forward kernel in the backward pass",
                {{"recompute_granularity", std::string("none")}},
                {"recompute_modules", "recompute_method", "recompute_num_layers"}};
}

// Norms and activations are a small part of a layer's time. The forward pass of one micro-batch
// beside the backward of another is no recompute.
Found recomputed_layers(const Sides& s) {
  const std::string modules = s.text("recompute_modules");
  std::string others = modules;
  for (const std::string_view name : {"moe_act", "layernorm"})
    if (const size_t at = others.find(name); at != std::string::npos) others.erase(at, name.size());
  if (s.text("recompute_granularity") != "selective" || !s.megatron() || modules.size() < 3 ||
      others.find_first_not_of(' ') != std::string::npos || !s.shown.recompute_of_layers ||
      s.on("overlap_moe_expert_parallel_comm"))
    return std::nullopt;
  return Denial{"recompute_modules",
                modules.substr(1, modules.size() - 2),
                "forward kernels of whole layers in the backward pass",
                {},
                {"recompute_granularity", "recompute_modules"}};
}

bool no_sequence_parallelism(const Sides& s) {
  return s.shown.whole && only_all_reduces(s.shown.tp, kReductionsOfOneLayer);
}

Found sequence_parallel(const Sides& s) {
  if (!s.on("sequence_parallel") || !no_sequence_parallelism(s)) return std::nullopt;
  return Denial{"sequence_parallel",
                "yes",
                "all-reduces of TP without gathers",
                {{"sequence_parallel", int64_t{0}}},
                {}};
}

Found tp_overlap(const Sides& s) {
  const KindTraffic& tp = s.shown.tp;
  // Under async tensor parallelism of PyTorch what overlaps is no collective any more.
  const bool denied = s.text("framework") != "pytorch" && !tp.unclear && tp.sends == 0 &&
                      never_hidden(s.shown, tp, tp.ns, tp.hidden_ns);
  if (!s.on("tp_comm_overlap") || !denied) return std::nullopt;
  Denial out{"tp_comm_overlap", "yes", kNothingHidden, {}, {}};
  // Without sequence parallelism it can not run at all.
  if (no_sequence_parallelism(s)) out.take = {{"tp_comm_overlap", int64_t{0}}};
  return out;
}

bool no_distributed_optimizer(const Sides& s) {
  return s.shown.whole && only_all_reduces(s.shown.dp, 1) && !s.on("megatron_fsdp");
}

Found distributed_optimizer(const Sides& s) {
  if (!s.on("use_distributed_optimizer") || !no_distributed_optimizer(s)) return std::nullopt;
  Denial out{"use_distributed_optimizer",
             "yes",
             "all-reduces of DP without gathers",
             {{"use_distributed_optimizer", int64_t{0}}},
             {}};
  if (s.on("overlap_param_gather")) out.take["overlap_param_gather"] = int64_t{0};
  return out;
}

Found param_gather(const Sides& s) {
  const KindTraffic& dp = s.shown.dp;
  if (!s.on("overlap_param_gather")) return std::nullopt;
  if (no_distributed_optimizer(s))
    return Denial{"overlap_param_gather",
                  "yes",
                  "no gathers of DP",
                  {{"overlap_param_gather", int64_t{0}}},
                  {}};
  if (dp.unclear || dp.gathers < 2 || !never_hidden(s.shown, dp, dp.gather_ns, dp.gather_hidden_ns))
    return std::nullopt;
  return Denial{"overlap_param_gather", "yes", "nothing of the gathers under compute", {}, {}};
}

Found grad_reduce(const Sides& s) {
  const KindTraffic& dp = s.shown.dp;
  if (!s.on("overlap_grad_reduce") || dp.unclear || dp.all_reduces + dp.reduce_scatters < 2 ||
      !never_hidden(s.shown, dp, dp.reduce_ns, dp.reduce_hidden_ns))
    return std::nullopt;
  return Denial{"overlap_grad_reduce", "yes", "nothing of the reductions under compute", {}, {}};
}

Found gradient_type(const Sides& s) {
  if (!s.on("grad_reduce_in_fp32") || Sides::word(s.seen, "reduces_in_16_bits") != "1" ||
      s.shown.dp.unclear)
    return std::nullopt;
  return Denial{"grad_reduce_in_fp32",
                "yes",
                "reductions in 16 bits",
                {{"grad_reduce_in_fp32", int64_t{0}}},
                {}};
}

// What only experts have is not said of a dense model. A stage may be of dense layers alone.
Found experts(const Sides& s) {
  const std::string pp = s.text("pp");
  const std::string count = s.text("num_experts"), group = s.text("ep");
  const bool has = (!count.empty() && count != "1") || (!group.empty() && group != "1");
  if (!has || !s.shown.no_experts || !(pp.empty() || pp == "1")) return std::nullopt;
  Denial out{"num_experts", count.empty() ? "EP " + group : count, "no kernels of experts", {}, {}};
  for (const auto& [key, value] : s.asked)
    if (key.rfind("moe_", 0) == 0) out.drop.push_back(key);
  for (const char* key : {"num_experts", "ep", "etp", "shared_expert_size",
                          "overlap_moe_expert_parallel_comm", "delay_wgrad_compute"})
    out.drop.emplace_back(key);
  return out;
}

// The names of the loader's ranges tell whether a process of its own made the batches, not how
// many.
Found loader_workers(const Sides& s) {
  const std::string workers = s.text("num_workers");
  const std::string seen = Sides::word(s.seen, "loader_workers_seen");
  if (workers.empty() || seen.empty() || (workers == "0") == (seen == "0")) return std::nullopt;
  if (seen == "1") return Denial{"num_workers", workers, "worker processes", {}, {"num_workers"}};
  return Denial{"num_workers", workers, "no worker processes", {{"num_workers", int64_t{0}}}, {}};
}

// A stage of VPP chunks hands each micro-batch over VPP times in each pass: even where all
// transfers of a moment are one kernel, the step has micro-batches x VPP of them. Without chunks
// the stages at the ends have two for each micro-batch, or one. source: Megatron-LM
// megatron/core/pipeline_parallel/schedules.py
Found virtual_stages(const Sides& s) {
  const int64_t vpp = s.number("vpp"), pp = s.number("pp"), batch = s.number("global_batch");
  const int64_t ranks =
      s.number("gpus") / std::max<int64_t>(1, s.number("tp") * s.number("cp") * pp);
  const int64_t dp = s.number("dp") > 0 ? s.number("dp") : ranks;
  const int64_t samples = dp * s.number("micro_batch");
  if (vpp < 2 || pp < 2 || samples <= 0 || batch % samples != 0 || s.shown.stage_transfers <= 0)
    return std::nullopt;
  const auto micro_batches = static_cast<double>(batch / samples);
  if (s.shown.stage_transfers >= micro_batches * static_cast<double>(vpp)) return std::nullopt;
  return Denial{"vpp",
                s.text("vpp"),
                fmt::format("{:.0f} transfers of a stage for {:.0f} micro-batches",
                            s.shown.stage_transfers, micro_batches),
                {},
                {"vpp", "layers_per_virtual_stage"}};
}

bool asks_for_fsdp(const Sides& s) {
  const std::string size = s.text("fsdp_shard_size");
  return (!size.empty() && size != "1") || !s.text("fsdp_reshard_after_forward").empty();
}

Found fully_sharded(const Sides& s) {
  const bool reduces = s.shown.whole && only_all_reduces(s.shown.dp, 1);
  const bool ddp = Sides::word(s.seen, "ddp_seen") == "1";
  if (!asks_for_fsdp(s) || !(reduces || ddp)) return std::nullopt;
  return Denial{"fsdp_shard_size",
                "sharded parameters",
                ddp ? "DistributedDataParallel" : "all-reduces of gradients without gathers",
                {},
                {"fsdp_shard_size", "fsdp_reshard_after_forward"}};
}

Found replicated(const Sides& s) {
  constexpr const char* kKeys[] = {"ddp_bucket_cap_mb", "ddp_gradient_as_bucket_view",
                                   "ddp_find_unused_parameters"};
  const KindTraffic& dp = s.shown.dp;
  const bool shards = s.shown.whole && !dp.unclear && dp.gathers >= 2 && dp.reduce_scatters >= 2 &&
                      dp.all_reduces == 0;
  if (!shards || asks_for_fsdp(s) || s.megatron()) return std::nullopt;
  for (const char* key : kKeys)
    if (s.asked.count(key) != 0)
      return Denial{key,
                    "DistributedDataParallel",
                    "gathers and reduce-scatters of sharded parameters",
                    {},
                    {std::begin(kKeys), std::end(kKeys)}};
  return std::nullopt;
}

// A ring is sends, and so is an all-to-all whose operation nobody recorded: these two are told
// apart from gathers only. source: Transformer Engine context_parallel.py
Found context_exchange(const Sides& s) {
  const KindTraffic& cp = s.shown.cp;
  const bool gathers =
      s.shown.whole && !cp.unclear && cp.gathers >= 2 && cp.all_to_alls == 0 && cp.sends == 0;
  std::string asked = s.text("cp_comm_type");
  if (asked.empty() && s.megatron() && gathers) asked = "p2p";
  if (!gathers || asked.empty() || asked == "allgather") return std::nullopt;
  return Denial{"cp_comm_type",
                asked,
                "gathers of CP without sends",
                {{"cp_comm_type", std::string("allgather")}},
                {}};
}

bool narrow(const std::string& precision) {
  return precision == "fp8" || precision == "mxfp8" || precision == "nvfp4";
}

// Kernel names tell FP8 apart from BF16, not its scaling; a run in FP8 keeps some BF16 GEMMs, and
// one in BF16 some in FP32. TF32 is how FP32 is multiplied.
bool precision_agrees(const std::string& asked, const std::string& seen) {
  if (asked == seen || seen == "mixed") return true;
  return (narrow(asked) && narrow(seen)) || (asked == "fp32" && seen == "tf32");
}

// GEMMs of several types agree with what is asked where one of them does.
bool any_agrees(const std::string& asked, const std::set<std::string>& precisions) {
  return precisions.empty() ||
         std::any_of(precisions.begin(), precisions.end(),
                     [&](const std::string& p) { return precision_agrees(asked, p); });
}

Found gemm_types(const Sides& s) {
  const std::string asked = s.text("precision"), seen = Sides::word(s.seen, "precision");
  std::set<std::string> types = s.shown.precisions;
  if (types.empty() && !seen.empty() && seen != "mixed") types = {seen};
  if (asked.empty() || seen.empty() || !s.shown.gemm_types_told ||
      (precision_agrees(asked, seen) && any_agrees(asked, types)))
    return std::nullopt;
  Denial out{"precision",
             asked,
             seen == "mixed" ? fmt::format("{}", fmt::join(types, " and ")) : seen,
             {{"precision", seen}, {"precision_asked", asked}},
             {"mixed_precision"}};
  const bool narrow_seen = std::any_of(types.begin(), types.end(), narrow);
  if (!narrow_seen)
    out.drop.insert(out.drop.end(), {"fp8_format", "fp8_recipe", "fp8_param_gather",
                                     "reuse_grad_buf_for_mxfp8_param_ag", "fp4_format"});
  for (const char* key : {"bf16", "fp16"})
    if (s.asked.count(key) != 0 && !narrow_seen)
      out.take[key] = static_cast<int64_t>(types.count(key));
  return out;
}

// Each of these sizes makes every rank communicate in every step; of data parallelism only where
// the step ends with an update, which adds up gradients. A dry run with fake ranks does not.
Found lone_gpu(const Sides& s) {
  if (!s.shown.lone || s.on("fake_process_group")) return std::nullopt;
  for (const char* key : {"tp", "pp", "cp", "ep"})
    if (s.number(key) > 1) return Denial{key, s.text(key), kLone, {}, {}, false, true};
  const char* key = s.number("dp") > 0 ? "dp" : "gpus";
  const int64_t ranks = s.number(key), batch = s.number("global_batch");
  const bool updates =
      s.shown.steps_are_updates || (batch > 0 && batch == ranks * s.number("micro_batch"));
  if (ranks <= 1 || !updates) return std::nullopt;
  return Denial{key, s.text(key), kLone, {}, {}, false, true};
}

// The table: one row a setting.
constexpr Found (*kTable[])(const Sides&) = {lone_gpu,
                                             gemm_types,
                                             recompute,
                                             recomputed_layers,
                                             sequence_parallel,
                                             tp_overlap,
                                             distributed_optimizer,
                                             param_gather,
                                             grad_reduce,
                                             gradient_type,
                                             experts,
                                             loader_workers,
                                             fully_sharded,
                                             replicated,
                                             virtual_stages,
                                             context_exchange};

}  // namespace

std::vector<Denial> denials(const FactRowValues& asked, const FactRowValues& seen,
                            const ConfigShown& shown) {
  const Sides sides{asked, seen, shown};
  std::vector<Denial> out;
  for (const auto row : kTable)
    if (Found found = row(sides)) out.push_back(std::move(*found));
  for (Denial& d : denied_off(sides)) out.push_back(std::move(d));
  return out;
}

}  // namespace ws
