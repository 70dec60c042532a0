#pragma once
// Steps (ALGORITHMS 2): anchors in order, device windows by the boundary rule, the steady set.
#include <optional>
#include <string>
#include <vector>

#include "analysis/labels.h"
#include "model/step.h"
#include "model/trace.h"

namespace ws {

enum class StepWindow : uint8_t { device, host, whole };

struct StepOptions {
  StepWindow window = StepWindow::device;
  std::string range_name;                            // anchor 1: a name the user gave, "" for none
  std::optional<std::pair<int64_t, int64_t>> steps;  // --step A:B, inclusive, by step index
  std::string
      step_stem;  // of steps asked for by name: "ProfilerStep#", what stands before the index
  std::optional<Interval> time;  // --time A:B, ns of the source's clock
  size_t replay_ops = 0;  // device records kept for re-simulation at most, 0: no re-simulation
};

struct StepsResult {
  StepOrigin origin = StepOrigin::whole;
  std::vector<std::vector<Step>> by_device;  // one list per row of Trace::devices; empty: no ops
  // The host's own step ranges (anchors user_range to megatron_ranges), of the thread that
  // announces most of them; there too when no device record exists.
  std::vector<Step> host_steps;
  Notes notes;
};

StepsResult find_steps(const Trace& trace, const OpLabels& labels, const StepOptions& options);

// Marks complete steps steady or not by duration and by what the excess consists of (section 2).
// breakdowns: one per step. find_steps leaves the name of a pause of the run inside a step
// ("checkpoint", "evaluation") in why_left_out; it stays there only if the step is left out for it.
void choose_steady(std::vector<Step>& steps, const std::vector<Breakdown>& breakdowns,
                   Notes& notes);

// The step nearest the median length of those that would count if none were an outlier; outliers
// are told against it. nullopt: none counts.
std::optional<size_t> typical_step(const std::vector<Step>& steps);

// The leaf that grew most against the typical step or, for a shorter step, shrank most.
Leaf largest_excess(const Breakdown& of, const Breakdown& typical);

}  // namespace ws
