#pragma once
// GPU names to platforms (rules/platforms.json): capacity, bandwidth, size of the fast domain.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ws {

struct Platform {
  std::string key;
  std::vector<std::string> match;  // lower case, anywhere in the name
  int64_t memory_bytes = 0, memory_bytes_per_s = 0;
  int64_t fast_domain_gpus = 0;  // GPUs that reach each other over NVLink or its like
};

class Platforms {
 public:
  static Result<Platforms> load(const std::string& path);
  const Platform* find(std::string_view gpu_name) const;  // nullptr: none matches
  const std::vector<Platform>& rows() const { return rows_; }

 private:
  std::vector<Platform> rows_;
};

}  // namespace ws
