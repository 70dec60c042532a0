#pragma once
// What to record, wherever it is said: verdict, notes, rules and README agree on one schedule. Six
// steps, so that five count when the first is left out; from step 20 on, when most runs are warm.
// Tested by: recommended_recording_test.cpp, which holds rules/ and README.md against it.
#include <string_view>

namespace ws {

inline constexpr std::string_view kProfilerSchedule =
    "torch.profiler.schedule(wait=20, warmup=5, active=6, repeat=1)";

}  // namespace ws
