#pragma once
// What a host thread does, as far as it explains an idle device (ALGORITHMS 3.3).
#include <cstddef>
#include <cstdint>

namespace ws {

// In order of precedence: the first that is active names the state.
enum class HostState : uint8_t {
  alloc,
  sync,
  jit,
  gc,
  profiler,
  dataload,
  graph_build,
  launch,
  other,
  graph_launch,
  none
};
inline constexpr size_t kHostStateCount = static_cast<size_t>(HostState::none);

// States that cost the host its run-ahead when they are still on as the device falls idle.
constexpr bool is_credited(HostState s) {
  return s <= HostState::graph_build && s != HostState::profiler;
}
// States that interrupt a launch call.
constexpr bool interrupts_launch(HostState s) {
  return s == HostState::alloc || s == HostState::jit || s == HostState::profiler;
}

}  // namespace ws
