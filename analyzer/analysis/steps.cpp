// Anchors in their order, then windows per device: the host's ranges shifted to where the device
// really passes from one step to the next, or times of the device itself.
// Tested by: steps_test.cpp
#include "analysis/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "analysis/kernel_period.h"
#include "analysis/range_names.h"
#include "analysis/step_anchors.h"
#include "analysis/step_selection.h"
#include "base/text.h"

namespace ws {
namespace {

Interval device_span(const Trace& trace, size_t device) {
  Interval span{INT64_MAX, INT64_MIN};
  for (uint32_t i : trace.ops_by_device[device]) {
    span.begin_ns = std::min(span.begin_ns, trace.ops.begin_ns[i]);
    span.end_ns = std::max(span.end_ns, trace.ops.end_ns[i]);
  }
  return span;
}

bool has_ops(const Trace& trace, size_t device) {
  return device < trace.ops_by_device.size() && !trace.ops_by_device[device].empty();
}

bool has_ops_in(const Trace& trace, size_t device, Interval window) {
  const auto& rows = trace.ops_by_device[device];
  return std::any_of(rows.begin(), rows.end(), [&](uint32_t i) {
    return trace.ops.begin_ns[i] < window.end_ns && trace.ops.end_ns[i] > window.begin_ns;
  });
}

// Numbers of the names where they rise, else 0, 1, 2 ...
std::vector<Step> named_steps(const Trace& trace, const std::vector<HostStep>& host,
                              const std::vector<Interval>& windows) {
  bool numbered = true;
  for (size_t i = 0; i < host.size(); ++i) {
    numbered = numbered && host[i].number >= 0 && (i == 0 || host[i].number > host[i - 1].number);
  }
  std::vector<Step> out;
  for (size_t i = 0; i < host.size(); ++i) {
    Step s;
    s.index = numbered ? host[i].number : static_cast<int64_t>(i);
    s.name = one_line(trace.strings[host[i].name]);
    if (s.name.empty()) s.name = fmt::format("step {}", i);
    s.window = windows[i];
    out.push_back(std::move(s));
  }
  return out;
}

std::vector<Interval> host_windows(const std::vector<HostStep>& host) {
  std::vector<Interval> out;
  out.reserve(host.size());
  for (const HostStep& h : host) out.push_back({h.begin_ns, h.end_ns});
  return out;
}

std::vector<Step> steps_between(const std::vector<TimeNs>& boundaries) {
  std::vector<Step> out;
  for (size_t i = 0; i + 1 < boundaries.size(); ++i) {
    Step s;
    s.index = static_cast<int64_t>(i);
    s.name = fmt::format("step {}", i);
    s.window = {boundaries[i], boundaries[i + 1]};
    out.push_back(std::move(s));
  }
  return out;
}

std::vector<Step> whole_step(Interval span) {
  Step s;
  s.name = "whole";
  s.window = span;
  return {s};
}

// Counts of device records that begin in each step.
std::vector<size_t> ops_in(const Trace& trace, size_t device, const std::vector<Step>& steps) {
  std::vector<size_t> out;
  const auto& rows = trace.ops_by_device[device];  // in order of begin
  const auto first_at = [&](TimeNs t) {
    return std::lower_bound(rows.begin(), rows.end(), t,
                            [&](uint32_t i, TimeNs v) { return trace.ops.begin_ns[i] < v; });
  };
  for (const Step& s : steps) {
    const auto lo = first_at(s.window.begin_ns), hi = first_at(s.window.end_ns);
    out.push_back(hi > lo ? static_cast<size_t>(hi - lo) : 0);
  }
  return out;
}

// A step without device records although others have some is cut; so is one that lost half of them
// in a file that says it lost records.
int64_t mark_incomplete(const Trace& trace, size_t device, std::vector<Step>& steps) {
  const std::vector<size_t> counts = ops_in(trace, device, steps);
  std::vector<size_t> sorted = counts;
  std::sort(sorted.begin(), sorted.end());
  const bool lossy = trace.notes.count(NoteCode::records_lost) > 0 ||
                     trace.notes.count(NoteCode::zero_timestamp) > 0 ||
                     is_incomplete(trace.notes) ||
                     trace.notes.count(NoteCode::time_out_of_range) > 0 ||
                     trace.notes.count(NoteCode::recording_unfinished) > 0;
  if (sorted.empty() || sorted.back() == 0) return 0;
  const size_t least = lossy ? std::max<size_t>(1, sorted[sorted.size() / 2] / 2) : 1;
  int64_t cut = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (counts[i] >= least && steps[i].window.length() > 0) continue;
    steps[i].complete = steps[i].steady = false;
    steps[i].why_left_out = "cut by the recording";
    ++cut;
  }
  return cut;
}

bool is_users(RangeSource source) {
  return source == RangeSource::nvtx || source == RangeSource::nvtx_start_end ||
         source == RangeSource::user_annotation;
}

// Checkpoints and evaluations that take at least a tenth of a step, as a hint for choose_steady.
void mark_pauses(const Trace& trace, std::vector<Step>& steps) {
  if (steps.size() < 2) return;
  std::vector<int8_t> asked(trace.strings.size(), -1);
  const HostRanges& r = trace.ranges;
  for (size_t i = 0; i < r.size(); ++i) {
    if (!is_users(r.source[i])) continue;
    const std::string_view name = trace.strings[r.name[i]];
    int8_t& is_pause = asked[row(r.name[i])];
    if (is_pause < 0) is_pause = name.size() <= 256 && pause_name(name) ? 1 : 0;
    if (is_pause == 0) continue;
    auto step = std::upper_bound(
        steps.begin(), steps.end(), r.begin_ns[i],
        [](TimeNs t, const Step& s) { return t < s.window.end_ns; });  // first that ends later
    for (int n = 0; step != steps.end() && n < 2; ++step, ++n) {
      const TimeNs shared = std::min(r.end_ns[i], step->window.end_ns) -
                            std::max(r.begin_ns[i], step->window.begin_ns);
      if (shared > 0 && 10 * shared >= step->window.length() && step->complete)
        step->why_left_out = *pause_name(name);
    }
  }
}

// The names that --step-range could have given: ranges that repeat, those that take most time
// first.
std::string what_repeats(const Trace& trace) {
  constexpr size_t kShown = 5, kColumns = 40;
  struct Repeats {
    int64_t count = 0;
    TimeNs total_ns = 0;
  };
  std::map<std::string_view, Repeats> by_stem;
  const HostRanges& r = trace.ranges;
  for (size_t i = 0; i < r.size(); ++i) {
    if (!is_users(r.source[i])) continue;
    std::string_view stem = trace.strings[r.name[i]];
    const auto numbered = stem.find_last_not_of("0123456789");
    if (numbered + 1 < stem.size())
      stem = stem.substr(0, stem.find_last_not_of("# _:", numbered) + 1);
    Repeats& of = by_stem[stem];
    ++of.count;
    of.total_ns += r.end_ns[i] - r.begin_ns[i];
  }
  std::vector<std::pair<TimeNs, std::string_view>> order;
  for (const auto& [stem, of] : by_stem)
    if (of.count > 1 && !stem.empty()) order.emplace_back(-of.total_ns, stem);
  std::sort(order.begin(), order.end());
  std::string out;
  for (size_t i = 0; i < order.size() && i < kShown; ++i)
    out += fmt::format("{}{}", out.empty() ? "ranges that repeat: " : ", ",
                       shorten_middle(one_line(to_utf8(order[i].second)), kColumns));
  return out.empty() ? "no range repeats" : out;
}

size_t busiest_device(const Trace& trace) {
  size_t best = 0;
  for (size_t d = 0; d < trace.ops_by_device.size(); ++d) {
    if (trace.ops_by_device[d].size() > trace.ops_by_device[best].size()) best = d;
  }
  return best;
}

// Steps that no host range announces; never in files whose records are blurred or incomplete.
std::vector<TimeNs> repeated_boundaries(const Trace& trace, const OpLabels& labels, size_t device,
                                        StepOrigin& origin, std::string* refused = nullptr) {
  const auto id = static_cast<DeviceId>(device);
  auto out = optimizer_bursts(trace, labels, id);
  origin = StepOrigin::optimizer_burst;
  if (!out.empty()) return out;
  origin = StepOrigin::kernel_period;
  const Notes& n = trace.notes;
  if (trace.tick_ns > 1 || n.count(NoteCode::records_lost) > 0 ||
      n.count(NoteCode::zero_timestamp) > 0 || n.count(NoteCode::time_out_of_range) > 0 ||
      is_incomplete(n))
    return {};
  return kernel_periods(trace, labels, id, refused);
}

TimeNs median_length(const std::vector<TimeNs>& boundaries) {
  std::vector<TimeNs> lengths;
  for (size_t i = 0; i + 1 < boundaries.size(); ++i)
    lengths.push_back(boundaries[i + 1] - boundaries[i]);
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return *middle;
}

// The second opinion of the collectives on steps that were found by repetition.
void cross_check(TimeNs length_ns, TimeNs collective_ns, StepsResult& out) {
  if (collective_ns <= 0 || 50 * std::abs(length_ns - collective_ns) <= length_ns) return;
  out.notes.add(
      NoteCode::steps_disagree, {}, 1,
      fmt::format("{}: {:.3f} ms, collectives repeat every {:.3f} ms",
                  out.origin == StepOrigin::optimizer_burst ? "bursts of optimizer kernels"
                                                            : "the repeating sequence of kernels",
                  static_cast<double>(length_ns) * 1e-6,
                  static_cast<double>(collective_ns) * 1e-6));
}

class Finder {
 public:
  Finder(const Trace& trace, const OpLabels& labels, const StepOptions& options)
      : trace_(trace), labels_(labels), options_(options), selection_{options} {
    out_.by_device.resize(trace.devices.size());
  }

  StepsResult run() {
    const auto anchor = find_host_anchor(trace_, labels_, options_.range_name);
    if (!options_.range_name.empty() && (!anchor || anchor->origin != StepOrigin::user_range)) {
      out_.notes.add(NoteCode::range_not_found, {}, 1,
                     fmt::format("'{}'; {}", one_line(options_.range_name), what_repeats(trace_)));
    }
    if (anchor) from_host(*anchor);
    if (options_.window == StepWindow::whole) {
      whole(true);
    } else if (!anchor && !from_repetition()) {
      const int64_t empty = empty_step_marks(trace_, options_.range_name);
      if (empty > 0)
        out_.notes.add(NoteCode::step_marks_empty, {}, empty);
      else if (trace_.ops.size() > 0 || trace_.notes.count(NoteCode::time_out_of_range) == 0)
        out_.notes.add(NoteCode::steps_unknown, {}, 1, refused_);
      whole(false);
    }
    if (options_.time && nothing_kept()) whole(false);
    if ((options_.steps || options_.time) && nothing_kept())
      out_.notes.add(NoteCode::selection_not_found, {}, 1, what_is_there());
    if (cut_ > 0) out_.notes.add(NoteCode::step_incomplete, {}, cut_);
    return std::move(out_);
  }

 private:
  void from_host(const HostAnchor& anchor) {
    out_.origin = anchor.origin;
    const AnnouncedSteps& host =
        thread_of_device(trace_, anchor, static_cast<DeviceId>(busiest_device(trace_)));
    out_.host_steps = named_steps(trace_, host.steps, host_windows(host.steps));
    selection_.apply(out_.host_steps);
    for (size_t d = 0; d < out_.by_device.size(); ++d) {
      if (!has_ops(trace_, d)) continue;
      const auto id = static_cast<DeviceId>(d);
      const AnnouncedSteps& announced = thread_of_device(trace_, anchor, id);
      finish(d, named_steps(trace_, announced.steps,
                            options_.window == StepWindow::host
                                ? host_windows(announced.steps)
                                : device_windows(trace_, labels_, id, announced.steps)));
    }
  }

  bool from_repetition() {
    if (trace_.ops.size() == 0 || trace_.lies_inside_a_step) return false;
    const size_t main = busiest_device(trace_);
    StepOrigin origin{};
    const auto boundaries = repeated_boundaries(trace_, labels_, main, origin, &refused_);
    if (boundaries.empty()) return false;
    out_.origin = origin;
    for (size_t d = 0; d < out_.by_device.size(); ++d) {
      if (!has_ops(trace_, d)) continue;
      // Devices of one process step together: one that does not repeat takes the main one's times.
      StepOrigin own_origin{};
      auto own = d == main ? boundaries : repeated_boundaries(trace_, labels_, d, own_origin);
      if (d != main && (own_origin != origin || own.size() != boundaries.size())) own = boundaries;
      finish(d, steps_between(own));
    }
    return true;
  }

  void whole(bool asked) {
    out_.origin = StepOrigin::whole;
    const Interval span = recorded_span(trace_);
    for (size_t d = 0; d < out_.by_device.size(); ++d) {
      if (!has_ops(trace_, d)) continue;
      const Interval window = selection_.clip(asked ? device_span(trace_, d) : span);
      const bool chosen = !options_.steps && (!options_.time || has_ops_in(trace_, d, window));
      out_.by_device[d] = chosen ? whole_step(window) : std::vector<Step>();
    }
  }

  bool nothing_kept() const {
    return std::all_of(out_.by_device.begin(), out_.by_device.end(),
                       [](const std::vector<Step>& s) { return s.empty(); });
  }

  std::string what_is_there() const {
    if (options_.time) {
      const Interval span = recorded_span(trace_);
      return fmt::format("its records lie at {}:{} of its clock, 0ms:{:.0f}ms since the first",
                         span.begin_ns, span.end_ns,
                         std::ceil(static_cast<double>(span.end_ns - span.begin_ns) * 1e-6));
    }
    if (!there_) return "no steps were found in it";
    // By name where a name was asked for, which may be the fault.
    const auto shown = [&](int64_t index) {
      return options_.step_stem.empty() ? fmt::format("{}", index) : name_there_.at(index);
    };
    return there_->first == there_->second
               ? fmt::format("its only step is {}", shown(there_->first))
               : fmt::format("its steps are {} to {}", shown(there_->first), shown(there_->second));
  }

  void finish(size_t device, std::vector<Step> steps) {
    cut_ = std::max(cut_, mark_incomplete(trace_, device, steps));
    mark_pauses(trace_, steps);
    for (const Step& s : steps) {
      there_ = there_
                   ? std::pair{std::min(there_->first, s.index), std::max(there_->second, s.index)}
                   : std::pair{s.index, s.index};
      if (!options_.step_stem.empty()) name_there_[s.index] = s.name;
    }
    selection_.apply(steps);
    out_.by_device[device] = std::move(steps);
  }

  const Trace& trace_;
  const OpLabels& labels_;
  const StepOptions& options_;
  const StepSelection selection_;
  StepsResult out_;
  int64_t cut_ = 0;
  std::string refused_;                               // why a repetition was not taken for steps
  std::optional<std::pair<int64_t, int64_t>> there_;  // first and last step before the selection
  std::map<int64_t, std::string> name_there_;         // of these, where steps are asked for by name
};

}  // namespace

StepsResult find_steps(const Trace& trace, const OpLabels& labels, const StepOptions& options) {
  StepsResult out = Finder(trace, labels, options).run();
  if (out.origin == StepOrigin::optimizer_burst || out.origin == StepOrigin::kernel_period) {
    const size_t main = busiest_device(trace);
    std::vector<TimeNs> boundaries;
    for (const Step& s : out.by_device[main]) boundaries.push_back(s.window.begin_ns);
    if (boundaries.size() >= 2)
      cross_check(median_length(boundaries),
                  collective_period(trace, labels, static_cast<DeviceId>(main)), out);
  }
  return out;
}

}  // namespace ws
