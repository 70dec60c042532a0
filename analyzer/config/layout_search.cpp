// Tested by: remedies_test.cpp
#include "config/layout_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "config/releases.h"

namespace ws {
namespace {

constexpr int64_t kSearchLimit = 131072;  // GPUs; at most 128 divisors, so the search is short
constexpr size_t kTried = 48;             // layouts that are asked whether they fit the memory

bool is_power_of_two(int64_t v) { return (v & (v - 1)) == 0; }

}  // namespace

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

// "16 or 32": the multiples of `unit` below and above.
std::string multiples_around(int64_t value, int64_t unit) {
  const int64_t below = value / unit * unit, above = saturating_sum(below, unit);
  return below > 0 ? fmt::format("{} or {}", below, above) : fmt::format("{}", above);
}

std::optional<bool> groups_take(const RunConfig& config, int64_t kv_heads, int64_t tp) {
  constexpr int64_t kSharedFrom = 16;
  if (kv_heads % tp == 0) return true;
  const bool pytorch = text(config, "framework") == "pytorch";
  if (pytorch && boolean(config, "multi_latent_attention") == true) return true;
  if (pytorch || tp % kv_heads != 0) return false;
  const auto release = core_release(config);
  return release ? std::optional(*release >= kSharedFrom) : std::nullopt;
}

SizeLimits::SizeLimits(const RunConfig& config, const Layout& l, int64_t fast_domain)
    : config_(config),
      l_(l),
      fast_domain_(fast_domain),
      heads_(integer(config, "attention_heads")),
      kv_heads_(integer(config, "kv_heads")),
      experts_(integer(config, "num_experts")),
      cp_takes_heads_(text(config, "cp_comm_type") == "a2a") {
  const bool uneven = integer(config, "first_stage_layers") ||
                      integer(config, "last_stage_layers") || text(config, "pipeline_layout");
  if (uneven) return;
  fixed_stages_ = false;
  units_ = pipeline_units(config);
  if (!integer(config, "vpp")) per_stage_ = integer(config, "layers_per_virtual_stage");
}

bool SizeLimits::tp(int64_t v, int64_t cp) const {
  const bool as_given = v == l_.tp;  // of which it is told elsewhere what may be wrong
  if (kv_heads_ && !groups_take(config_, *kv_heads_, v).value_or(as_given)) return false;
  if (fast_domain_ > 0 && v > fast_domain_ && !as_given) return false;
  if (heads_) return *heads_ % (cp_takes_heads_ && cp > 1 ? saturating_product(v, cp) : v) == 0;
  return v == l_.tp || is_power_of_two(v);
}

bool SizeLimits::cp(int64_t v) const {
  if (l_.seq_len && v > 1) return *l_.seq_len % saturating_product(2, v) == 0;
  return v == l_.cp || is_power_of_two(v);
}

bool SizeLimits::ep(int64_t v) const {
  return experts_ ? *experts_ % v == 0 : v == l_.ep || is_power_of_two(v);
}

bool SizeLimits::etp(int64_t v) const { return v == l_.etp || is_power_of_two(v); }
bool SizeLimits::pp(int64_t v) const {
  if (v == l_.pp) return true;  // a fault of its own
  if (fixed_stages_) return false;
  const bool interleaved = per_stage_ || l_.vpp.value_or(1) > 1;
  if (interleaved && v == 1) return false;  // asserted
  if (per_stage_) return !units_ || *units_ % saturating_product(v, *per_stage_) == 0;
  return !units_ || *units_ % saturating_product(v, l_.vpp.value_or(1)) == 0;
}

bool SizeLimits::batch(int64_t dp) const {
  if (!l_.global_batch || !l_.micro_batch) return true;
  return *l_.global_batch % saturating_product(dp, *l_.micro_batch) == 0;
}

namespace {

// A layout for the same GPUs, and how far it is from the one that is given.
struct Candidate : LayoutSizes {
  int changed = 0;
  double ratio = 1;  // product of the changes, each as a factor above 1
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
  LayoutSearch(const RunConfig& config, const Layout& l, int64_t fast_domain)
      : l_(l), limits_(config, l, fast_domain), etp_follows_(!integer(config, "etp")) {}

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
      if (too_short(tp, cp)) continue;
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
    // ETP that is not given is TP, or 1 as it is advised then.
    std::vector<int64_t> whole_or_split = {c.tp};
    if (c.tp != 1) whole_or_split.push_back(1);
    for (const int64_t etp : etp_follows_ ? whole_or_split : sizes) {
      if (left % etp != 0 || (!etp_follows_ && !limits_.etp(etp))) continue;
      for (const int64_t ep : sizes) {
        if (left / etp % ep != 0 || !limits_.ep(ep)) continue;
        Candidate whole = c;
        whole.etp = etp, whole.ep = ep;
        if (!etp_follows_) change(whole, l_.etp, etp);
        if (etp_follows_ && etp != c.tp) ++whole.changed;
        change(whole, l_.ep, ep);
        offer(whole);
      }
    }
  }
  // Below that the exchange of CP costs more than it saves.
  bool too_short(int64_t tp, int64_t cp) const {
    constexpr int64_t kTokens = 4096;
    return cp > l_.cp && l_.seq_len && *l_.seq_len / saturating_product(tp, cp) < kTokens;
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
  SizeLimits limits_;
  bool etp_follows_;
  std::vector<Candidate> best_;
};

// "PP 3 and EP 2 (DP 2, EDP 1, 81 % of the memory)"
std::string candidate_words(const Layout& l, const Candidate& c, const SizeLimits& limits,
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

}  // namespace

RunConfig with_sizes(const RunConfig& config, const Layout& l, const LayoutSizes& c) {
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
std::string nearest_layout(const RunConfig& config, const Layout& l, const MemoryUse& memory,
                           int64_t fast_domain) {
  if (*l.gpus > kSearchLimit) return "";
  const SizeLimits limits(config, l);
  const bool batch_fits = !l.dp || limits.batch(*l.dp);  // else a fault of its own
  std::string out;
  size_t found = 0;
  const auto look = [&](bool with_batch) {
    for (const Candidate& c : LayoutSearch(config, l, fast_domain).run(with_batch)) {
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

}  // namespace ws
