#pragma once
// Remedies: why a run configuration does not add up, in its own numbers, and the nearest values
// that do. A layout is changed in as few sizes and as little as goes; a new size also divides what
// the model has of it (heads, experts, layers), the batch and the memory, where these are known.
// Tested by: remedies_test.cpp
#include <string>

#include "config/layout.h"
#include "config/layout_search.h"
#include "config/model_shape.h"

namespace ws {

// Both empty: it adds up, or a number is missing.
struct Remedy {
  std::string arithmetic;  // "24 GPUs / (TP 4 x CP 1 x PP 4 = 16) = 1.5"
  std::string nearest;     // "16 or 32 GPUs"
};

struct Remedies {
  Remedy attention, expert;    // nearest: "16 or 32 GPUs", that both grids divide
  Remedy shards;               // nearest: "a multiple of 8", "8": GPUs
  std::string layout_nearest;  // sizes for the GPUs as they are: "PP 3 (DP 2) or PP 6 (DP 1)"
  Remedy batch;                // nearest: "global batch 16 or 32"
  Remedy heads;                // nearest: "TP 2 or 8"
  Remedy expert_count;         // nearest: "EP 4 or 16"
  Remedy sequence;             // nearest: "sequence 4096 or 4112"
  Remedy stages;               // nearest: "PP 3 or 5"
};

// `fast_domain`: GPUs that reach each other over the fast link; 0: not known.
Remedies remedies_of(const RunConfig& config, const Layout& layout, const PipelineSplit& split,
                     const MemoryUse& memory = {}, int64_t fast_domain = 0);

// Sizes of VPP that divide the layers of a stage: "2, 4 or 8 (8 layers per stage)"; "": stages are
// no even parts of the layers, or have one each.
std::string vpp_choices(const RunConfig& config, const Layout& layout);

}  // namespace ws
