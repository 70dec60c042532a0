// Two bytes a number, four in an FP32 run; one where an FP8 GEMM keeps its quantised input: the
// down projections of latent attention keep one each, the shared experts one beside the 16-bit
// input of the router. The residual stream and the norms are split over TP by sequence parallelism,
// heads and inner widths by TP itself. source: Korthikanti et al., arXiv 2205.05198 (what a layer
// keeps); Megatron-LM megatron/core/transformer (which module recomputes or offloads what); checked
// against the published 131.0 GB of activations of DeepSeek-V3 and its 30.4 GB of mla_up_proj
// (arXiv 2603.07685). Tested by: memory_estimate_test.cpp
#include "config/activations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/torchtitan.h"

namespace ws {
namespace {

constexpr char kSource[] = "arXiv 2205.05198; checked with arXiv 2603.07685 (DeepSeek-V3)";

double d(int64_t v) { return static_cast<double>(v); }

bool holds(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The choices of the configuration that change what a layer keeps.
struct Choices {
  std::vector<std::string> recomputed, offloaded;
  bool fp8 = false, fp32 = false, sequence_parallel = false, keep_expert_output = false;
};

Choices choices_of(const RunConfig& config, const Layout& layout,
                   std::vector<std::string>& assumed) {
  Choices out;
  if (text(config, "recompute_granularity") == "selective") {
    // Without names Megatron recomputes core_attn, which keeps what fused attention needs anyway.
    out.recomputed = check_recompute_names(config).corrected;
  }
  if (boolean(config, "fine_grained_activation_offloading") == true)
    out.offloaded = list(config, "offload_modules").value_or(std::vector<std::string>{});
  // What torchtitan's or a script's own selection keeps is not in the file.
  if (text(config, "framework") == "pytorch" &&
      text(config, "recompute_granularity") == "selective" && out.recomputed.empty() &&
      !every_nth_recomputed(config))
    assumed.emplace_back("the lines are those without recompute: a selection recomputes some");
  const std::string precision = precision_of(config).value_or("bf16");
  out.fp32 = precision == "fp32" || precision == "tf32";
  // torchao keeps the input of a GEMM as it came. source: torchao float8/float8_linear.py
  out.fp8 = text(config, "framework") != "pytorch" &&
            (precision == "fp8" || precision == "mxfp8" || precision == "nvfp4");
  const auto sp = boolean(config, "sequence_parallel");
  out.sequence_parallel = layout.tp > 1 && sp.value_or(true);
  if (layout.tp > 1 && !sp) assumed.emplace_back("sequence parallelism");
  out.keep_expert_output = boolean(config, "memory_efficient_permutation") == false;
  return out;
}

struct Sizes {
  double h, tp, split, heads, kv, qk, v, q_rank, kv_rank, e, k, expert, shared, ffn, gate, etp;
  double w, in;  // bytes of a number, and of one in the kept input of a GEMM
};

Sizes sizes_of(const ModelShape& m, const Layout& layout, const Choices& c) {
  Sizes s{};
  s.h = d(m.hidden);
  s.tp = d(layout.tp);
  s.split = c.sequence_parallel ? s.tp : 1;
  s.heads = d(m.heads);
  s.qk = m.mla ? d(m.qk_dim + m.rope_dim) : d(m.head_dim);
  s.v = m.mla ? d(m.v_dim) : d(m.head_dim);
  s.kv = m.mla ? s.heads : std::max(d(m.kv_heads), s.tp);
  s.q_rank = d(m.q_rank);
  s.kv_rank = d(m.kv_rank + m.rope_dim);
  s.w = c.fp32 ? 4 : 2;
  s.in = c.fp8 ? 1 : s.w;
  s.e = d(m.experts);
  s.k = d(m.top_k);
  s.expert = d(m.expert_ffn);
  s.shared = d(m.shared_ffn);
  s.ffn = d(m.ffn);
  s.gate = m.gated ? 2 : 1;
  s.etp = d(layout.etp);
  return s;
}

// Builds the list; a part that is recomputed or offloaded stays in it with 0 bytes and says so.
class PartList {
 public:
  explicit PartList(const Choices& c) : c_(c) {}
  void add(const char* name, std::string formula, double dense, double moe,
           const std::vector<std::string_view>& recompute, std::string_view offload) {
    std::string remark;
    for (const std::string_view module : recompute) {
      if (!holds(c_.recomputed, module)) continue;
      const bool experts_only =
          module == "moe" || module == "shared_experts" || module == "moe_act";
      if (!experts_only) dense = 0;
      if (module != "mlp") moe = 0;
      remark += fmt::format("; recomputed ({})", module);
      break;
    }
    if (!offload.empty() && holds(c_.offloaded, offload)) {
      dense = moe = 0;
      remark += fmt::format("; offloaded ({})", offload);
    }
    parts.push_back({name, std::move(formula), std::move(remark), dense, moe});
  }
  std::vector<ActivationPart> parts;

 private:
  const Choices& c_;
};

std::vector<ActivationPart> layer_parts(const ModelShape& m, const Sizes& s, const Choices& c) {
  PartList out(c);
  const double w = s.w, in = s.in;
  const double residual = w * s.h / s.split, norm = in * s.h / s.split;
  const auto hidden = [](double bytes) { return fmt::format("{:g} x hidden", bytes); };
  const double copies = m.mla && c.fp8 ? 2 : 1;  // two GEMMs, each quantises its own
  out.add("attention norm, input", hidden(w), residual, residual, {}, "attn_norm");
  out.add("attention norm, output", hidden(copies * in), copies * norm, copies * norm,
          {"layernorm"}, "qkv_linear");
  if (m.mla) {
    const double low = (w + in) * (s.q_rank + s.kv_rank);
    out.add("low-rank queries and keys", fmt::format("{:g} x (q rank + kv rank)", w + in), low, low,
            {}, "");
  }
  const double qkv = w * (s.heads * s.qk + s.kv * (s.qk + s.v)) / s.tp;
  std::vector<std::string_view> up;
  if (m.mla) up = {"mla_up_proj"};
  out.add("queries, keys, values", fmt::format("{:g} x (heads x qk + kv heads x (qk + v))", w), qkv,
          qkv, up, "core_attn");
  const double attention = (w * s.heads * s.v + 4 * s.heads + (c.fp8 ? s.heads * s.v : 0)) / s.tp;
  out.add("attention output", fmt::format("{:g} x heads x v + 4 x heads", w), attention, attention,
          {}, "attn_proj");
  out.add("feed-forward norm, input", hidden(w), residual, residual, {}, "mlp_norm");
  const double shared_copy = c.fp8 && s.shared > 0 ? norm : 0;
  out.add("feed-forward norm, output",
          hidden(m.experts == 0    ? in
                 : shared_copy > 0 ? w + in
                                   : w),
          norm, residual + shared_copy, {"layernorm"}, "");
  const double inner = (w * s.gate * s.ffn + in * s.ffn) / s.tp;
  out.add("dense feed-forward", fmt::format("{:g} x ffn", w * s.gate + in), inner, 0, {"mlp"}, "");
  if (m.experts == 0) return std::move(out.parts);
  const double pairs = s.k * s.etp / s.split;  // copies of a token this rank takes in, even routing
  out.add("router", "12 x experts", 0, 12 * s.e / s.split, {"moe"}, "");
  out.add("tokens sent to experts", fmt::format("{:g} x top k x hidden", in), 0, in * pairs * s.h,
          {"moe"}, "expert_fc1");
  out.add("experts, first GEMM", fmt::format("{:g} x top k x expert ffn", w * s.gate), 0,
          w * s.gate * pairs * s.expert / s.etp, {"moe"}, "moe_act");
  out.add("experts, activation", fmt::format("{:g} x top k x expert ffn", in), 0,
          in * pairs * s.expert / s.etp, {"moe", "moe_act"}, "");
  if (c.keep_expert_output)
    out.add("experts, output before weighting", fmt::format("{:g} x top k x hidden", w), 0,
            w * pairs * s.h, {"moe"}, "");
  if (s.shared > 0)
    out.add("shared experts", fmt::format("{:g} x shared ffn", w * s.gate + in), 0,
            (w * s.gate + in) * s.shared / s.tp, {"moe", "shared_experts"}, "");
  return std::move(out.parts);
}

}  // namespace

ActivationRules activation_rules(const RunConfig& config, const Layout& layout, const ModelShape& m,
                                 std::vector<std::string>& assumed) {
  ActivationRules out;
  const Choices c = choices_of(config, layout, assumed);
  const Sizes s = sizes_of(m, layout, c);
  out.parts = layer_parts(m, s, c);
  if (!layout.micro_batch) assumed.emplace_back("micro-batch 1");
  out.tokens = d(layout.micro_batch.value_or(1)) * d(layout.seq_len.value_or(0)) / d(layout.cp);
  const bool fused = boolean(config, "cross_entropy_loss_fusion") == true;
  out.logits_bytes = (fused ? 4 : 4 + s.w) * d(m.vocab) / s.tp;
  out.layer_input_bytes = s.w * s.h / s.split;
  out.full = text(config, "recompute_granularity") == "full";
  if (const auto nth = every_nth_recomputed(config)) {
    out.full = true;
    out.every_nth = *nth;
  }
  const double n = d(integer(config, "recompute_num_layers").value_or(1));
  if (text(config, "recompute_method") == "block")
    out.block_layers = n;
  else
    out.layers_per_unit = n;
  return out;
}

InFlight stages_in_flight(const Layout& layout, const std::vector<const Stage*>& stages,
                          int64_t rank) {
  const int64_t vpp = static_cast<int64_t>(stages.size());
  const auto pass = layout.in_one_pass ? layout.in_one_pass : layout.accumulation;
  const int64_t most = pass ? saturating_product(*pass, vpp) : int64_t{1} << 40;
  int64_t held = layout.pp == 1                 ? 1
                 : layout.forward_first && pass ? std::min(most, int64_t{1} << 16)
                 : vpp == 1                     ? layout.pp - rank
                            : (layout.pp - rank - 1) * 2 + (vpp - 1) * layout.pp + 1;
  held = std::min(held, most);
  InFlight out;
  // Interleaving runs PP micro-batches through a stage before it turns to the next.
  for (int64_t k = 0; k < held; ++k) {
    const Stage& s = *stages[static_cast<size_t>(k / layout.pp % vpp)];
    out.dense += d(s.dense);
    out.moe += d(s.moe) + d(s.mtp);
    out.stages += 1;
  }
  if (layout.pp == 1) {  // one micro-batch at a time, through all that is here
    out = {};
    for (const Stage* s : stages) {
      out.dense += d(s->dense);
      out.moe += d(s->moe) + d(s->mtp);
    }
    out.stages = 1;
  }
  out.micro_batches = vpp == 1 || layout.pp == 1 ? held : 0;
  for (const Stage* s : stages) out.loss |= s->loss;
  return out;
}

void add_activations(RankMemory& rank, const ActivationRules& rules, const InFlight& in_flight,
                     const ModelShape& m) {
  const double mtp_dense = m.experts > 0 ? 0 : in_flight.moe;  // prediction layers of dense models
  double dense = in_flight.dense + mtp_dense, moe = in_flight.moe - mtp_dense;
  const auto put = [&](const std::string& name, std::string formula, double bytes) {
    if (bytes == 0 && formula.find(';') == std::string::npos) return;
    rank.parts.push_back(
        {MemoryKind::activations, name, std::move(formula), kSource,
         bytes < 9e18 ? static_cast<int64_t>(std::llround(bytes)) : 9'000'000'000'000'000'000});
  };
  if (rules.full) {
    const double layers = dense + moe;
    double recomputed = layers;
    if (rules.every_nth > 1) recomputed = std::floor(layers / d(rules.every_nth));
    if (rules.block_layers >= 0)
      recomputed = std::min(layers, rules.block_layers * in_flight.stages);
    put("inputs of recomputed layers",
        fmt::format("2 x hidden x {:.0f} tokens x {:.0f} layers in flight / {:g}", rules.tokens,
                    recomputed, rules.layers_per_unit),
        rules.layer_input_bytes * rules.tokens * recomputed / rules.layers_per_unit);
    // One unit at a time comes back in full.
    const double kept = layers - recomputed + (recomputed > 0 ? rules.layers_per_unit : 0);
    const double share = layers > 0 ? std::min(kept, layers) / layers : 0;
    dense *= share;
    moe *= share;
  }
  for (const ActivationPart& p : rules.parts) {
    const double bytes = rules.tokens * (p.dense_bytes * dense + p.moe_bytes * moe);
    const double layers = p.dense_bytes == 0 && p.moe_bytes > 0   ? moe
                          : p.moe_bytes == 0 && p.dense_bytes > 0 ? dense
                                                                  : dense + moe;
    put(p.name,
        fmt::format("{} x {:.0f} tokens x {:.1f} layers in flight{}", p.formula, rules.tokens,
                    layers, p.remark),
        bytes);
  }
  if (in_flight.loss) {
    put("logits",
        fmt::format("{:.0f} B per token x {:.0f} tokens", rules.logits_bytes, rules.tokens),
        rules.logits_bytes * rules.tokens);
  }
}

}  // namespace ws
