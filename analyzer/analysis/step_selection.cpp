// Tested by: steps_test.cpp
#include "analysis/step_selection.h"

#include <algorithm>
#include <string>

namespace ws {
namespace {

// "ProfilerStep#" and then the index, with zeros before it or without.
bool is_named(const StepOptions& options, const Step& s) {
  const std::string& stem = options.step_stem;
  if (s.name.compare(0, stem.size(), stem) != 0) return false;
  const size_t digits = s.name.find_first_not_of('0', stem.size());
  const std::string number = digits == std::string::npos ? "0" : s.name.substr(digits);
  return number == std::to_string(s.index);
}

bool keeps(const StepOptions& options, const Step& s) {
  if (options.steps && (s.index < options.steps->first || s.index > options.steps->second))
    return false;
  if (!options.step_stem.empty() && !is_named(options, s)) return false;
  return !options.time ||
         (s.window.begin_ns >= options.time->begin_ns && s.window.end_ns <= options.time->end_ns);
}

}  // namespace

void StepSelection::apply(std::vector<Step>& steps) const {
  bool left_out_before = false;
  std::vector<Step> kept;
  for (Step& s : steps) {
    if (keeps(options, s)) {
      s.warm = s.warm || left_out_before;
      kept.push_back(std::move(s));
    } else if (kept.empty()) {
      left_out_before = true;
    }
  }
  steps = std::move(kept);
}

Interval StepSelection::clip(Interval span) const {
  if (!options.time) return span;
  return {std::clamp(span.begin_ns, options.time->begin_ns, options.time->end_ns),
          std::clamp(span.end_ns, options.time->begin_ns, options.time->end_ns)};
}

}  // namespace ws
