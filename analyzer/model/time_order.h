#pragma once
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace ws {

// Rows by begin, then row; `nested`: by begin, then longest first, then row. Empty when the rows
// are in that order already.
std::vector<uint32_t> time_order(const std::vector<TimeNs>& begin_ns,
                                 const std::vector<TimeNs>& end_ns, bool nested);

}  // namespace ws
