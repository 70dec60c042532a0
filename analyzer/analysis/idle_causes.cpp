#include "analysis/idle_causes.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace ws {
namespace {

// What the host's state says of an idle device; idle_host: nothing particular, the residual.
Leaf leaf_of(HostState state) {
  switch (state) {
    case HostState::alloc:
      return Leaf::idle_alloc;
    case HostState::sync:
      return Leaf::idle_sync;
    case HostState::jit:
      return Leaf::idle_jit;
    case HostState::gc:
      return Leaf::idle_gc;
    case HostState::profiler:
      return Leaf::idle_profiler;
    case HostState::dataload:
      return Leaf::idle_dataload;
    case HostState::graph_build:
      return Leaf::idle_graph_launch;
    case HostState::launch:
    case HostState::graph_launch:
      return Leaf::idle_launch;
    case HostState::other:
    case HostState::none:
      break;
  }
  return Leaf::idle_host;
}

Leaf leaf_of_launch(HostState state) {
  if (state == HostState::graph_launch) return Leaf::idle_graph_launch;
  return state == HostState::sync ? Leaf::idle_sync : Leaf::idle_launch;  // sync: blocking copy
}

}  // namespace

IdleCauses::IdleCauses(const Trace& trace, const HostStates& host, const Constants& constants)
    : trace_(trace),
      host_(host),
      constants_(constants),
      gaps_may_hide_records_(is_incomplete(trace.notes)) {}

void IdleCauses::put(TimeNs begin_ns, TimeNs end_ns, Leaf leaf) {
  if (begin_ns >= end_ns) return;
  if (!pieces_.empty() && pieces_.back().leaf == leaf) {
    pieces_.back().span.end_ns = end_ns;
  } else {
    pieces_.push_back({{begin_ns, end_ns}, leaf});
  }
}

size_t& IdleCauses::hint_for(ThreadId thread) {
  if (hints_[0].thread != thread) std::swap(hints_[0], hints_[1]);
  if (hints_[0].thread != thread) hints_[0] = {thread, 0};
  return hints_[0].row;
}

void IdleCauses::host_pieces(Interval span, ThreadId thread) {
  if (span.length() <= 0) return;
  size_t& hint = hint_for(thread);
  HostStates::Segments segments = host_.states(thread, span.begin_ns, span.end_ns, hint);
  TimeNs at = span.begin_ns;
  for (const HostStates::Segment& s : segments) {
    put(at, s.span.begin_ns, Leaf::idle_host);
    put(s.span.begin_ns, s.span.end_ns, leaf_of(s.state));
    at = s.span.end_ns;
  }
  put(at, span.end_ns, Leaf::idle_host);
  hint = segments.hint();
}

// The last credit_ns of the residual go to the state that had cost the host its run-ahead.
void IdleCauses::give_credit(TimeNs credit_ns, Leaf leaf) {
  reversed_.clear();
  for (auto p = pieces_.rbegin(); p != pieces_.rend(); ++p) {
    if (p->leaf != Leaf::idle_host || credit_ns <= 0) {
      reversed_.push_back(*p);
      continue;
    }
    const TimeNs cut = p->span.end_ns - std::min(credit_ns, p->span.length());
    credit_ns -= p->span.end_ns - cut;
    reversed_.push_back({{cut, p->span.end_ns}, leaf});
    if (cut > p->span.begin_ns) reversed_.push_back({{p->span.begin_ns, cut}, Leaf::idle_host});
  }
  pieces_.clear();
  for (auto p = reversed_.rbegin(); p != reversed_.rend(); ++p)
    put(p->span.begin_ns, p->span.end_ns, p->leaf);
}

// Queue empty and the launch not begun. Until the launching thread shows itself, the thread that
// launched the op before the gap answers.
void IdleCauses::host_part(Interval span, ThreadId launching, ThreadId previous) {
  if (span.length() <= 0) return;
  TimeNs handover = span.begin_ns;
  if (previous != kNoThread && previous != launching && !host_.busy_at(launching, span.begin_ns)) {
    handover =
        std::min(span.end_ns, host_.next_call(launching, span.begin_ns).value_or(span.end_ns));
  }
  host_pieces({span.begin_ns, handover}, previous);
  host_pieces({handover, span.end_ns}, launching);
  const ThreadId owner = handover > span.begin_ns ? previous : launching;
  const auto straddle = host_.straddling(owner, span.begin_ns, constants_.straddle_eps_ns);
  if (straddle) give_credit(span.begin_ns - straddle->begin_ns, leaf_of(straddle->state));
}

void IdleCauses::launch_part(Interval span, uint32_t launch) {
  if (span.length() <= 0) return;
  const Leaf leaf = leaf_of_launch(host_.class_of_call(launch));
  TimeNs at = span.begin_ns;
  for (const HostStates::Segment& s :
       host_.interruptions(trace_.calls.thread[launch], span.begin_ns, span.end_ns)) {
    put(at, s.span.begin_ns, leaf);
    put(s.span.begin_ns, s.span.end_ns, leaf_of(s.state));
    at = s.span.end_ns;
  }
  put(at, span.end_ns, leaf);
}

// Only what the host is known to have done explains the tail of a recording.
void IdleCauses::after_last_op(const Stretch& gap) {
  const uint32_t launch = gap.before == kNoRow ? kNoRow : trace_.ops.launch[gap.before];
  if (launch == kNoRow) {
    put(gap.span.begin_ns, gap.span.end_ns, Leaf::idle_unknown);
    return;
  }
  host_pieces(gap.span, trace_.calls.thread[launch]);
  for (Piece& p : pieces_) {
    if (p.leaf == Leaf::idle_host) p.leaf = Leaf::idle_unknown;
  }
}

void IdleCauses::before_op(const Stretch& gap, uint32_t launch) {
  const auto [g0, g1] = gap.span;
  const ApiCalls& calls = trace_.calls;
  const GpuOps& ops = trace_.ops;
  const uint32_t launch_before = gap.before == kNoRow ? kNoRow : ops.launch[gap.before];
  const TimeNs begun = std::clamp(calls.begin_ns[launch], g0, g1);
  host_part({g0, begun}, calls.thread[launch],
            launch_before == kNoRow ? kNoThread : calls.thread[launch_before]);
  const bool same_graph = launch_before == launch && ops.graph[gap.after] != 0 &&
                          ops.graph[gap.before] == ops.graph[gap.after];
  TimeNs launched = begun;
  if (!same_graph) {
    const TimeNs done =
        std::max(calls.end_ns[launch], calls.begin_ns[launch] + constants_.launch_latency_ns);
    launched = std::clamp(done, begun, g1);
    launch_part({begun, launched}, launch);
  }
  put(launched, g1,
      g1 - launched <= constants_.kernel_gap_ns ? Leaf::idle_kernel_gap : Leaf::idle_dependency);
}

void IdleCauses::explain(const Stretch& gap, std::vector<IdlePart>& out) {
  pieces_.clear();
  const uint32_t launch = gap.after == kNoRow ? kNoRow : trace_.ops.launch[gap.after];
  if (gaps_may_hide_records_) {
    put(gap.span.begin_ns, gap.span.end_ns, Leaf::idle_unknown);
  } else if (gap.after == kNoRow) {
    after_last_op(gap);
  } else if (launch == kNoRow) {
    const bool is_short = gap.span.length() <= constants_.kernel_gap_ns;
    put(gap.span.begin_ns, gap.span.end_ns, is_short ? Leaf::idle_kernel_gap : Leaf::idle_unknown);
  } else {
    before_op(gap, launch);
  }
  WS_CHECK(!pieces_.empty() && pieces_.back().span.end_ns == gap.span.end_ns);
  for (const Piece& p : pieces_) out.push_back({p.span, p.leaf, gap.before, gap.after});
}

}  // namespace ws
