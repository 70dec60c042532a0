#pragma once
// What one GPU has to hold, by formula, before anything has run. One part per line, each with its
// formula and where it is known from. Not in it, and why the truth is higher: fragmentation, NCCL
// and CUDA workspaces, buffers of CUDA graphs and dispatchers, uneven routing.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/layout.h"
#include "config/model_shape.h"

namespace ws {

enum class MemoryKind { weights, gradients, optimizer, activations };
std::string_view name_of(MemoryKind kind);

struct MemoryPart {
  MemoryKind kind{};
  std::string name, formula, source;
  int64_t bytes = 0;
};

struct RankMemory {
  std::vector<MemoryPart> parts;
  int64_t total_bytes = 0;
};

struct MemoryEstimate {
  std::vector<RankMemory> ranks;  // by pipeline rank
  size_t worst = 0;
  int64_t uncertainty_bytes = 0;  // of the worst rank, up and down; a part that is always above is
                                  // named in `excluded`
  // Of the worst rank, where the file does not say which operations a selective checkpoint keeps:
  // with all of them recomputed. The totals are then with none.
  std::optional<int64_t> least_bytes;
  std::vector<std::string> assumed, excluded;
};

int64_t bytes_of(const RankMemory& rank, MemoryKind kind);

// The layout must divide the ranks (dp known) and the split hold stages.
MemoryEstimate estimate_memory(const RunConfig& config, const Layout& layout, const ModelShape& m,
                               const PipelineSplit& split);

}  // namespace ws
