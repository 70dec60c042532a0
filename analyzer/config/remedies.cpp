// Tested by: remedies_test.cpp
#include "config/remedies.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>

namespace ws {
namespace {

constexpr int64_t kSearchLimit = 131072;  // GPUs; at most 128 divisors, so the search is short
constexpr int64_t kLargestJob = 4194304;  // what the schema takes
constexpr size_t kTried = 48;             // layouts that are asked whether they fit the memory

std::string quotient(int64_t a, int64_t b) {
  return fmt::format("{:.4g}", static_cast<double>(a) / static_cast<double>(b));
}

std::vector<int64_t> divisors(int64_t n) {
  std::vector<int64_t> low, high;
  for (int64_t i = 1; i * i <= n; ++i) {
    if (n % i != 0) continue;
    low.push_back(i);
    if (i * i != n) high.push_back(n / i);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

bool is_power_of_two(int64_t v) { return (v & (v - 1)) == 0; }

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

std::string named(const char* name, const std::string& values) {
  return values.empty() ? "" : fmt::format("{} {}", name, values);
}

// "16 or 32": the multiples of `unit` below and above.
std::string multiples_around(int64_t value, int64_t unit) {
  const int64_t below = value / unit * unit, above = saturating_sum(below, unit);
  return below > 0 ? fmt::format("{} or {}", below, above) : fmt::format("{}", above);
}

// What a size must divide, as far as the configuration tells.
class Limits {
 public:
  Limits(const RunConfig& config, const Layout& l)
      : l_(l),
        heads_(integer(config, "attention_heads")),
        kv_heads_(integer(config, "kv_heads")),
        experts_(integer(config, "num_experts")),
        cp_takes_heads_(text(config, "cp_comm_type") == "a2a") {
    const bool uneven = integer(config, "first_stage_layers") ||
                        integer(config, "last_stage_layers") || text(config, "pipeline_layout");
    if (uneven) return;
    fixed_stages_ = false;
    if (const auto layers = integer(config, "num_layers"))
      units_ = *layers + (boolean(config, "account_for_embedding") == true) +
               (boolean(config, "account_for_loss") == true);
    if (!integer(config, "vpp")) per_stage_ = integer(config, "layers_per_virtual_stage");
  }

  bool tp(int64_t v, int64_t cp) const {
    if (kv_heads_ && *kv_heads_ % v != 0 && v % *kv_heads_ != 0) return false;
    if (heads_) return *heads_ % (cp_takes_heads_ && cp > 1 ? saturating_product(v, cp) : v) == 0;
    return v == l_.tp || is_power_of_two(v);
  }
  bool cp(int64_t v) const {
    if (l_.seq_len && v > 1) return *l_.seq_len % saturating_product(2, v) == 0;
    return v == l_.cp || is_power_of_two(v);
  }
  bool ep(int64_t v) const {
    return experts_ ? *experts_ % v == 0 : v == l_.ep || is_power_of_two(v);
  }
  bool etp(int64_t v) const { return v == l_.etp || is_power_of_two(v); }
  bool pp(int64_t v) const {
    if (v == l_.pp) return true;  // a fault of its own
    if (fixed_stages_) return false;
    const bool interleaved = per_stage_ || l_.vpp.value_or(1) > 1;
    if (interleaved && v == 1) return false;  // asserted
    if (per_stage_) return !units_ || *units_ % saturating_product(v, *per_stage_) == 0;
    return !units_ || *units_ % saturating_product(v, l_.vpp.value_or(1)) == 0;
  }
  bool batch(int64_t dp) const {
    if (!l_.global_batch || !l_.micro_batch) return true;
    return *l_.global_batch % saturating_product(dp, *l_.micro_batch) == 0;
  }
  std::optional<int64_t> units() const { return units_; }

 private:
  const Layout& l_;
  std::optional<int64_t> heads_, kv_heads_, experts_, units_, per_stage_;
  bool cp_takes_heads_, fixed_stages_ = true;
};

// A layout for the same GPUs, and how far it is from the one that is given.
struct Candidate {
  int changed = 0;
  double ratio = 1;  // product of the changes, each as a factor above 1
  int64_t tp = 1, cp = 1, pp = 1, etp = 1, ep = 1;
  auto order() const { return std::tuple(changed, ratio, pp, tp, cp, ep, etp); }
};

void change(Candidate& c, int64_t from, int64_t to) {
  if (from == to) return;
  ++c.changed;
  const auto lo = static_cast<double>(std::min(from, to));
  c.ratio *= static_cast<double>(std::max(from, to)) / lo;
}

class LayoutSearch {
 public:
  LayoutSearch(const RunConfig& config, const Layout& l)
      : l_(l), limits_(config, l), etp_follows_(!integer(config, "etp")) {}

  // The nearest, nearest first.
  std::vector<Candidate> run(bool with_batch) {
    for (const int64_t pp : divisors(*l_.gpus)) {
      if (!limits_.pp(pp)) continue;
      const std::vector<int64_t> sizes = divisors(*l_.gpus / pp);
      for (const int64_t tp : sizes) put_contexts(pp, tp, sizes, with_batch);
    }
    return std::move(best_);
  }

 private:
  void put_contexts(int64_t pp, int64_t tp, const std::vector<int64_t>& sizes, bool with_batch) {
    const int64_t left = *l_.gpus / pp;
    if (left % tp != 0 || (!l_.experts && !limits_.tp(tp, 1))) return;
    for (const int64_t cp : sizes) {
      if (left / tp % cp != 0 || !limits_.cp(cp) || !limits_.tp(tp, cp)) continue;
      if (with_batch && !limits_.batch(left / tp / cp)) continue;
      Candidate c;
      c.pp = pp, c.tp = tp, c.cp = cp;
      change(c, l_.pp, pp);
      change(c, l_.tp, tp);
      change(c, l_.cp, cp);
      if (too_far(c)) continue;
      put_experts(c, left, sizes);
    }
  }
  void put_experts(const Candidate& c, int64_t left, const std::vector<int64_t>& sizes) {
    if (!l_.experts) return offer(c);
    for (const int64_t etp : etp_follows_ ? std::vector<int64_t>{c.tp} : sizes) {
      if (left % etp != 0 || (!etp_follows_ && !limits_.etp(etp))) continue;
      for (const int64_t ep : sizes) {
        if (left / etp % ep != 0 || !limits_.ep(ep)) continue;
        Candidate whole = c;
        whole.etp = etp, whole.ep = ep;
        if (!etp_follows_) change(whole, l_.etp, etp);
        change(whole, l_.ep, ep);
        offer(whole);
      }
    }
  }
  bool too_far(const Candidate& c) const {
    return best_.size() == kTried &&
           std::tuple(best_.back().changed, best_.back().ratio) < std::tuple(c.changed, c.ratio);
  }
  void offer(const Candidate& c) {
    if (c.changed == 0) return;
    const auto nearer = [](const Candidate& a, const Candidate& b) {
      return a.order() < b.order();
    };
    if (best_.size() == kTried && !nearer(c, best_.back())) return;
    best_.insert(std::upper_bound(best_.begin(), best_.end(), c, nearer), c);
    if (best_.size() > kTried) best_.pop_back();
  }

  const Layout& l_;
  Limits limits_;
  bool etp_follows_;
  std::vector<Candidate> best_;
};

// "PP 3 and EP 2 (DP 2, EDP 1, 81 % of the memory)"
std::string candidate_words(const Layout& l, const Candidate& c, const Limits& limits,
                            std::optional<double> memory) {
  std::vector<std::string> sizes;
  const auto put = [&](const char* name, int64_t from, int64_t to) {
    if (from != to) sizes.push_back(fmt::format("{} {}", name, to));
  };
  put("TP", l.tp, c.tp);
  put("CP", l.cp, c.cp);
  put("PP", l.pp, c.pp);
  put("EP", l.ep, c.ep);
  if (l.experts && c.etp != c.tp) put("ETP", l.etp, c.etp);
  const int64_t left = *l.gpus / c.pp, dp = left / c.tp / c.cp;
  std::string rest = fmt::format("DP {}", dp);
  if (l.experts) rest += fmt::format(", EDP {}", left / c.etp / c.ep);
  if (!limits.batch(dp)) {
    const int64_t pass = saturating_product(dp, *l.micro_batch);
    rest += ", global batch " + multiples_around(*l.global_batch, pass);
  }
  if (memory) rest += fmt::format(", {:.0f} % of the memory", 100 * *memory);
  return fmt::format("{} ({})", fmt::join(sizes, " and "), rest);
}

RunConfig with_sizes(const RunConfig& config, const Layout& l, const Candidate& c) {
  RunConfig out = config;
  const auto put = [&](const char* key, int64_t size) { set_value(out, key, size, "nearest"); };
  put("tp", c.tp);
  put("cp", c.cp);
  put("pp", c.pp);
  if (!l.experts) return out;
  put("ep", c.ep);
  put("etp", c.etp);
  return out;
}

// The two nearest that also pass what is asked next: batch, layers per stage, memory.
std::string nearest_layout(const RunConfig& config, const Layout& l, const MemoryUse& memory) {
  if (*l.gpus > kSearchLimit) return "";
  const Limits limits(config, l);
  const bool batch_fits = !l.dp || limits.batch(*l.dp);  // else a fault of its own
  std::string out;
  size_t found = 0;
  const auto look = [&](bool with_batch) {
    for (const Candidate& c : LayoutSearch(config, l).run(with_batch)) {
      if (found == 2) return;
      const auto use = memory ? memory(with_sizes(config, l, c)) : std::nullopt;
      if (use && use->hi_share > 1) continue;
      out += (found++ > 0 ? " or " : "") +
             candidate_words(l, c, limits, use ? std::optional(use->share) : std::nullopt);
    }
  };
  if (batch_fits) look(true);
  if (found == 0) look(false);
  return out;
}

// Multiples of the smallest job; such that the batch divides, where one is.
std::string nearest_gpus(const RunConfig& config, const Layout& l) {
  if (one_world_only(l)) return fmt::format("{} GPUs", *l.min_gpus);
  const Limits limits(config, l);
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

void put_grids(const RunConfig& config, const Layout& l, const MemoryUse& memory, Remedies& out) {
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
  if (refused && l.min_gpus) out.layout_nearest = nearest_layout(config, l, memory);
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

void put_heads(const RunConfig& config, const Layout& l, const Limits& limits, Remedies& out) {
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
  else if (kv && *kv % l.tp != 0 && l.tp % *kv != 0)
    out.heads.arithmetic =
        fmt::format("{} key-value heads / TP {} = {}", *kv, l.tp, quotient(*kv, l.tp));
  if (out.heads.arithmetic.empty()) return;
  const int64_t most = heads ? *heads : saturating_product(2, l.tp);
  out.heads.nearest = named("TP", around(l.tp, up_to(most), [&](int64_t v) {
                              return limits.tp(v, l.cp) && (!l.gpus || *l.gpus % v == 0);
                            }));
}

void put_expert_count(const RunConfig& config, const Layout& l, Remedies& out) {
  const auto experts = integer(config, "num_experts");
  if (!experts || from_outside(l, "ep") || *experts % l.ep == 0) return;
  out.expert_count.arithmetic =
      fmt::format("{} experts / EP {} = {}", *experts, l.ep, quotient(*experts, l.ep));
  const auto on_gpus = [&](int64_t v) {
    const bool known = l.gpus && l.expert_known;
    return !known || *l.gpus % saturating_product(saturating_product(l.etp, l.pp), v) == 0;
  };
  std::string values = around(l.ep, divisors(*experts), on_gpus);
  if (values.empty()) values = around(l.ep, divisors(*experts), [](int64_t) { return true; });
  out.expert_count.nearest = named("EP", values);
}

void put_sequence(const Layout& l, Remedies& out) {
  if (!l.seq_len || l.cp <= 1 || from_outside(l, "cp")) return;
  const int64_t pieces = saturating_product(2, l.cp);
  if (*l.seq_len % pieces == 0) return;
  out.sequence = {fmt::format("sequence {} / (2 x CP {} = {}) = {}", *l.seq_len, l.cp, pieces,
                              quotient(*l.seq_len, pieces)),
                  "sequence " + multiples_around(*l.seq_len, pieces)};
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

void put_stages(const Layout& l, const PipelineSplit& split, const Limits& limits, Remedies& out) {
  if (split.given && !from_outside(l, "pp")) return put_given_stages(l, *split.given, out);
  const auto units = limits.units();
  if (split.problem.empty() || !units || l.pp <= 1 || from_outside(l, "pp")) return;
  const int64_t vpp = l.vpp.value_or(1), stages = saturating_product(l.pp, vpp);
  if (*units % stages == 0) return;
  out.stages.arithmetic = fmt::format("{} / (PP {} x VPP {} = {}) = {}", *units, l.pp, vpp, stages,
                                      quotient(*units, stages));
  const auto whole = [&](int64_t pp, int64_t v) { return *units % saturating_product(pp, v) == 0; };
  const std::string by_vpp =
      vpp > 1 ? named("VPP", around(vpp, up_to(*units), [&](int64_t v) { return whole(l.pp, v); }))
              : "";
  const std::string by_pp = named("PP", around(l.pp, up_to(*units), [&](int64_t v) {
                                    const bool on_gpus = !l.gpus || *l.gpus % v == 0;
                                    return on_gpus && limits.pp(v) && whole(v, vpp);
                                  }));
  out.stages.nearest = by_vpp + (by_vpp.empty() || by_pp.empty() ? "" : ", or ") + by_pp;
}

}  // namespace

Remedies remedies_of(const RunConfig& config, const Layout& layout, const PipelineSplit& split,
                     const MemoryUse& memory) {
  Remedies out;
  const Limits limits(config, layout);
  put_grids(config, layout, memory, out);
  put_shards(layout, out);
  put_batch(layout, out);
  put_heads(config, layout, limits, out);
  put_expert_count(config, layout, out);
  put_sequence(layout, out);
  put_stages(layout, split, limits, out);
  return out;
}

}  // namespace ws
