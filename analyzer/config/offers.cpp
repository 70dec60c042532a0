// Tested by: offers_test.cpp
#include "config/offers.h"

#include <fmt/format.h>

#include <algorithm>

namespace ws {
namespace {

class Trial {
 public:
  Trial(const RunConfig& config, const Layout& l, const MemoryUse& memory, int64_t fast_domain)
      : config_(config), l_(l), memory_(memory), fast_domain_(fast_domain) {}

  Offers run() {
    const auto now = use_of(config_);
    short_ = now && now->hi_share > 1;
    put_recompute();
    put_without_host();
    if (!divides_but_batch(l_)) return std::move(out_);  // another layout comes first
    put_cp();
    put_ep();
    put_shards();
    return std::move(out_);
  }

  static bool divides_but_batch(const Layout& l) {
    if (!l.gpus) return true;
    if (l.attention_known && !l.dp) return false;
    if (l.experts && l.expert_known && !l.edp) return false;
    if (!l.shard_product) return true;
    return one_world_only(l) ? *l.gpus == *l.shard_product : *l.gpus % *l.shard_product == 0;
  }

 private:
  std::optional<MemoryShares> use_of(const RunConfig& config) const {
    return memory_ ? memory_(config) : std::nullopt;
  }
  RunConfig with(std::string_view key, ConfigValue value) const {
    RunConfig out = config_;
    set_value(out, key, std::move(value), "offered");
    return out;
  }
  static std::string words(const std::optional<MemoryShares>& use) {
    return use ? memory_use_words(*use) : "";
  }

  // With the recompute that is advised, or the cheap one where there is none yet.
  RunConfig recomputing(RunConfig config) const {
    const std::string how = text(config, "recompute_granularity").value_or("none");
    const auto names = how == "none" ? cheap_recompute(config) : out_.recompute;
    if (names.empty()) return config;
    set_value(config, "recompute_granularity", std::string("selective"), "offered");
    set_value(config, "recompute_modules", names, "offered");
    return config;
  }

  void put_recompute() {
    out_.recompute = advised_recompute(config_, false, short_);
    const auto given = list(config_, "recompute_modules").value_or(std::vector<std::string>{});
    if (text(config_, "recompute_granularity") == "full" ||
        std::count(given.begin(), given.end(), "moe") == 0)
      return;
    const auto use = use_of(with("recompute_modules", out_.recompute));
    if (!use || use->hi_share <= 1) return;
    out_.moe_needed = words(use);
    out_.recompute = advised_recompute(config_, true, short_);
  }

  void put_without_host() {
    if (boolean(config_, "optimizer_cpu_offload") != true) return;
    RunConfig other = with("optimizer_cpu_offload", false);
    if (!out_.recompute.empty()) set_value(other, "recompute_modules", out_.recompute, "offered");
    const auto use = use_of(other);
    if (use && use->hi_share <= 1) out_.without_host = words(use);
  }

  // Of what the first guess asks for the most that leaves data parallelism something; only where
  // nothing else fits, less.
  void put_cp() {
    if (!l_.cp_suggested || from_outside(l_, "cp")) return;
    out_.cp = l_.cp;
    std::vector<int64_t> sizes;
    if (l_.gpus) sizes = divisors(*l_.gpus);
    for (int64_t v = 1; !l_.gpus && v <= std::max(l_.cp, *l_.cp_suggested); v *= 2)
      sizes.push_back(v);
    const bool more = *l_.cp_suggested > l_.cp;
    bool fits = false;
    for (const int64_t v : sizes) {
      const bool between =
          more ? v > l_.cp && v <= *l_.cp_suggested : v < l_.cp && v >= *l_.cp_suggested;
      if (!between) continue;
      const RunConfig other = with("cp", v);
      if (!divides(other)) continue;
      const bool alone = layout_of(other).dp == 1;
      const auto use = use_of(other);
      if (use && use->hi_share > 1 && !(more && short_)) continue;
      if (alone && more && !(short_ && use && use->hi_share <= 1 && !fits)) continue;
      const auto with_less = use_of(recomputing(other));
      fits = with_less && with_less->hi_share <= 1;
      out_.cp = v;
      out_.cp_memory = words(use);
      if (!more) return;
    }
  }

  void put_ep() {
    const auto experts = integer(config_, "num_experts");
    if (!experts || !l_.expert_known || fast_domain_ == 0) return;
    const int64_t etp = integer(config_, "etp") ? l_.etp : 1;
    if (saturating_product(l_.ep, etp) <= fast_domain_) return;
    std::vector<int64_t> sizes = divisors(*experts);
    for (auto v = sizes.rbegin(); v != sizes.rend(); ++v) {
      if (*v >= l_.ep || saturating_product(*v, etp) > fast_domain_) continue;
      RunConfig other = with("ep", *v);
      set_value(other, "etp", etp, "offered");
      if (!divides(other)) continue;
      const auto use = use_of(other);
      if (!use || use->hi_share <= 1) {
        out_.ep = *v;
        out_.ep_memory = words(use);
        out_.ep_refused.clear();
        return;
      }
      if (out_.ep_refused.empty()) out_.ep_refused = fmt::format("EP {} needs {}", *v, words(use));
    }
  }

  void put_shards() {
    if (!short_ || !l_.dp || l_.shards.value_or(0) <= 1) return;
    for (const int64_t v : divisors(*l_.dp)) {
      if (v <= *l_.shards || v % *l_.shards != 0) continue;
      RunConfig other = with("fsdp_shard_size", v);
      if (l_.replicas) set_value(other, "fsdp_replicas", *l_.dp / v, "offered");
      const auto use = use_of(other);
      out_.shards = v;
      out_.shards_memory = words(use);
      if (use && use->hi_share <= 1) return;
    }
  }

  const RunConfig& config_;
  const Layout& l_;
  const MemoryUse& memory_;
  int64_t fast_domain_;
  bool short_ = false;
  Offers out_;
};

}  // namespace

std::string memory_use_words(const MemoryShares& use) {
  return fmt::format("{:.1f} GiB, {:.0f} %", static_cast<double>(use.bytes) / (1 << 30),
                     100 * use.share);
}

bool divides(const RunConfig& config) {
  const Layout l = layout_of(config);
  const SizeLimits limits(config, l);
  if (!Trial::divides_but_batch(l)) return false;
  if (l.dp && !limits.batch(*l.dp)) return false;
  return limits.take(l);
}

Offers offers_of(const RunConfig& config, const Layout& layout, const MemoryUse& memory,
                 int64_t fast_domain) {
  return Trial(config, layout, memory, fast_domain).run();
}

}  // namespace ws
