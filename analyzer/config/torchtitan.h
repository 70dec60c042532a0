#pragma once
// What the settings of torchtitan come to: its defaults, the parts it makes of the model, and the
// pipeline that cuts a rank's batch into micro-batches.
#include <optional>

#include "config/layout.h"
#include "config/run_config.h"

namespace ws {

// For a whole file: what its classes leave where a key is not there.
void add_torchtitan_defaults(RunConfig& config);

// FP8 that is on by a converter, and what is said of it without one; the expert exchange.
void add_converters(RunConfig& config);

// Virtual stages per rank that the schedule, split points or layers per stage ask for.
std::optional<int64_t> pipelining_stages(const RunConfig& config, int64_t pp);

// The batch where none is given, and the micro-batches of the pipeline. After DP is known.
void cut_batch(const RunConfig& config, Layout& layout);

// "activation_checkpoint.selective_ac_option = 2": every second layer is recomputed as a whole.
// nullopt: another selection.
std::optional<int64_t> every_nth_recomputed(const RunConfig& config);

}  // namespace ws
