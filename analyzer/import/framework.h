#pragma once
// Which framework a recording comes from, by names that no other gives.
#include <string_view>

#include "model/trace.h"

namespace ws {

// The surest first. "megatron_bridge" and "megatron_lm" are told by their own training programs,
// "megatron_core" by the library under both; "pytorch" by its operators, among which Megatron's
// would stand; "pytorch_kernels" by what any framework on PyTorch runs. "": no name tells.
std::string_view framework_of(const Trace& trace);

}  // namespace ws
