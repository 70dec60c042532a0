#pragma once
// Names to classes, kinds and flags (ALGORITHMS 1, 5.6; table: rules/kernel_classes.json).
#include "analysis/kernel_classes.h"
#include "analysis/labels.h"
#include "model/trace.h"

namespace ws {

// Everything the later analyses know about the ops: class, collective, communicator, kind,
// recompute and offload flags. Deterministic; pure function of its arguments.
Labels label_ops(const Trace& trace, const KernelClasses& classes);

}  // namespace ws
