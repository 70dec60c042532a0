#pragma once
// Layout search: sizes of a parallel layout that a model, a batch and a number of GPUs take, and
// the layouts for the same GPUs that are nearest to one that does not add up. Tested by:
// remedies_test.cpp
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/layout.h"

namespace ws {

// Estimate of a configuration, of the GPU's memory; nullopt: something for it is not known.
struct MemoryShares {
  double share = 0, hi_share = 0;  // hi: with the uncertainty on top
  int64_t bytes = 0;
};
using MemoryUse = std::function<std::optional<MemoryShares>(const RunConfig&)>;

// Whether so many key-value heads can stand on TP ranks. More ranks than heads share them from
// Megatron Core 0.16 on, older ones refuse; nullopt: the release is not known. PyTorch's DTensor
// splits the projection and leaves a rank a part of a head; with latent attention no heads of keys
// are split there.
// source: Megatron-LM pull request 2565; megatron/core/transformer/transformer_config.py;
// torchtitan issue 932, pull request 2577
std::optional<bool> groups_take(const RunConfig& config, int64_t kv_heads, int64_t tp);

std::vector<int64_t> divisors(int64_t n);  // ascending
// "16 or 32": the multiples of `unit` below and above.
std::string multiples_around(int64_t value, int64_t unit);

struct LayoutSizes {
  int64_t tp = 1, cp = 1, pp = 1, etp = 1, ep = 1;
};

// What a size must divide, as far as the configuration tells.
class SizeLimits {
 public:
  // `fast_domain`: GPUs that reach each other over the fast link, 0: not known. TP stays inside.
  SizeLimits(const RunConfig& config, const Layout& l, int64_t fast_domain = 0);

  bool tp(int64_t v, int64_t cp) const;
  bool cp(int64_t v) const;
  bool ep(int64_t v) const;
  bool etp(int64_t v) const;
  bool pp(int64_t v) const;
  bool batch(int64_t dp) const;
  bool take(const Layout& l) const { return tp(l.tp, l.cp) && cp(l.cp) && ep(l.ep); }
  // Layers, and what counts as one, that the stages share evenly; nullopt: not known, or given.
  std::optional<int64_t> units() const { return units_; }

 private:
  const RunConfig& config_;
  const Layout& l_;
  int64_t fast_domain_;
  std::optional<int64_t> heads_, kv_heads_, experts_, units_, per_stage_;
  bool cp_takes_heads_, fixed_stages_ = true;
};

// `config` with other sizes.
RunConfig with_sizes(const RunConfig& config, const Layout& l, const LayoutSizes& sizes);

// The two nearest that also pass what is asked next: batch, layers per stage, memory. "": none.
std::string nearest_layout(const RunConfig& config, const Layout& l, const MemoryUse& memory,
                           int64_t fast_domain);

}  // namespace ws
