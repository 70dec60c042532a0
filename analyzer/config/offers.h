#pragma once
// Offers: values that advice on a configuration may name, each tried on a copy of it first. An
// offer divides what it must (GPUs, sequence, batch, experts) and fits the memory with all of its
// uncertainty, as far as that is known. Tested by: offers_test.cpp
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/layout_search.h"

namespace ws {

struct Offers {
  std::optional<int64_t> cp;  // for the sequence; as it is: nothing better holds; nullopt: unknown
  std::optional<int64_t> ep;  // inside the fast domain; nullopt: none, or nothing to offer
  std::optional<int64_t> shards;  // of FSDP, where it is short of memory
  // "104.2 GiB, 132 %": what it then takes; "": not known
  std::string cp_memory, ep_memory, shards_memory;
  std::string ep_refused;    // "EP 8 needs 104.2 GiB, 132 %"
  std::string without_host;  // what it takes without the optimizer on the host, where that fits
  std::string moe_needed;    // what it takes without recompute of moe, where that does not fit
  std::vector<std::string> recompute;  // advised_recompute(), such that it fits
};

Offers offers_of(const RunConfig& config, const Layout& layout, const MemoryUse& memory,
                 int64_t fast_domain);

// The sizes divide GPUs, sequence, batch, heads and experts, as far as these are known.
bool divides(const RunConfig& config);

std::string memory_use_words(const MemoryShares& use);  // "104.2 GiB, 132 %"

}  // namespace ws
