// Tested by: step_anchors_test.cpp
#include "analysis/step_anchors.h"

#include <algorithm>
#include <map>
#include <string>

#include "analysis/range_names.h"

namespace ws {
namespace {

constexpr size_t kMinOptimizers = 3;
constexpr double kMinCover = 0.5;

bool announces(RangeSource source) {
  return source == RangeSource::nvtx || source == RangeSource::nvtx_start_end ||
         source == RangeSource::user_annotation || source == RangeSource::cpu_op ||
         source == RangeSource::python;
}

// All ranges that could announce steps, per kind of anchor.
struct Candidates {
  std::map<ThreadId, std::vector<HostStep>> user, profiler;
  std::map<std::string, std::map<ThreadId, std::vector<HostStep>>> named;  // by stem
  std::map<StringId, std::map<ThreadId, std::vector<HostStep>>> optimizer;
};

// What a name says, asked once per name.
struct NameInfo {
  bool asked = false, user = false, optimizer = false;
  std::optional<StepName> step;
};

// Outermost ranges only: nested twins, duplicates and ranges that cross the one before do not
// count.
void append(std::vector<HostStep>& steps, const HostStep& step) {
  if (step.end_ns <= step.begin_ns) return;
  if (!steps.empty() && step.begin_ns < steps.back().end_ns) return;
  steps.push_back(step);
}

Candidates collect(const Trace& trace, std::string_view range_name) {
  Candidates out;
  std::vector<NameInfo> names(trace.strings.size());
  const HostRanges& r = trace.ranges;
  for (size_t i = 0; i < r.size(); ++i) {
    if (!announces(r.source[i])) continue;
    NameInfo& info = names[row(r.name[i])];
    const std::string_view name = trace.strings[r.name[i]];
    if (!info.asked) {
      info.asked = true;
      info.step = name.size() <= 256 ? step_name(name) : std::nullopt;
      info.optimizer = name.size() <= 256 && is_optimizer_name(name);
      if (!range_name.empty()) {
        if (const auto user = user_step_name(name, range_name)) {
          info.user = true;
          info.step = user;
        }
      }
    }
    if (!info.step && !info.optimizer) continue;
    const HostStep step{r.begin_ns[i], r.end_ns[i], info.step ? info.step->number : -1, r.name[i]};
    if (info.user) {
      append(out.user[r.thread[i]], step);
    } else if (info.step && info.step->profiler) {
      append(out.profiler[r.thread[i]], step);
    } else if (info.step) {
      append(out.named[small_letters(info.step->stem)][r.thread[i]], step);
    } else {
      append(out.optimizer[r.name[i]][r.thread[i]], step);
    }
  }
  return out;
}

std::optional<HostAnchor> anchor_of(StepOrigin origin,
                                    std::map<ThreadId, std::vector<HostStep>>& threads) {
  HostAnchor out;
  out.origin = origin;
  for (auto& [thread, steps] : threads) {
    if (!steps.empty()) out.threads.push_back({thread, std::move(steps)});
  }
  if (out.threads.empty()) return std::nullopt;
  return out;
}

TimeNs time_inside(const std::vector<HostStep>& steps) {
  TimeNs sum = 0;
  for (const HostStep& s : steps) sum += s.end_ns - s.begin_ns;
  return sum;
}

bool inside(const std::vector<HostStep>& steps, TimeNs t) {
  const auto after = std::upper_bound(steps.begin(), steps.end(), t,
                                      [](TimeNs v, const HostStep& s) { return v < s.begin_ns; });
  return after != steps.begin() && t < std::prev(after)->end_ns;
}

// Half of the recording's time, or half of the device's work: a host that runs far ahead is through
// its steps long before the device.
bool covers(const Trace& trace, const std::map<ThreadId, std::vector<HostStep>>& threads,
            Interval span) {
  for (const auto& [thread, steps] : threads) {
    if (static_cast<double>(time_inside(steps)) >= kMinCover * static_cast<double>(span.length()))
      return true;
  }
  size_t launched = 0, launched_inside = 0;
  for (uint32_t call : trace.ops.launch) {
    if (call == kNoRow) continue;
    ++launched;
    const TimeNs at = trace.calls.begin_ns[call];
    for (const auto& [thread, steps] : threads) {
      if (!inside(steps, at)) continue;
      ++launched_inside;
      break;
    }
  }
  return launched > 0 &&
         static_cast<double>(launched_inside) >= kMinCover * static_cast<double>(launched);
}

// Of the stems that cover enough: repeats before a single range, then the outermost.
std::optional<HostAnchor> named_anchor(const Trace& trace, Candidates& c, Interval span) {
  struct Choice {
    bool repeats = false;
    TimeNs inside_ns = 0;
    std::map<ThreadId, std::vector<HostStep>>* threads = nullptr;
  };
  std::vector<Choice> choices;
  for (auto& [stem, threads] : c.named) {
    Choice choice;
    choice.threads = &threads;
    for (const auto& [thread, steps] : threads) {
      choice.repeats = choice.repeats || steps.size() >= 2;
      choice.inside_ns = std::max(choice.inside_ns, time_inside(steps));
    }
    choices.push_back(choice);
  }
  std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    return std::pair(a.repeats, a.inside_ns) > std::pair(b.repeats, b.inside_ns);
  });
  if (choices.size() > 4) choices.resize(4);
  for (const Choice& choice : choices) {
    if (covers(trace, *choice.threads, span))
      return anchor_of(StepOrigin::named_range, *choice.threads);
  }
  return std::nullopt;
}

// Optimizer ranges without other compute launched between them belong to one step.
std::vector<HostStep> merged(const Trace& trace, const OpLabels& labels,
                             const std::vector<HostStep>& ranges) {
  std::vector<uint32_t> between(ranges.size() + 1, 0);  // [i]: compute launched before range i ends
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    const uint32_t call = trace.ops.launch[i];
    if (call == kNoRow || !is_compute(labels.cls[i]) || (labels.flags[i] & kFlagOptimizer) != 0)
      continue;
    const TimeNs at = trace.calls.begin_ns[call];
    if (inside(ranges, at)) continue;
    const auto next = std::upper_bound(ranges.begin(), ranges.end(), at,
                                       [](TimeNs v, const HostStep& s) { return v < s.begin_ns; });
    ++between[static_cast<size_t>(next - ranges.begin())];
  }
  std::vector<HostStep> out;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (!out.empty() && between[i] == 0) {
      out.back().end_ns = ranges[i].end_ns;
    } else {
      out.push_back(ranges[i]);
    }
  }
  return out;
}

// Steps from the end of one optimizer range to the end of the next. PyTorch names its own ranges
// after the class (Optimizer.step#Adam.step); the short names are Megatron's.
std::optional<HostAnchor> optimizer_anchor(const Trace& trace, const OpLabels& labels,
                                           const Candidates& c) {
  std::map<ThreadId, std::vector<HostStep>> best;
  StepOrigin origin = StepOrigin::megatron_ranges;
  size_t most = 0;
  size_t tried = 0;
  for (const auto& [name, threads] : c.optimizer) {
    if (++tried > 8) break;
    std::map<ThreadId, std::vector<HostStep>> steps;
    size_t count = 0;
    for (const auto& [thread, ranges] : threads) {
      if (ranges.size() < kMinOptimizers) continue;
      const std::vector<HostStep> optimizers = merged(trace, labels, ranges);
      if (optimizers.size() < kMinOptimizers) continue;
      for (size_t i = 0; i + 1 < optimizers.size(); ++i)
        steps[thread].push_back({optimizers[i].end_ns, optimizers[i + 1].end_ns, -1, StringId{}});
      count = std::max(count, optimizers.size());
    }
    if (count > most) {
      most = count;
      best = std::move(steps);
      origin = is_pytorch_optimizer_name(trace.strings[name]) ? StepOrigin::named_range
                                                              : StepOrigin::megatron_ranges;
    }
  }
  return anchor_of(origin, best);
}

}  // namespace

bool HostAnchor::gap_after(const std::vector<HostStep>& steps, size_t i) {
  return i + 1 < steps.size() && steps[i].number >= 0 && steps[i + 1].number > steps[i].number + 1;
}

Interval recorded_span(const Trace& trace) {
  Interval span{INT64_MAX, INT64_MIN};
  const auto widen = [&span](TimeNs begin, TimeNs end) {
    span.begin_ns = std::min(span.begin_ns, begin);
    span.end_ns = std::max(span.end_ns, end);
  };
  for (size_t i = 0; i < trace.ops.size(); ++i) widen(trace.ops.begin_ns[i], trace.ops.end_ns[i]);
  for (size_t i = 0; i < trace.calls.size(); ++i)
    widen(trace.calls.begin_ns[i], trace.calls.end_ns[i]);
  const HostRanges& r = trace.ranges;
  for (size_t i = 0; i < r.size(); ++i) {
    if (announces(r.source[i]) || r.source[i] == RangeSource::mark)
      widen(r.begin_ns[i], r.end_ns[i]);
  }
  return span.begin_ns <= span.end_ns ? span : Interval{};
}

std::optional<HostAnchor> find_host_anchor(const Trace& trace, const OpLabels& labels,
                                           std::string_view range_name) {
  Candidates c = collect(trace, range_name);
  if (auto a = anchor_of(StepOrigin::user_range, c.user)) return a;
  if (auto a = anchor_of(StepOrigin::profiler_step, c.profiler)) return a;
  if (auto a = named_anchor(trace, c, recorded_span(trace))) return a;
  return optimizer_anchor(trace, labels, c);
}

int64_t empty_step_marks(const Trace& trace, std::string_view range_name) {
  std::vector<int8_t> is_step(trace.strings.size(), -1);
  const HostRanges& r = trace.ranges;
  int64_t out = 0;
  for (size_t i = 0; i < r.size(); ++i) {
    if (!announces(r.source[i]) || r.end_ns[i] > r.begin_ns[i]) continue;
    int8_t& known = is_step[row(r.name[i])];
    if (known < 0) {
      const std::string_view name = trace.strings[r.name[i]];
      const bool short_name = name.size() <= 256;
      known = short_name &&
              (step_name(name) || (!range_name.empty() && user_step_name(name, range_name)));
    }
    out += known;
  }
  return out;
}

const AnnouncedSteps& thread_of_device(const Trace& trace, const HostAnchor& anchor,
                                       DeviceId device) {
  std::vector<size_t> launched(trace.threads.size(), 0);
  if (row(device) < trace.ops_by_device.size()) {
    for (uint32_t op : trace.ops_by_device[row(device)]) {
      const uint32_t call = trace.ops.launch[op];
      if (call != kNoRow) ++launched[row(trace.calls.thread[call])];
    }
  }
  const auto weight = [&](const AnnouncedSteps& a) {
    return std::pair(a.thread == kNoThread ? 0 : launched[row(a.thread)], a.steps.size());
  };
  const AnnouncedSteps* best = &anchor.threads.front();
  for (const AnnouncedSteps& a : anchor.threads) {
    if (weight(a) > weight(*best)) best = &a;
  }
  return *best;
}

std::vector<Interval> device_windows(const Trace& trace, const OpLabels& labels, DeviceId device,
                                     const std::vector<HostStep>& steps) {
  // Host times at which a window begins or, before a gap and at the end, ends: ascending.
  std::vector<TimeNs> host;
  for (size_t i = 0; i < steps.size(); ++i) {
    host.push_back(steps[i].begin_ns);
    if (i + 1 == steps.size() || HostAnchor::gap_after(steps, i)) host.push_back(steps[i].end_ns);
  }
  // done[k]: end of the compute launched before host[k] and not before host[k - 1].
  std::vector<TimeNs> done(host.size(), INT64_MIN);
  for (uint32_t op : trace.ops_by_device[row(device)]) {
    const uint32_t call = trace.ops.launch[op];
    if (call == kNoRow || !is_compute(labels.cls[op])) continue;
    const auto next = std::upper_bound(host.begin(), host.end(), trace.calls.begin_ns[call]);
    if (next == host.end()) continue;
    TimeNs& latest = done[static_cast<size_t>(next - host.begin())];
    latest = std::max(latest, trace.ops.end_ns[op]);
  }
  TimeNs boundary = INT64_MIN;
  for (size_t k = 0; k < host.size(); ++k) {
    boundary = std::max({boundary, done[k], host[k]});
    host[k] = boundary;
  }
  std::vector<Interval> out;
  size_t k = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    out.push_back({host[k], host[k + 1]});
    k += i + 1 == steps.size() || HostAnchor::gap_after(steps, i) ? 2 : 1;
  }
  return out;
}

}  // namespace ws
