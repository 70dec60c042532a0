// Tested by: layout_test.cpp
#include "config/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "config/torchtitan.h"

namespace ws {
namespace {

constexpr int64_t kLargestJob = 4194304;  // what the schema takes
constexpr int64_t kTokensPerRank = 4096;  // of one sequence: shorter pieces no longer hide the ring

std::optional<int64_t> whole_quotient(std::optional<int64_t> a, int64_t b) {
  if (!a || *a % b != 0) return std::nullopt;
  return *a / b;
}

std::optional<int64_t> virtual_stages(const RunConfig& config, int64_t pp) {
  if (const auto v = integer(config, "vpp")) return v;
  if (text(config, "framework") == "pytorch") return pipelining_stages(config, pp);
  const auto per_stage = integer(config, "layers_per_virtual_stage");
  const auto units = pipeline_units(config);
  if (!per_stage || !units) return std::nullopt;
  return whole_quotient(units, saturating_product(pp, *per_stage));
}

// The power of two nearest to seq / 4096 (halfway in the logarithm goes up), spread over TP first.
int64_t suggested_cp(int64_t seq_len, int64_t tp) {
  int64_t cp = 1;
  const int64_t pieces = std::max<int64_t>(seq_len / kTokensPerRank, 1);
  while (saturating_product(cp, 3) <= saturating_product(pieces, 2)) cp *= 2;
  return std::max<int64_t>(1, cp / tp);
}

void read_shards(const RunConfig& config, Layout& out) {
  const auto shards = integer(config, "fsdp_shard_size");
  if (shards && *shards > 1) out.shards = shards;
  const auto replicas = integer(config, "fsdp_replicas");
  if (replicas && (*replicas > 1 || out.shards)) out.replicas = replicas;
}

// What is given of the factors of DP.
int64_t data_ranks(const Layout& l) {
  return saturating_product(l.shards.value_or(1), l.replicas.value_or(1));
}

}  // namespace

int64_t saturating_product(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? std::numeric_limits<int64_t>::max() : out;
}

int64_t saturating_sum(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? std::numeric_limits<int64_t>::max() : out;
}

int64_t least_common_multiple(int64_t a, int64_t b) {
  return saturating_product(a / std::gcd(a, b), b);
}

std::optional<int64_t> pipeline_units(const RunConfig& config) {
  const auto layers = integer(config, "num_layers");
  if (!layers) return std::nullopt;
  return *layers + (boolean(config, "account_for_embedding") == true) +
         (boolean(config, "account_for_loss") == true);
}

Layout layout_of(const RunConfig& config) {
  Layout out;
  const auto size = [&](const char* key, int64_t& to) {
    const auto v = integer(config, key);
    if (v)
      to = *v;
    else
      (from_outside(config, key) ? out.outside : out.assumed).emplace_back(key);
    return v.has_value();
  };
  size("tp", out.tp);
  size("pp", out.pp);
  size("cp", out.cp);
  const bool ep_given = size("ep", out.ep);
  out.experts = out.ep > 1 || integer(config, "num_experts").has_value() ||
                from_outside(config, "num_experts") || from_outside(config, "ep");
  const auto etp = integer(config, "etp");
  // Megatron gives experts the TP of attention when nothing is said; without experts it is idle.
  out.etp = etp ? *etp : out.experts ? out.tp : 1;
  if (!etp && out.experts)
    (from_outside(config, "etp") ? out.outside : out.assumed).emplace_back("etp");
  if (!ep_given && !out.experts)
    out.assumed.erase(std::remove(out.assumed.begin(), out.assumed.end(), "ep"), out.assumed.end());
  out.vpp = virtual_stages(config, out.pp);
  out.gpus = integer(config, "gpus");
  out.seq_len = integer(config, "seq_len");
  out.micro_batch = integer(config, "micro_batch");
  out.global_batch = integer(config, "global_batch");
  const auto any_outside = [&](std::initializer_list<const char*> sizes) {
    return std::any_of(sizes.begin(), sizes.end(),
                       [&](const char* s) { return from_outside(out, s); });
  };
  out.attention_known = !any_outside({"tp", "cp", "pp"});
  out.expert_known = !any_outside({"ep", "etp", "pp"}) && (etp || !from_outside(out, "tp"));
  const int64_t attention = saturating_product(out.tp, out.cp);
  const int64_t expert = saturating_product(out.etp, out.ep);
  out.attention_product = saturating_product(attention, out.pp);
  out.expert_product = out.experts ? saturating_product(expert, out.pp) : out.pp;
  read_shards(config, out);
  const int64_t stage = saturating_product(attention, data_ranks(out));
  if (out.attention_known && (out.shards || out.replicas))
    out.shard_product = saturating_product(stage, out.pp);
  if (out.attention_known && (out.expert_known || !out.experts)) {
    out.min_gpus =
        saturating_product(out.pp, out.experts ? least_common_multiple(stage, expert) : stage);
  }
  if (!out.gpus && !from_outside(config, "gpus") && one_world_only(out) &&
      *out.shard_product <= kLargestJob) {
    out.gpus = out.shard_product;
    out.gpus_from_degrees = true;
  }
  if (out.attention_known) out.dp = whole_quotient(out.gpus, out.attention_product);
  if (!out.gpus) out.dp = integer(config, "dp");
  if (out.experts && out.expert_known) out.edp = whole_quotient(out.gpus, out.expert_product);
  cut_batch(config, out);
  if (out.dp && out.micro_batch) {
    out.accumulation =
        whole_quotient(out.global_batch, saturating_product(*out.dp, *out.micro_batch));
  }
  if (out.seq_len && !any_outside({"tp"})) out.cp_suggested = suggested_cp(*out.seq_len, out.tp);
  const bool stages_unknown =
      !out.vpp && (integer(config, "layers_per_virtual_stage") || from_outside(config, "vpp") ||
                   from_outside(config, "layers_per_virtual_stage"));
  if (out.pp > 1 && !stages_unknown) {
    out.stages = saturating_product(out.pp, out.vpp.value_or(1));
    if (out.accumulation && !out.zero_bubble) {
      const int64_t pass = std::min(*out.accumulation, out.in_one_pass.value_or(*out.accumulation));
      out.bubble_share = static_cast<double>(out.pp - 1) /
                         (static_cast<double>(out.vpp.value_or(1)) * static_cast<double>(pass));
    }
  }
  return out;
}

bool one_world_only(const Layout& layout) {
  return layout.shards && layout.replicas && layout.shard_product;
}

std::string stage_ranks(const Layout& layout) {
  std::string out;
  if (layout.replicas) out += fmt::format("replicas {} x ", *layout.replicas);
  if (layout.shards) out += fmt::format("shards {} x ", *layout.shards);
  return out + fmt::format("TP {} x CP {}", layout.tp, layout.cp);
}

bool from_outside(const Layout& layout, std::string_view size) {
  return std::find(layout.outside.begin(), layout.outside.end(), size) != layout.outside.end();
}

std::optional<std::string> precision_of(const RunConfig& config) {
  const auto recipe = text(config, "mixed_precision").value_or("");
  const auto names = [&](const char* part) { return recipe.find(part) != std::string::npos; };
  if (text(config, "fp4_format") || names("nvfp4")) return "nvfp4";
  if (text(config, "fp8_format") || names("fp8"))
    return text(config, "fp8_recipe") == "mxfp8" || names("mxfp8") ? "mxfp8" : "fp8";
  if (boolean(config, "bf16") == true || names("bf16") || names("bfloat16")) return "bf16";
  if (boolean(config, "fp16") == true || names("fp16") || names("float16")) return "fp16";
  if (names("float32") || names("fp32")) return "fp32";
  if (boolean(config, "bf16") == false && boolean(config, "fp16") == false) return "fp32";
  return std::nullopt;
}

RecomputeNames check_recompute_names(const RunConfig& config) {
  // source: Megatron-LM megatron/core/transformer/transformer_config.py, the list it asserts
  static constexpr std::string_view kAccepted[] = {
      "core_attn",      "moe_act",      "layernorm",   "mla_up_proj", "mlp", "moe",
      "shared_experts", "gdn_norm_out", "gdp_in_proj", "gdp_qkv",     "mhc"};
  static constexpr std::pair<std::string_view, std::string_view> kMeant[] = {
      {"up_proj", "mla_up_proj"},         {"norm", "layernorm"},
      {"layer_norm", "layernorm"},        {"rmsnorm", "layernorm"},
      {"moe_activation", "moe_act"},      {"attn", "core_attn"},
      {"core_attention", "core_attn"},    {"experts", "moe"},
      {"shared_expert", "shared_experts"}};
  RecomputeNames out;
  for (const std::string& name :
       list(config, "recompute_modules").value_or(std::vector<std::string>{})) {
    std::string accepted = name;
    if (std::find(std::begin(kAccepted), std::end(kAccepted), name) == std::end(kAccepted)) {
      out.rejected.push_back(name);
      accepted.clear();
      for (const auto& [wrong, right] : kMeant)
        if (name == wrong) accepted = right;
    }
    const bool mla_only = accepted == "mla_up_proj";
    if (mla_only && boolean(config, "multi_latent_attention") == false) {
      if (accepted == name) out.rejected.push_back(name);  // asserts without MLA
      accepted.clear();
    }
    if (!accepted.empty() &&
        std::find(out.corrected.begin(), out.corrected.end(), accepted) == out.corrected.end())
      out.corrected.push_back(accepted);
  }
  return out;
}

// moe_act asserts grouped GEMMs, mla_up_proj latent attention, delayed scaling neither moe_act nor
// layernorm; a dense model has its mlp instead.
// source: Megatron-LM megatron/core/transformer/transformer_config.py
std::vector<std::string> cheap_recompute(const RunConfig& config) {
  const bool experts = layout_of(config).experts;
  const bool delayed =
      text(config, "fp8_format") && text(config, "fp8_recipe").value_or("delayed") == "delayed";
  // Off in Megatron-LM where a whole command does not set it.
  const bool grouped = boolean(config, "moe_grouped_gemm")
                           .value_or(text(config, "framework") != "megatron_lm" || config.partial);
  std::vector<std::string> out;
  if (!delayed) out.emplace_back("layernorm");
  if (experts && grouped && !delayed) out.emplace_back("moe_act");
  if (!experts) out.emplace_back("mlp");
  if (boolean(config, "multi_latent_attention") == true) out.emplace_back("mla_up_proj");
  return out;
}

namespace {

// What is not in the list yet; offloaded parts of the experts leave no moe_act to recompute.
void add_cheap(std::vector<std::string>& names, const RunConfig& config) {
  const auto away = list(config, "offload_modules").value_or(std::vector<std::string>{});
  const bool inside = std::any_of(away.begin(), away.end(), [](const std::string& module) {
    return module == "moe_act" || module == "expert_fc1" || module == "fused_group_mlp";
  });
  for (const std::string& name : cheap_recompute(config))
    if (std::count(names.begin(), names.end(), name) == 0 && !(inside && name == "moe_act"))
      names.push_back(name);
}

}  // namespace

std::vector<std::string> advised_recompute(const RunConfig& config, bool moe_needed,
                                           bool short_of_memory) {
  if (text(config, "recompute_granularity") == "full") return {};
  const RecomputeNames names = check_recompute_names(config);
  std::vector<std::string> out = names.corrected;
  const auto take_out = [&](const char* name) {
    const auto at = std::find(out.begin(), out.end(), name);
    if (at == out.end()) return false;
    out.erase(at);
    return true;
  };
  const bool attention = take_out("core_attn"), experts = !moe_needed && take_out("moe");
  if (names.rejected.empty() && !attention && !experts && !moe_needed) return {};
  if (experts || (attention && short_of_memory && !moe_needed)) add_cheap(out, config);
  return out;
}

std::vector<std::string> widened_recompute(const RunConfig& config) {
  if (text(config, "recompute_granularity") != "selective") return {};
  const RecomputeNames checked = check_recompute_names(config);
  const std::vector<std::string>& names = checked.corrected;
  const bool stays = checked.rejected.empty() &&
                     std::none_of(names.begin(), names.end(), [](const std::string& name) {
                       return name == "core_attn" || name == "moe";
                     });
  if (!stays) return {};
  std::vector<std::string> out = names;
  add_cheap(out, config);
  return out.size() > names.size() ? out : std::vector<std::string>{};
}

}  // namespace ws
