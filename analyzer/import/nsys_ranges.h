#pragma once
// Host ranges and the small tables: NVTX, OS runtime waits, overhead, device memory.
#include "import/nsys_file.h"
#include "import/nsys_ranks.h"

namespace ws::nsys {

Result<void> read_nvtx(const File& file, const Strings& strings, Ranks& ranks);
Result<void> read_os_waits(const File& file, const Strings& strings, Ranks& ranks);
Result<void> read_overhead(const File& file, const Strings& strings, Ranks& ranks);
Result<void> read_device_memory(const File& file, Ranks& ranks);

// The name by which analyses know a kind of overhead; `name` as the file spells it, lower case.
std::string overhead_name(int64_t type, std::string_view name);
// Calls of the C library that wait for somebody else.
bool is_os_wait(std::string_view call);

}  // namespace ws::nsys
