#pragma once
// The big tables: device records, API calls, synchronization; two threads read side by side.
#include "import/nsys_file.h"
#include "import/nsys_ranks.h"

namespace ws::nsys {

// All rows go to the ranks of their processes.
Result<void> read_device_records_and_calls(const File& file, const Strings& strings, Ranks& ranks);

}  // namespace ws::nsys
