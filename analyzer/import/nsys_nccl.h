#pragma once
// What NCCL's NVTX ranges say of a collective in their payload.
#include <string>
#include <string_view>

#include "import/nsys_ranks.h"

namespace ws::nsys {

// NCCL's own ranges: its functions, in a domain of its own (0 is the default domain).
bool is_nccl_range(std::string_view name, int64_t domain);
// Those that send or reduce something, and so should carry a payload.
bool is_nccl_transfer(std::string_view name);

// Adds the row; creations of communicators go to `created`. Returns the row.
uint32_t add_nccl_collective(TraceBuilder& builder, std::string_view name, std::string_view json,
                             Communicators& created);

// Group sizes of the collectives of communicators created in the recording.
void add_group_sizes(Trace& trace, const Communicators& created);

}  // namespace ws::nsys
