// Rule (a): on the launching thread the innermost open range that is either a recompute range or
// a backward op decides. Rule (b): a kernel that only the forward pass knows, launched while a
// backward is open. Tested by: recompute_test.cpp
#include "analysis/recompute.h"

#include <algorithm>
#include <map>

namespace ws {

RecomputeFlags flag_recompute(const Trace& trace, const PassRanges& ranges,
                              const std::vector<PassHint>& passes, OpLabels& labels) {
  const GpuOps& ops = trace.ops;
  RecomputeFlags out;
  int64_t forward = 0, backward = 0, backward_outside = 0, without_op = 0;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops.launch[i] == kNoRow || is_copy(labels.cls[i])) continue;
    const ThreadId thread = trace.calls.thread[ops.launch[i]];
    const TimeNs at = trace.calls.begin_ns[ops.launch[i]];
    const PassHint pass = ops.kind[i] == OpKind::kernel ? passes[row(ops.name[i])] : PassHint::none;
    const bool forward_only = pass == PassHint::forward;
    forward += forward_only ? 1 : 0;
    if (pass == PassHint::backward) {
      (ranges.backward_at(thread, at) ? backward : backward_outside) += 1;
      without_op += ranges.backward_op_at(thread, at) ? 0 : 1;
    }
    const bool named = ranges.recompute_at(thread, at);
    if (!named && !ranges.repeated_at(thread, at) &&
        !(forward_only && ranges.backward_at(thread, at)))
      continue;
    labels.flags[i] |= kFlagRecompute;
    out.inferred += named ? 0 : 1;
  }
  out.would_show = forward > 0 && backward > 0 && backward_outside == 0;
  out.ranges_would_show = out.would_show && without_op == 0;
  return out;
}

double recompute_estimate(const Trace& trace, const KernelClasses& classes, DeviceId device,
                          Interval window) {
  struct Family {
    int64_t forward = 0, backward = 0;
    double forward_ns = 0;
  };
  std::map<std::string_view, Family> families;
  std::vector<NameClass> of_name(trace.strings.size());
  std::vector<bool> known(trace.strings.size(), false);
  const GpuOps& ops = trace.ops;
  for (uint32_t i : trace.ops_by_device[row(device)]) {
    if (ops.kind[i] != OpKind::kernel || ops.begin_ns[i] < window.begin_ns ||
        ops.begin_ns[i] >= window.end_ns)
      continue;
    const size_t name = row(ops.name[i]);
    if (!known[name]) {
      known[name] = true;
      of_name[name] = classes.classify(trace.strings[ops.name[i]]);
    }
    if (of_name[name].pass == PassHint::none) continue;
    Family& f = families[of_name[name].family];
    if (of_name[name].pass == PassHint::backward) {
      ++f.backward;
    } else {
      ++f.forward;
      f.forward_ns += static_cast<double>(ops.end_ns[i] - ops.begin_ns[i]);
    }
  }
  double extra_ns = 0;
  for (const auto& [name, f] : families) {
    if (f.backward == 0 || f.forward <= f.backward) continue;
    extra_ns +=
        f.forward_ns * static_cast<double>(f.forward - f.backward) / static_cast<double>(f.forward);
  }
  const auto length = static_cast<double>(window.length());
  return length > 0 ? std::min(1.0, extra_ns / length) : 0;
}

}  // namespace ws
