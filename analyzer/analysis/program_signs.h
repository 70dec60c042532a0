#pragma once
// What shows that a program is no Megatron one. Operators of plain PyTorch prove nothing, since
// Megatron runs them all, and a name of Megatron may be missing where graphs replay its layers. So
// a sign is something that no program of Megatron Core has: the wrapper or trainer of another
// framework, embedding tables of recommenders, or a network of batch normalisations in which no
// operator or kernel is that of an attention or a state-space layer.
#include <string_view>

#include "model/trace.h"

namespace ws {

// In words, "": nothing shows it.
std::string_view sign_of_no_megatron(const Trace& trace);

}  // namespace ws
