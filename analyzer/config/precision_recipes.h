#pragma once
// Precision recipes that Megatron Bridge knows by name, and what each of them sets.
#include "config/run_config.h"

namespace ws {

// Adds what the recipe named by `mixed_precision` sets and the file does not say itself: the type
// of FP8 or FP4, its scaling, what is gathered and reduced in it. A name that is no recipe of
// Bridge changes nothing.
void add_precision_recipe(RunConfig& config);

}  // namespace ws
