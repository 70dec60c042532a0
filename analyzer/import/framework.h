#pragma once
// Which framework a recording comes from, by names that no other gives.
#include <string>
#include <string_view>

#include "model/trace.h"

namespace ws {

// The surest first. "megatron_bridge" and "megatron_lm" are told by their own training programs,
// "megatron_core" by the library under both; "pytorch" by its operators, among which Megatron's
// would stand; "pytorch_kernels" by what any framework on PyTorch runs. "": no name tells.
// With kInferenceMark behind it where names are those of inference and none is of a backward pass
// or an optimizer.
std::string framework_of(const Trace& trace);

// Is the name of a Python function, of which a trace keeps few, worth knowing for that?
bool tells_framework(std::string_view python_function);

}  // namespace ws
