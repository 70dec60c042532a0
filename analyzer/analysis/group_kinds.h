#pragma once
// Parallel dimension of a communicator (ALGORITHMS 5.6): by its name, else by a vote of patterns,
// as far as one rank can tell.
#include <string_view>

#include "analysis/kernel_classes.h"
#include "analysis/labels.h"
#include "analysis/pass_ranges.h"
#include "model/trace.h"

namespace ws {

// Rule 1, first match; other: the name says nothing ("default_pg", "MODEL_PARALLEL_GROUP").
CommKind kind_of_group(std::string_view name_or_description);

// Sets the kind of every communicator and of every comm op, with notes. Ops of one communicator
// have its kind, unless its exchanges and its reductions vote apart: then it is `other` and each op
// has the kind of its own type. passes: by StringId.
void set_kinds(const Trace& trace, const PassRanges& ranges, const std::vector<PassHint>& passes,
               Labels& labels);

}  // namespace ws
