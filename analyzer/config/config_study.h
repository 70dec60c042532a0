#pragma once
// Everything arithmetic can say of a run configuration, once, for the plan and for the facts.
#include <optional>
#include <string>
#include <vector>

#include "config/layout.h"
#include "config/memory_estimate.h"
#include "config/model_shape.h"
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
  const Platform* platform = nullptr;
  std::optional<MemoryEstimate> memory;
  std::optional<double> flops_per_token;
  std::vector<std::string> limits;  // what could not be computed, and which keys it wants
};

// `platform` may be null: the configuration's own key decides. The study keeps pointers into
// `platforms`.
ConfigStudy study_config(const RunConfig& config, const Platforms& platforms,
                         const Platform* platform);

}  // namespace ws
