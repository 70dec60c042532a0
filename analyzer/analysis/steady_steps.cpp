// Which steps count in the means (ALGORITHMS 2): not the first, which warms up; not those cut by
// the recording; an outlier only when its excess says nothing of training: code loading, the
// profiler's own work, a checkpoint, an evaluation. All other outliers stay, since pauses and late
// ranks are what the user asks about. Tested by: steady_steps_test.cpp
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/phrases.h"
#include "analysis/steps.h"
#include "base/check.h"

namespace ws {
namespace {

double median(std::vector<double> v) {
  const size_t half = v.size() / 2;
  std::sort(v.begin(), v.end());
  return v.size() % 2 == 1 ? v[half] : (v[half - 1] + v[half]) / 2;
}

double length(const Step& s) { return static_cast<double>(s.window.length()); }

struct Spread {
  double median_ns = 0, limit_ns = 0;
  size_t representative = 0;  // the real step nearest the median
};

Spread spread_of(const std::vector<Step>& steps, const std::vector<size_t>& kept) {
  std::vector<double> lengths, deviations;
  for (size_t i : kept) lengths.push_back(length(steps[i]));
  Spread out;
  out.median_ns = median(lengths);
  for (double t : lengths) deviations.push_back(std::abs(t - out.median_ns));
  out.limit_ns = std::max(5 * 1.4826 * median(deviations), 0.10 * out.median_ns);
  out.representative = kept[static_cast<size_t>(
      std::min_element(deviations.begin(), deviations.end()) - deviations.begin())];
  return out;
}

std::string pause_in_name(const Step& s) {
  std::string small = s.name;
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (small.find("checkpoint") != std::string::npos) return "checkpoint";
  if (small.find("eval") != std::string::npos || small.find("validation") != std::string::npos)
    return "evaluation";
  return {};
}

void judge_outlier(Step& step, const std::string& pause, const Spread& spread, Leaf leaf,
                   Notes& notes) {
  const double excess = length(step) - spread.median_ns;
  step.outlier = true;
  if (excess > 0) {
    if (leaf == Leaf::idle_jit) step.why_left_out = "code loading";
    if (leaf == Leaf::idle_profiler) step.why_left_out = "profiler overhead";
    if (step.why_left_out.empty()) step.why_left_out = pause;
    step.steady = step.why_left_out.empty();
  }
  // What it consists of shows in the table of outliers, when waiting is told from transfer.
  notes.add(
      NoteCode::outlier_step, {}, 1,
      fmt::format("{}: {} {} than the median{}", step.name,
                  duration(static_cast<TimeNs>(std::llround(std::abs(excess)))),
                  excess > 0 ? "longer" : "shorter", step.steady ? "" : ", left out of the mean"));
}

void note_profiler(const Step& step, const Breakdown& b, Notes& notes) {
  const TimeNs overhead = b[Leaf::idle_profiler];
  if (overhead <= 0 || 100 * overhead < step.window.length()) return;
  notes.add(NoteCode::profiler_overhead, {}, 1,
            fmt::format("{} in {}", duration(overhead),
                        step.name == "whole" ? "the whole recording" : step.name));
}

}  // namespace

std::optional<size_t> typical_step(const std::vector<Step>& steps) {
  std::vector<size_t> kept;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].complete && (steps[i].steady || steps[i].outlier)) kept.push_back(i);
  }
  if (kept.empty()) return std::nullopt;
  return spread_of(steps, kept).representative;
}

Leaf largest_excess(const Breakdown& of, const Breakdown& typical) {
  const bool longer = of.total() >= typical.total();
  Leaf best{};
  TimeNs most = INT64_MIN;
  for (size_t k = 0; k < kLeafCount; ++k) {
    const TimeNs excess = longer ? of.ns[k] - typical.ns[k] : typical.ns[k] - of.ns[k];
    if (excess > most) {
      most = excess;
      best = leaf_at(k);
    }
  }
  return best;
}

void choose_steady(std::vector<Step>& steps, const std::vector<Breakdown>& breakdowns,
                   Notes& notes) {
  WS_CHECK(steps.size() == breakdowns.size());
  std::vector<std::string> pauses(steps.size());
  size_t complete = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    Step& s = steps[i];
    s.outlier = false;
    s.steady = s.complete;
    if (!s.complete) {
      s.why_left_out = "cut by the recording";
      continue;
    }
    ++complete;
    const bool hint = s.why_left_out == "checkpoint" || s.why_left_out == "evaluation";
    pauses[i] = hint ? s.why_left_out : pause_in_name(s);
    s.why_left_out.clear();
    note_profiler(s, breakdowns[i], notes);
  }
  if (complete >= 3 && steps.front().complete && !steps.front().warm) {
    steps.front().steady = false;
    steps.front().why_left_out = "first of several";
    notes.add(NoteCode::first_step_left_out);
  }
  std::vector<size_t> kept;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].steady) kept.push_back(i);
  }
  if (kept.empty()) return;
  const Spread spread = spread_of(steps, kept);
  for (size_t i : kept) {
    const double excess = length(steps[i]) - spread.median_ns;
    if (std::abs(excess) <= spread.limit_ns) continue;
    const Leaf leaf = largest_excess(breakdowns[i], breakdowns[spread.representative]);
    judge_outlier(steps[i], pauses[i], spread, leaf, notes);
  }
}

}  // namespace ws
