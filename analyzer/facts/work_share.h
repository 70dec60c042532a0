#pragma once
// The work that a configuration asks of a GPU, held against the time in which the recorded kernels
// could have done it: more than the peak in that time, and the file is not that of the run.
// Operations are the model's (config/model_shape.h): recompute comes on top of them.
#include <optional>
#include <string>

#include "config/config_study.h"
#include "facts/config_merge.h"
#include "facts/fact_writers.h"

namespace ws {

// Nothing where steps, sizes or peaks are not known, or records are missing.
std::optional<WorkShare> work_share(const FactInput& in, const ConfigStudy& study,
                                    const ConfigShown& shown);

// The file asks for more than the recorded kernels can have done.
std::optional<Contradiction> work_against_time(const std::optional<WorkShare>& work);

}  // namespace ws
