// A gap ends  ..][launch phase p..q)[rest q..g1)op.  With another Lambda q moves, with another
// kappa the rest changes between kernel_gap and dependency; everything before p stays. Tested by:
// sensitivity_test.cpp
#include "analysis/sensitivity.h"

#include <algorithm>

#include "analysis/counted_steps.h"

namespace ws {
namespace {

bool is_rest(Leaf l) { return l == Leaf::idle_kernel_gap || l == Leaf::idle_dependency; }
bool is_launch_phase(Leaf l) { return l == Leaf::idle_launch || l == Leaf::idle_graph_launch; }

// Last two parts of a gap; either may be empty.
struct Tail {
  Interval launch, rest;
  Leaf launch_leaf = Leaf::idle_launch, rest_leaf = Leaf::idle_kernel_gap;
};

Tail tail_of(const Trace& trace, const std::vector<IdlePart>& idle, size_t last) {
  const uint32_t ender = idle[last].after;
  const TimeNs gap_end = idle[last].span.end_ns;
  Tail tail;
  tail.rest = {gap_end, gap_end};
  size_t at = last;
  if (is_rest(idle[at].leaf)) {
    tail.rest = idle[at].span;
    tail.rest_leaf = idle[at].leaf;
    if (at > 0 && idle[at - 1].after == ender) --at;
  }
  tail.launch = {tail.rest.begin_ns, tail.rest.begin_ns};
  const bool after_call = idle[at].span.begin_ns >= trace.calls.begin_ns[trace.ops.launch[ender]];
  if (is_launch_phase(idle[at].leaf) && after_call) {
    tail.launch = idle[at].span;
    tail.launch_leaf = idle[at].leaf;
  }
  return tail;
}

// Nodes of one graph launch have no launch phase between them.
bool same_graph_launch(const Trace& trace, const IdlePart& part) {
  return part.before != kNoRow && trace.ops.graph[part.after] != 0 &&
         trace.ops.launch[part.before] == trace.ops.launch[part.after];
}

}  // namespace

Breakdown with_scaled_constants(const Trace& trace, const Timeline& timeline,
                                const Constants& constants, int64_t numerator, int64_t denominator,
                                std::span<const Interval> windows, const Breakdown& sum) {
  const TimeNs lambda = constants.launch_latency_ns * numerator / denominator;
  const TimeNs kappa = constants.kernel_gap_ns * numerator / denominator;
  Breakdown out = sum;
  const auto move = [&](Interval span, Leaf from, Leaf to) {
    if (from == to || span.length() <= 0) return;
    for_each_clip(windows, span, [&](size_t, Interval part) {
      out[from] -= part.length();
      out[to] += part.length();
    });
  };
  const std::vector<IdlePart>& idle = timeline.idle;
  for (size_t i = 0; i < idle.size(); ++i) {
    const uint32_t ender = idle[i].after;
    const bool last = i + 1 == idle.size() || idle[i + 1].after != ender;
    if (!last || ender == kNoRow || trace.ops.launch[ender] == kNoRow) continue;
    const Tail tail = tail_of(trace, idle, i);
    const TimeNs gap_end = idle[i].span.end_ns;
    const uint32_t call = trace.ops.launch[ender];
    const TimeNs launched = std::max(trace.calls.end_ns[call], trace.calls.begin_ns[call] + lambda);
    const TimeNs q = same_graph_launch(trace, idle[i])
                         ? tail.rest.begin_ns
                         : std::clamp(launched, tail.launch.begin_ns, gap_end);
    const Leaf rest_leaf = gap_end - q <= kappa ? Leaf::idle_kernel_gap : Leaf::idle_dependency;
    move({std::max(q, tail.launch.begin_ns), tail.launch.end_ns}, tail.launch_leaf, rest_leaf);
    move({tail.rest.begin_ns, std::max(q, tail.rest.begin_ns)}, tail.rest_leaf, tail.launch_leaf);
    move({std::max(q, tail.rest.begin_ns), tail.rest.end_ns}, tail.rest_leaf, rest_leaf);
  }
  return out;
}

}  // namespace ws
