// Tested by: remedies_test.cpp
#include "config/remedies.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace ws {
namespace {

constexpr int64_t kLargestJob = 4194304;  // what the schema takes

std::string quotient(int64_t a, int64_t b) {
  return fmt::format("{:.4g}", static_cast<double>(a) / static_cast<double>(b));
}

// The next value below and the next above for which it holds: "2 or 8".
std::string around(int64_t value, const std::vector<int64_t>& candidates,
                   const std::function<bool(int64_t)>& holds) {
  std::optional<int64_t> below, above;
  for (const int64_t c : candidates) {
    if (!holds(c)) continue;
    if (c < value) below = c;
    if (c > value && !above) above = c;
  }
  if (!below && !above) return "";
  return below && above ? fmt::format("{} or {}", *below, *above)
                        : fmt::format("{}", below ? *below : *above);
}

// Whether the sizes fit the memory, as far as it can be told.
class Room {
 public:
  Room(const RunConfig& config, const Layout& l, const MemoryUse& memory)
      : config_(config), l_(l), memory_(memory) {}
  bool fits(const LayoutSizes& sizes) const {
    const auto use = memory_ ? memory_(with_sizes(config_, l_, sizes)) : std::nullopt;
    return !use || use->hi_share <= 1;
  }
  bool with_tp(int64_t tp) const {
    return fits({tp, l_.cp, l_.pp, integer(config_, "etp") ? l_.etp : tp, l_.ep});
  }
  bool with_ep(int64_t ep) const { return fits({l_.tp, l_.cp, l_.pp, l_.etp, ep}); }
  bool with_pp(int64_t pp) const { return fits({l_.tp, l_.cp, pp, l_.etp, l_.ep}); }

 private:
  const RunConfig& config_;
  const Layout& l_;
  const MemoryUse& memory_;
};

std::string named(const char* name, const std::string& values) {
  return values.empty() ? "" : fmt::format("{} {}", name, values);
}

// Multiples of the smallest job; such that the batch divides, where one is.
std::string nearest_gpus(const RunConfig& config, const Layout& l) {
  if (one_world_only(l)) return fmt::format("{} GPUs", *l.min_gpus);
  const SizeLimits limits(config, l);
  const auto works = [&](int64_t gpus) {
    return !l.attention_known || limits.batch(gpus / l.attention_product);
  };
  std::optional<int64_t> below, above;
  const int64_t first = *l.gpus / *l.min_gpus, last = kLargestJob / *l.min_gpus;
  for (int64_t n = first; n > 0 && !below; --n)
    if (works(n * *l.min_gpus)) below = n * *l.min_gpus;
  for (int64_t n = first + 1; n <= last && !above; ++n)
    if (works(n * *l.min_gpus)) above = n * *l.min_gpus;
  if (!below && !above) return multiples_around(*l.gpus, *l.min_gpus) + " GPUs";
  if (below && above) return fmt::format("{} or {} GPUs", *below, *above);
  return fmt::format("{} GPUs", below ? *below : *above);
}

void put_grids(const RunConfig& config, const Layout& l, const MemoryUse& memory,
               int64_t fast_domain, Remedies& out) {
  if (!l.gpus) return;
  const auto refuse = [&](Remedy& to, int64_t product, const std::string& sizes) {
    if (*l.gpus % product == 0) return;
    to.arithmetic = fmt::format("{} GPU{} / ({} = {}) = {}", *l.gpus, *l.gpus == 1 ? "" : "s",
                                sizes, product, quotient(*l.gpus, product));
    if (!l.min_gpus || *l.min_gpus > kLargestJob) return;
    to.nearest = nearest_gpus(config, l);
  };
  if (l.attention_known) {
    refuse(out.attention, l.attention_product,
           fmt::format("TP {} x CP {} x PP {}", l.tp, l.cp, l.pp));
  }
  if (l.experts && l.expert_known) {
    refuse(out.expert, l.expert_product, fmt::format("ETP {} x EP {} x PP {}", l.etp, l.ep, l.pp));
  }
  const bool refused = !out.attention.arithmetic.empty() || !out.expert.arithmetic.empty();
  if (refused && l.min_gpus) out.layout_nearest = nearest_layout(config, l, memory, fast_domain);
  // Other GPUs leave experts, heads and sequence as they are.
  if (!out.layout_nearest.empty() && !SizeLimits(config, l).take(l))
    out.attention.nearest = out.expert.nearest = "";
}

void put_shards(const Layout& l, Remedies& out) {
  if (!l.gpus || !l.shard_product) return;
  const bool exact = one_world_only(l);
  if (exact ? *l.gpus == *l.shard_product : *l.gpus % *l.shard_product == 0) return;
  out.shards = {fmt::format("{} GPU{} / ({} x PP {} = {}) = {}{}", *l.gpus, *l.gpus == 1 ? "" : "s",
                            stage_ranks(l), l.pp, *l.shard_product,
                            quotient(*l.gpus, *l.shard_product), exact ? ", to be 1" : ""),
                fmt::format("{}{}", exact ? "" : "a multiple of ", *l.shard_product)};
}

void put_batch(const Layout& l, Remedies& out) {
  if (!l.dp || !l.micro_batch || !l.global_batch) return;
  const int64_t pass = saturating_product(*l.dp, *l.micro_batch);
  if (*l.global_batch % pass == 0) return;
  out.batch = {fmt::format("global batch {} / (micro-batch {} x DP {} = {}) = {}", *l.global_batch,
                           *l.micro_batch, *l.dp, pass, quotient(*l.global_batch, pass)),
               "global batch " + multiples_around(*l.global_batch, pass)};
}

std::vector<int64_t> up_to(int64_t last) {
  std::vector<int64_t> out(static_cast<size_t>(std::min<int64_t>(last, 65536)));
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int64_t>(i) + 1;
  return out;
}

void put_heads(const RunConfig& config, const Layout& l, const SizeLimits& limits, const Room& room,
               Remedies& out) {
  if (from_outside(l, "tp")) return;
  const auto heads = integer(config, "attention_heads"), kv = integer(config, "kv_heads");
  const bool moved = text(config, "cp_comm_type") == "a2a" && l.cp > 1;
  const int64_t parts = moved ? saturating_product(l.tp, l.cp) : l.tp;
  const std::string by =
      moved ? fmt::format("(TP {} x CP {} = {})", l.tp, l.cp, parts) : fmt::format("TP {}", l.tp);
  const bool parts_known = !moved || !from_outside(l, "cp");
  if (heads && parts_known && *heads % parts != 0)
    out.heads.arithmetic =
        fmt::format("{} query heads / {} = {}", *heads, by, quotient(*heads, parts));
  else if (kv && groups_take(config, *kv, l.tp) == false)
    out.heads.arithmetic =
        fmt::format("{} key-value heads / TP {} = {}", *kv, l.tp, quotient(*kv, l.tp));
  if (out.heads.arithmetic.empty()) return;
  const int64_t most = heads ? *heads : saturating_product(2, l.tp);
  const std::string by_tp = named("TP", around(l.tp, up_to(most), [&](int64_t v) {
                                    const bool on_gpus = !l.gpus || *l.gpus % v == 0;
                                    return limits.tp(v, l.cp) && on_gpus && room.with_tp(v);
                                  }));
  const std::string by_cp =
      moved && parts_known
          ? named("CP", around(l.cp, up_to(most),
                               [&](int64_t v) {
                                 const int64_t ranks = saturating_product(l.tp, v);
                                 const bool on_gpus = !l.gpus || *l.gpus % ranks == 0;
                                 return limits.cp(v) && limits.tp(l.tp, v) && on_gpus;
                               }))
          : "";
  out.heads.nearest = by_tp + (by_tp.empty() || by_cp.empty() ? "" : ", or ") + by_cp;
}

void put_expert_count(const RunConfig& config, const Layout& l, const Room& room, Remedies& out) {
  const auto experts = integer(config, "num_experts");
  if (!experts || from_outside(l, "ep") || *experts % l.ep == 0) return;
  out.expert_count.arithmetic =
      fmt::format("{} experts / EP {} = {}", *experts, l.ep, quotient(*experts, l.ep));
  const auto on_gpus = [&](int64_t v) {
    const bool known = l.gpus && l.expert_known;
    return !known || *l.gpus % saturating_product(saturating_product(l.etp, l.pp), v) == 0;
  };
  const auto has_room = [&](int64_t v) { return room.with_ep(v); };
  std::string values =
      around(l.ep, divisors(*experts), [&](int64_t v) { return on_gpus(v) && has_room(v); });
  out.expert_count.nearest = named("EP", values);
  if (values.empty() && l.gpus && l.expert_known) out.expert_count.nearest = out.layout_nearest;
  if (out.expert_count.nearest.empty())
    out.expert_count.nearest = named("EP", around(l.ep, divisors(*experts), has_room));
}

void put_sequence(const Layout& l, const SizeLimits& limits, Remedies& out) {
  if (!l.seq_len || l.cp <= 1 || from_outside(l, "cp")) return;
  const int64_t pieces = saturating_product(2, l.cp);
  if (*l.seq_len % pieces == 0) return;
  std::vector<int64_t> powers;
  for (int64_t v = 1; v <= *l.seq_len / 2; v *= 2) powers.push_back(v);
  const std::string sizes = named("CP", around(l.cp, powers, [&](int64_t v) {
                                    const int64_t ranks = saturating_product(l.tp, v);
                                    return v > 1 && limits.cp(v) && limits.tp(l.tp, v) &&
                                           (!l.gpus || *l.gpus % ranks == 0);
                                  }));
  out.sequence = {
      fmt::format("sequence {} / (2 x CP {} = {}) = {}", *l.seq_len, l.cp, pieces,
                  quotient(*l.seq_len, pieces)),
      sizes + (sizes.empty() ? "" : ", or ") + "sequence " + multiples_around(*l.seq_len, pieces)};
}

// The stages are given: PP x VPP must make just as many.
void put_given_stages(const Layout& l, int64_t given, Remedies& out) {
  if (given == l.stages.value_or(1)) return;
  const auto on_gpus = [&](int64_t pp) { return !l.gpus || *l.gpus % pp == 0; };
  std::string by_vpp, by_pp;
  if (given % l.pp == 0) by_vpp = fmt::format("VPP {}", given / l.pp);
  const int64_t vpp = l.vpp.value_or(1);
  if (given % vpp == 0 && (vpp == 1 || given > vpp) && on_gpus(given / vpp))
    by_pp = fmt::format("PP {}", given / vpp);
  out.stages.nearest = by_vpp + (by_vpp.empty() || by_pp.empty() ? "" : ", or ") + by_pp;
}

void put_stages(const RunConfig& config, const Layout& l, const PipelineSplit& split,
                const SizeLimits& limits, const Room& room, Remedies& out) {
  if (split.given && !from_outside(l, "pp")) return put_given_stages(l, *split.given, out);
  const auto units = limits.units();
  if (split.problem.empty() || !units || l.pp <= 1 || from_outside(l, "pp")) return;
  // Virtual stages that are asked for by their layers, which do not come out whole.
  const auto per_stage = l.vpp ? std::nullopt : integer(config, "layers_per_virtual_stage");
  const int64_t vpp = per_stage.value_or(l.vpp.value_or(1));
  const int64_t stages = saturating_product(l.pp, vpp);
  if (*units % stages == 0) return;
  out.stages.arithmetic =
      fmt::format("{} / (PP {} x {} {} = {}) = {}", *units, l.pp, per_stage ? "layers" : "VPP", vpp,
                  stages, quotient(*units, stages));
  const auto whole = [&](int64_t pp, int64_t v) { return *units % saturating_product(pp, v) == 0; };
  const std::string by_vpp =
      vpp > 1 && !per_stage
          ? named("VPP", around(vpp, up_to(*units), [&](int64_t v) { return whole(l.pp, v); }))
          : "";
  const std::string by_pp =
      named("PP", around(l.pp, up_to(*units), [&](int64_t v) {
              const bool on_gpus = !l.gpus || *l.gpus % v == 0;
              return on_gpus && limits.pp(v) && whole(v, vpp) && room.with_pp(v);
            }));
  out.stages.nearest = by_vpp + (by_vpp.empty() || by_pp.empty() ? "" : ", or ") + by_pp;
}

}  // namespace

Remedies remedies_of(const RunConfig& config, const Layout& layout, const PipelineSplit& split,
                     const MemoryUse& memory, int64_t fast_domain) {
  Remedies out;
  const SizeLimits limits(config, layout, fast_domain);
  const Room room(config, layout, memory);
  put_grids(config, layout, memory, fast_domain, out);
  put_shards(layout, out);
  put_batch(layout, out);
  put_heads(config, layout, limits, room, out);
  put_expert_count(config, layout, room, out);
  put_sequence(layout, limits, out);
  put_stages(config, layout, split, limits, room, out);
  // The layout that is nearest mends these too.
  if (!out.layout_nearest.empty())
    for (Remedy* r : {&out.heads, &out.expert_count, &out.sequence}) r->nearest.clear();
  return out;
}

std::string vpp_choices(const RunConfig& config, const Layout& l) {
  for (const char* key : {"pipeline_layout", "first_stage_layers", "last_stage_layers"})
    if (entry(config, key) != nullptr || from_outside(config, key)) return "";
  int64_t layers = integer(config, "num_layers").value_or(0);
  for (const char* key : {"account_for_embedding", "account_for_loss"})
    layers += boolean(config, key) == true && layers > 0 ? 1 : 0;
  if (l.pp < 2 || layers == 0 || layers % l.pp != 0) return "";
  const int64_t of_stage = layers / l.pp;
  std::vector<std::string> sizes;
  for (int64_t n = 2; n <= of_stage; ++n)
    if (of_stage % n == 0) sizes.push_back(fmt::format("{}", n));
  if (sizes.empty()) return "";
  const std::string last = sizes.back();
  sizes.pop_back();
  return fmt::format("{}{}{} ({} layers per stage)", fmt::join(sizes, ", "),
                     sizes.empty() ? "" : " or ", last, of_stage);
}

}  // namespace ws
