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
  std::string when;  // what must hold of the configuration: "bubble"
  std::string what;  // with marks for figures: "the collectives of TP {tp}"
};

struct Platform {
  std::string key;    // of the row; its boards share it
  std::string board;  // "A100 40GB": differs from the row in some figures; "": the row itself
  std::vector<std::string> match;  // lower case, anywhere in the name
  int64_t memory_bytes = 0, memory_bytes_per_s = 0;
  int64_t fast_domain_gpus = 0;  // that reach each other over NVLink or its like; 0: not known
  int64_t bf16_flops = 0, fp8_flops = 0, fp4_flops = 0;  // dense, per second; 0: not supported
  int64_t fast_link_bytes_per_s = 0, network_bytes_per_s = 0, host_link_bytes_per_s = 0;
  std::string compute_capability, source;
  std::vector<Platform> boards;  // of the row alone: with other memory, links or peaks
  bool by_memory = false;        // a board: its size alone tells it from the row
};

class Platforms {
 public:
  static Result<Platforms> load(const std::string& path);
  // The board that the name tells, or the recorded bytes of memory (0: not recorded), which win
  // where they contradict the name; nullptr: no row matches. A slice of a GPU (MIG, partitions) has
  // no peaks.
  const Platform* find(std::string_view gpu_name, int64_t recorded_bytes = 0) const;
  const Platform* by_key(std::string_view key) const;  // "h100"; nullptr: no such key
  // Of one GPU: as recorded, else of the board, else the size that the name says; 0: not known.
  int64_t memory_of(std::string_view gpu_name, int64_t recorded_bytes = 0) const;
  // The name in a configuration is that of another GPU than the recorded one: another row, or
  // another size of it. What no row knows contradicts nothing.
  bool contradicts(std::string_view asked, std::string_view gpu_name, int64_t recorded_bytes) const;
  const std::vector<Platform>& rows() const { return rows_; }
  // Of any platform, the likeliest wall first.
  const std::vector<ProfileStep>& profile_first() const { return profile_first_; }

 private:
  std::vector<Platform> rows_;
  std::vector<ProfileStep> profile_first_;
};

// "A100-SXM4-40GB" says 40 x 2^30; 0: the name says no size of a GPU's memory.
int64_t memory_in_name(std::string_view gpu_name);

// Dense peak for GEMMs of this precision (a value of fact_config.precision); 0: none known.
int64_t peak_flops(const Platform& platform, std::string_view precision);

}  // namespace ws
