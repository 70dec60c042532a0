#pragma once
// Everything arithmetic can say of a run configuration, once, for the plan and for the facts.
#include <optional>
#include <string>
#include <vector>

#include "config/layout.h"
#include "config/memory_estimate.h"
#include "config/model_shape.h"
#include "config/offers.h"
#include "config/platforms.h"
#include "config/remedies.h"

namespace ws {

struct ConfigStudy {
  Layout layout;
  ModelSizes model;
  PipelineSplit split;
  std::optional<std::string> precision;
  RecomputeNames recompute;
  Remedies remedies;  // of what does not add up
  Offers offers;
  const Platform* platform = nullptr;
  int64_t capacity_bytes = 0;  // memory of one GPU: as recorded, else of the platform; 0: not known
  std::optional<MemoryEstimate> memory;
  std::optional<double> flops_per_token;
  std::vector<std::string> limits;  // what could not be computed, and which keys it wants
};

// `recorded` may be null: the configuration's own key decides. `recorded_bytes`: of the recorded
// GPU's memory, 0: not known. The study keeps pointers into `platforms`.
ConfigStudy study_config(const RunConfig& config, const Platforms& platforms,
                         const Platform* recorded, int64_t recorded_bytes = 0);

}  // namespace ws
