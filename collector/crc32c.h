#pragma once
// CRC-32C (Castagnoli) of frames, as schemas/recording_format.md wants it.
#include <cstddef>
#include <cstdint>

namespace ws::collector {

uint32_t crc32c(const void* data, size_t size) noexcept;

}  // namespace ws::collector
