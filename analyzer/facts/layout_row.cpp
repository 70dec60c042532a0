// fact_layout: what arithmetic says of a configuration. Tested by: config_facts_test.cpp
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "config/key_table.h"
#include "facts/config_facts.h"

namespace ws {
namespace {

class Row {
 public:
  void put(const char* name, std::optional<int64_t> v) {
    if (v) values[name] = *v;
  }
  void put_share(const char* name, std::optional<double> v) {
    if (v) values[name] = *v;
  }
  void put_text(const char* name, const std::string& v) {
    if (!v.empty()) values[name] = v;
  }
  // 1 or 0 where the divided is known.
  void fits(const char* name, std::optional<int64_t> value, std::optional<int64_t> by) {
    if (value && by && *by > 0) values[name] = static_cast<int64_t>(*value % *by == 0);
  }
  FactRowValues values;
};

void put_grids(Row& row, const Layout& l, std::optional<int64_t> dp_asked) {
  row.put("experts", l.experts);
  row.put("min_gpus", l.min_gpus);
  if (l.attention_known) {
    row.put("attention_product", l.attention_product);
    row.fits("attention_fits", l.gpus, l.attention_product);
  }
  if (l.expert_known) {
    row.put("expert_product", l.expert_product);
    row.put("etp_used", l.etp);
    if (l.experts) row.fits("expert_fits", l.gpus, l.expert_product);
  }
  row.put("dp", l.dp);
  row.put("edp", l.edp);
  if (dp_asked && l.dp && *dp_asked != *l.dp) row.put("dp_asked", dp_asked);
  if (l.dp && l.micro_batch) {
    const int64_t samples = saturating_product(*l.dp, *l.micro_batch);
    row.put("samples_per_pass", samples);
    row.fits("batch_fits", l.global_batch, samples);
  }
  row.put("accumulation", l.accumulation);
  row.put_share("bubble_share", l.bubble_share);
}

void put_shards(Row& row, const Layout& l, const Remedy& remedy) {
  row.put("shard_product", l.shard_product);
  if (l.gpus && l.shard_product) row.put("shards_fit", remedy.arithmetic.empty());
  row.put_text("shard_arithmetic", remedy.arithmetic);
  row.put_text("shard_gpus", remedy.nearest);
}

// Sizes that are no numbers above 0 have no product.
void put_hierarchy(Row& row, const RunConfig& config) {
  const auto sizes = list(config, "hierarchical_cp_sizes");
  if (!sizes || sizes->empty()) return;
  int64_t product = 1;
  for (const std::string& size : *sizes) {
    int64_t n = 0;
    const auto [end, bad] = std::from_chars(size.data(), size.data() + size.size(), n);
    if (bad != std::errc() || end != size.data() + size.size() || n < 1) return;
    product = saturating_product(product, n);
  }
  row.put("hierarchical_cp", product);
}

// source: Megatron-LM megatron/core/transformer/transformer_config.py, the list it asserts
std::string rejected_offload(const RunConfig& config) {
  static constexpr std::string_view kAccepted[] = {"attn_norm", "qkv_linear",      "core_attn",
                                                   "attn_proj", "mlp_norm",        "expert_fc1",
                                                   "moe_act",   "fused_group_mlp", "gdp_qkv"};
  std::vector<std::string> out;
  for (const std::string& name :
       list(config, "offload_modules").value_or(std::vector<std::string>{}))
    if (std::find(std::begin(kAccepted), std::end(kAccepted), name) == std::end(kAccepted))
      out.push_back(name);
  return fmt::format("{}", fmt::join(out, " "));
}

// A file of which parts come from elsewhere may leave out which layers have experts.
void put_dense_layers(Row& row, const RunConfig& config, const ConfigStudy& study) {
  if (!study.model.shape || study.model.shape->experts == 0) return;
  const bool told = text(config, "moe_layer_freq") || integer(config, "dense_layers");
  if (!told && (config.partial || text(config, "framework") != "megatron_lm" ||
                from_outside(config, "moe_layer_freq")))
    return;
  const auto& is_moe = study.model.shape->is_moe;
  row.put("dense_layers", std::count(is_moe.begin(), is_moe.end(), false));
}

void put_sequence_and_heads(Row& row, const RunConfig& config, const Layout& l) {
  if (l.cp > 1) row.fits("sequence_fits", l.seq_len, saturating_product(2, l.cp));
  const bool tp_known = !from_outside(l, "tp"), cp_known = !from_outside(l, "cp");
  if (l.seq_len && tp_known && cp_known)
    row.put("tokens_per_shard", *l.seq_len / saturating_product(l.tp, l.cp));
  row.put("cp_suggested", l.cp_suggested);
  if (!from_outside(l, "ep")) row.fits("experts_fit", integer(config, "num_experts"), l.ep);
  if (!tp_known) return;
  const std::string exchange = text(config, "cp_comm_type").value_or("");
  const bool heads_move = exchange == "a2a" && l.cp > 1;
  if (cp_known || !heads_move)
    row.fits("heads_fit", integer(config, "attention_heads"),
             heads_move ? saturating_product(l.tp, l.cp) : l.tp);
  if (const auto kv = integer(config, "kv_heads")) {
    const auto fit = groups_take(config, *kv, l.tp);
    if (fit) row.put("kv_heads_fit", *fit);
  }
}

void put_remedies(Row& row, const Remedies& r) {
  row.put_text("attention_arithmetic", r.attention.arithmetic);
  row.put_text("expert_arithmetic", r.expert.arithmetic);
  row.put_text("gpus_nearest", r.expert.nearest.empty() ? r.attention.nearest : r.expert.nearest);
  row.put_text("layout_nearest", r.layout_nearest);
  row.put_text("batch_arithmetic", r.batch.arithmetic);
  row.put_text("batch_nearest", r.batch.nearest);
  row.put_text("sequence_arithmetic", r.sequence.arithmetic);
  row.put_text("sequence_nearest", r.sequence.nearest);
  row.put_text("experts_arithmetic", r.expert_count.arithmetic);
  row.put_text("experts_nearest", r.expert_count.nearest);
  row.put_text("heads_arithmetic", r.heads.arithmetic);
  row.put_text("heads_nearest", r.heads.nearest);
}

void put_offers(Row& row, const Offers& o) {
  row.put("cp_offered", o.cp);
  row.put_text("cp_offered_memory", o.cp_memory);
  row.put("ep_offered", o.ep);
  row.put_text("ep_offered_memory", o.ep_memory);
  row.put_text("ep_refused", o.ep_refused);
  row.put("shards_offered", o.shards);
  row.put_text("shards_offered_memory", o.shards_memory);
  row.put_text("memory_without_host", o.without_host);
  row.put_text("moe_recompute_needed", o.moe_needed);
}

// A file of which parts come from outside does not show what it leaves out.
std::optional<int64_t> dispatcher_given(const RunConfig& config) {
  const char* key = "moe_token_dispatcher_type";
  const ConfigEntry* e = entry(config, key);
  if (e != nullptr) return e->place != kMegatronDefault;
  if (from_outside(config, key) || config.partial) return std::nullopt;
  return 0;
}

void put_stages(Row& row, const RunConfig& config, const ConfigStudy& study) {
  if (from_outside(study.layout, "pp")) return;
  row.put_text("vpp_choices", vpp_choices(config, study.layout));
  row.put("stages", study.layout.stages);
  row.put("stages_given", study.split.given);
  std::string problem = study.split.problem;
  const int64_t wanted = study.layout.stages.value_or(1);
  if (study.split.given && *study.split.given != wanted) {
    problem = fmt::format("the layout has {} stages, PP x VPP = {} x {} = {}", *study.split.given,
                          study.layout.pp, study.layout.vpp.value_or(1), wanted);
  } else if (!study.remedies.stages.arithmetic.empty()) {
    problem += ": " + study.remedies.stages.arithmetic;
  }
  row.put_text("stages_problem", problem);
  row.put_text("stages_nearest", study.remedies.stages.nearest);
  if (!study.split.stages.empty() || !problem.empty()) row.put("stages_fit", problem.empty());
}

void put_platform(Row& row, const Platform* p) {
  if (p == nullptr) return;
  row.put_text("platform", p->key);
  if (p->fast_domain_gpus > 0) row.put("fast_domain_gpus", p->fast_domain_gpus);
  const char first = p->compute_capability.empty() ? '\0' : p->compute_capability[0];
  if (first >= '0' && first <= '9')
    row.put("compute_major", std::atoi(p->compute_capability.c_str()));
}

// One recipe of FP8 for everything that asks for one: blocks of 1x32 in hardware on Blackwell,
// blocks of 128 for models like DeepSeek-V3 on Hopper, else one scale per tensor.
// sources: Megatron-LM megatron/core/transformer/moe/README.md; Megatron-Bridge
// src/megatron/bridge/training/mixed_precision.py
void put_fp8_recipe(Row& row, const Platform* p, bool like_deepseek) {
  if (p == nullptr) return;
  const int major = std::atoi(p->compute_capability.c_str());
  const bool blocks = major == 9 && like_deepseek;
  row.put_text("fp8_recipe_suggested", major >= 10 ? "mxfp8" : blocks ? "blockwise" : "tensorwise");
  row.put_text("mixed_precision_suggested", major >= 10 ? "bf16_with_mxfp8_mixed"
                                            : blocks    ? "bf16_with_fp8_subchannel_scaling_mixed"
                                                        : "bf16_with_fp8_current_scaling_mixed");
}

void put_platform_and_memory(Row& row, const ConfigStudy& study) {
  put_platform(row, study.platform);
  if (!study.memory) return;
  const int64_t bytes = study.memory->ranks[study.memory->worst].total_bytes;
  row.put("memory_bytes", bytes);
  row.put("memory_uncertainty_bytes", study.memory->uncertainty_bytes);
  if (study.capacity_bytes == 0) return;
  const auto share = [&](int64_t of) {
    return static_cast<double>(of) / static_cast<double>(study.capacity_bytes);
  };
  const int64_t around = study.memory->uncertainty_bytes;
  const RankMemory& worst = study.memory->ranks[study.memory->worst];
  row.put_share("memory_share", share(bytes));
  row.put_share("memory_state_share", share(bytes - bytes_of(worst, MemoryKind::activations)));
  row.put_share("memory_lo_share", share(study.memory->least_bytes.value_or(bytes) - around));
  row.put_share("memory_hi_share", share(saturating_sum(bytes, around)));
}
}  // namespace

FactRowValues platform_row(const Platform* recorded) {
  Row row;
  put_platform(row, recorded);
  put_fp8_recipe(row, recorded, false);
  return row.values;
}

FactRowValues layout_row(const RunConfig& config, const ConfigStudy& study) {
  Row row;
  put_grids(row, study.layout, integer(config, "dp"));
  row.put("etp_given", integer(config, "etp").has_value());
  row.put("dispatcher_given", dispatcher_given(config));
  put_remedies(row, study.remedies);
  put_shards(row, study.layout, study.remedies.shards);
  put_sequence_and_heads(row, config, study.layout);
  put_hierarchy(row, config);
  put_dense_layers(row, config, study);
  put_stages(row, config, study);
  put_platform_and_memory(row, study);
  put_offers(row, study.offers);
  put_fp8_recipe(row, study.platform,
                 study.layout.experts && boolean(config, "multi_latent_attention") == true);
  row.put_text("offload_rejected", rejected_offload(config));
  row.put_text("recompute_rejected", padded(study.recompute.rejected));
  row.put_text("recompute_cheap", fmt::format("{}", fmt::join(cheap_recompute(config), " ")));
  row.put_text("recompute_advised", fmt::format("{}", fmt::join(study.offers.recompute, " ")));
  row.put_text("recompute_widened", fmt::format("{}", fmt::join(widened_recompute(config), " ")));
  row.put_text("recompute_corrected", fmt::format("{}", fmt::join(study.recompute.corrected, " ")));
  return row.values;
}

}  // namespace ws
