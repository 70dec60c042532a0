#pragma once
// Which framework a recording comes from, by names that no other gives.
#include <string_view>

#include "model/trace.h"

namespace ws {

// "megatron_bridge", "megatron_lm", "pytorch", or "": no name tells. Megatron Core alone counts as
// megatron_lm, whatever is built on it.
std::string_view framework_of(const Trace& trace);

}  // namespace ws
