#pragma once
// GPU names to platforms (rules/platforms.json): capacity, bandwidth, peaks, links. Datasheet
// figures per GPU, links one way.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ws {

struct ProfileStep {
  std::string when;          // "" always, "experts", "recompute": only where the run has them
  std::string what;          // as it is to be printed, its figures taken from the rows
  std::string links_beside;  // key of the platform whose links stand beside its own; "": none
};

struct Platform {
  std::string key;
  std::vector<std::string> match;  // lower case, anywhere in the name
  int64_t memory_bytes = 0, memory_bytes_per_s = 0;
  int64_t fast_domain_gpus = 0;  // GPUs that reach each other over NVLink or its like
  int64_t bf16_flops = 0, fp8_flops = 0, fp4_flops = 0;  // dense, per second; 0: not supported
  int64_t fast_link_bytes_per_s = 0, network_bytes_per_s = 0, host_link_bytes_per_s = 0;
  std::string compute_capability, source;
  std::vector<ProfileStep> profile_first;  // in this order
};

class Platforms {
 public:
  static Result<Platforms> load(const std::string& path);
  const Platform* find(std::string_view gpu_name) const;  // nullptr: none matches
  const Platform* by_key(std::string_view key) const;     // "h100"; nullptr: no such key
  const std::vector<Platform>& rows() const { return rows_; }

 private:
  std::vector<Platform> rows_;
};

// Dense peak for GEMMs of this precision (a value of fact_config.precision); 0: none known.
int64_t peak_flops(const Platform& platform, std::string_view precision);

}  // namespace ws
