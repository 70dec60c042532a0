#pragma once
// Opaque 32-bit row indices: no arithmetic, no mix-ups. `row(id)` gives the vector index.
#include <cstddef>
#include <cstdint>

namespace ws {
enum class StringId : uint32_t {};
enum class ProcessId : uint32_t {};
enum class ThreadId : uint32_t {};
enum class DeviceId : uint32_t {};
enum class StreamId : uint32_t {};

inline constexpr uint32_t kNoRow = 0xffffffffu;
inline constexpr ThreadId kNoThread{kNoRow};

template <class Id>
constexpr size_t row(Id id) {
  return static_cast<size_t>(id);
}
}  // namespace ws
