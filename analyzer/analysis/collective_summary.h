#pragma once
#include <array>
#include <span>
#include <vector>

#include "analysis/rank_analysis.h"

namespace ws {

struct CommunicationSummary {
  std::vector<CollectiveRow> rows;  // most exposed first
  Overlap comm, copies;             // unions over all windows, not per step
  std::array<Overlap, kCommRowCount> by_kind;
  std::vector<std::pair<uint32_t, uint32_t>> row_of_op;  // collectives only, by row of Trace::ops
};

// Collectives by (communicator, kind, operation, payload). Exposed time is what the timeline
// charges to an instance, hidden time what lies under compute; both clipped to the windows.
// Instances are counted where they begin. Beyond kCollectiveRows payloads are put together.
inline constexpr size_t kCollectiveRows = 300;
CommunicationSummary summarize_communication(const Trace& trace, const Labels& labels,
                                             DeviceId device, const Timeline& timeline,
                                             std::span<const Interval> windows);
}  // namespace ws
