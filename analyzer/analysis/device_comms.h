#pragma once
// The communication of one device, kept after its trace is gone: what matching needs, and the
// exposed parts of every operation, so that waiting can be split from transfer afterwards with the
// same integers as at once (ALGORITHMS 7).
#include <span>
#include <vector>

#include "analysis/comm_record.h"
#include "analysis/labels.h"
#include "analysis/late_category.h"
#include "analysis/partition.h"

namespace ws {

// Time of a step that the partition charges to one communication op.
struct ExposedPart {
  uint32_t record = 0;
  uint32_t step = 0;  // row of the device's steps
  Interval span;
};

// What a rank did since its previous operation on the same communicator ended.
struct BeforeRecord {
  TimeNs from_ns = 0;  // end of that operation
  bool known = false;  // false: first operation of the recording
  LateSums ns{};
};

// Idle time of a step outside its first to last pipeline operation; short gaps are left out.
struct EdgeIdle {
  uint32_t step = 0;
  Interval span;
  bool open = false;  // no known cause
};

// A pipeline stage's step: its own pipeline operations, and its compute.
struct StageStep {
  Interval pipeline, compute;  // hulls, empty: none
};

inline constexpr uint32_t kNoStep = UINT32_MAX;

struct DeviceComms {
  std::vector<CommRecord> records;     // by begin; communicator: row of RankAnalysis::communicators
  std::vector<uint32_t> op;            // per record: row of Trace::ops
  std::vector<uint32_t> row;           // per record: row of DeviceAnalysis::collectives, kNoRow
  std::vector<uint32_t> step;          // per record: row of the steps it begins in, kNoStep
  std::vector<ExposedPart> exposed;    // in time order
  std::vector<BeforeRecord> before;    // per record
  std::vector<StageStep> stage_steps;  // per step; empty: no pipeline operations
  std::vector<EdgeIdle> edge_idle;     // in time order
};

// windows: those of all steps. receives_only: of pipelines, for a device that is alone. row is left
// to the caller (collective_summary.h).
DeviceComms collect_comms(const Trace& trace, const Labels& labels, DeviceId device,
                          const Timeline& timeline, std::span<const Interval> windows,
                          bool receives_only = false);

}  // namespace ws
