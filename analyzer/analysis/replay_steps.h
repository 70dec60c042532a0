#pragma once
// Which steps of a rank are re-simulated, and their records (ALGORITHMS 6, "Cost").
#include <optional>

#include "analysis/replay_input.h"
#include "analysis/steps.h"

namespace ws {

inline constexpr size_t kReplaySteps = 5;          // priced steps; more while they are small (D)
inline constexpr size_t kSmallReplayOps = 20'000;  // up to here more steps cost next to nothing (D)

struct DeviceSteps {
  DeviceId device{};
  Constants constants;
  const std::vector<Step>* steps = nullptr;
};

// The first longest run of consecutive steady steps, and the complete step before it: gains are
// differences of step ends, so the step before the first counted one is the place to measure from.
// host_steps: the host's own ranges, empty where steps were found by repetition. nullopt: fewer
// than two steps, or two of them hold more than most_ops device records.
std::optional<ReplayRank> replay_of_steps(const Trace& trace, const Labels& labels,
                                          const std::vector<DeviceSteps>& devices,
                                          const std::vector<Step>& host_steps, size_t most_ops,
                                          const std::vector<uint32_t>& comm_record_of_op);

}  // namespace ws
