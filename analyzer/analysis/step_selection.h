// The part of a recording that --step and --time leave.
// Tested by: steps_test.cpp
#pragma once

#include <vector>

#include "analysis/steps.h"

namespace ws {

struct StepSelection {
  const StepOptions& options;
  // What is left behind a step that was left out is warm.
  void apply(std::vector<Step>& steps) const;
  Interval clip(Interval span) const;
};

}  // namespace ws
