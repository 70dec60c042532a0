// Tested by: across_ranks_test.cpp, cross_rank_test.cpp
#include "analysis/device_comms.h"

#include <algorithm>
#include <map>

#include "analysis/counted_steps.h"

namespace ws {
namespace {

int32_t world_rank(const Communicator& c, int64_t rank_in_group) {
  if (rank_in_group < 0) return -1;
  if (static_cast<size_t>(rank_in_group) < c.members.size()) {
    const int64_t rank = c.members[static_cast<size_t>(rank_in_group)];
    return rank <= INT32_MAX ? static_cast<int32_t>(rank) : -1;
  }
  return -1;  // a number inside a group whose members are not known names nobody
}

CommRecord record_of(const Trace& trace, const Labels& labels, const CommOp& c) {
  CommRecord out;
  out.begin_ns = trace.ops.begin_ns[c.op];
  out.end_ns = trace.ops.end_ns[c.op];
  const uint32_t launch = trace.ops.launch[c.op];
  out.order_ns = launch == kNoRow ? out.begin_ns : trace.calls.begin_ns[launch];
  out.communicator = labels.ops.communicator[c.op];
  out.op = labels.ops.coll[c.op];
  out.kind = labels.ops.kind[c.op];
  out.bytes = c.bytes;
  if (c.collective == kNoRow) return out;
  const CollectiveInfo& info = trace.collectives[c.collective];
  const Communicator& communicator = labels.communicators[out.communicator];
  // Sends and receives are numbered per pair, not per communicator.
  if (!is_point_to_point(out.op)) out.sequence = info.sequence;
  out.root = world_rank(communicator, info.root);
  if (is_point_to_point(out.op)) out.peer = world_rank(communicator, info.peer);
  return out;
}

// What was launched before the recording began runs before what follows it in its communicator.
void order_early_launches(std::vector<CommRecord>& records) {
  std::map<uint32_t, TimeNs> following;
  for (auto r = records.rbegin(); r != records.rend(); ++r) {
    TimeNs& next = following.try_emplace(r->communicator, INT64_MAX).first->second;
    if (r->order_ns == r->begin_ns) r->order_ns = std::min(r->order_ns, next);
    next = std::min(next, r->order_ns);
  }
}

void add_exposed(const Timeline& timeline, std::span<const Interval> windows, DeviceComms& out) {
  for (const BusyPart& part : timeline.busy) {
    if (!is_comm(part.leaf)) continue;
    const auto at = std::lower_bound(out.op.begin(), out.op.end(), part.op);
    if (at == out.op.end() || *at != part.op) continue;  // a copy between devices
    const auto record = static_cast<uint32_t>(at - out.op.begin());
    for_each_clip(windows, part.span, [&](size_t step, Interval clip) {
      out.exposed.push_back({record, static_cast<uint32_t>(step), clip});
    });
  }
}

// Sums of what was charged up to a moment that only moves forward.
class RunningSums {
 public:
  RunningSums(const Labels& labels, const Timeline& timeline)
      : labels_(labels), timeline_(timeline) {}

  const std::array<TimeNs, kLateCategoryCount>& up_to(TimeNs t) {
    const auto take = [&](const auto& parts, size_t& next, auto category) {
      for (; next < parts.size() && parts[next].span.begin_ns < t; ++next) {
        const Interval span = parts[next].span;
        const TimeNs ns = std::min(span.end_ns, t) - std::max(span.begin_ns, at_);
        if (ns > 0 && !is_comm(parts[next].leaf)) sum_[category(parts[next])] += ns;
        if (span.end_ns > t) break;
      }
    };
    take(timeline_.busy, busy_, [&](const BusyPart& part) {
      const bool grouped = part.op != kNoRow && (labels_.ops.flags[part.op] & kFlagGrouped) != 0;
      return static_cast<size_t>(late_category(part.leaf, grouped));
    });
    take(timeline_.idle, idle_,
         [](const IdlePart& part) { return static_cast<size_t>(late_category(part.leaf, false)); });
    at_ = std::max(at_, t);
    return sum_;
  }

 private:
  const Labels& labels_;
  const Timeline& timeline_;
  size_t busy_ = 0, idle_ = 0;
  TimeNs at_ = INT64_MIN;
  std::array<TimeNs, kLateCategoryCount> sum_{};
};

void add_before(const Labels& labels, const Timeline& timeline, DeviceComms& out) {
  struct Left {  // the last operation of a communicator that has ended
    TimeNs at_ns = 0;
    bool any = false;
    std::array<TimeNs, kLateCategoryCount> sum{};
  };
  std::vector<Left> left(labels.communicators.size());
  std::vector<uint32_t> by_end(out.records.size());
  for (uint32_t i = 0; i < by_end.size(); ++i) by_end[i] = i;
  std::stable_sort(by_end.begin(), by_end.end(), [&](uint32_t a, uint32_t b) {
    return out.records[a].end_ns < out.records[b].end_ns;
  });
  RunningSums sums(labels, timeline);
  out.before.resize(out.records.size());
  size_t ended = 0;
  for (uint32_t i = 0; i < out.records.size(); ++i) {
    const CommRecord& record = out.records[i];
    for (; ended < by_end.size() && out.records[by_end[ended]].end_ns <= record.begin_ns; ++ended) {
      const CommRecord& gone = out.records[by_end[ended]];
      left[gone.communicator] = {gone.end_ns, true, sums.up_to(gone.end_ns)};
    }
    const Left& previous = left[record.communicator];
    if (!previous.any) continue;
    BeforeRecord& before = out.before[i];
    before.from_ns = previous.at_ns;
    before.known = true;
    const auto& now = sums.up_to(record.begin_ns);
    for (size_t c = 0; c < kLateCategoryCount; ++c)
      before.ns[c] = static_cast<uint32_t>(std::min<TimeNs>(now[c] - previous.sum[c], UINT32_MAX));
  }
}

void extend(Interval& hull, Interval span) {
  if (hull.length() == 0) hull = span;
  hull.begin_ns = std::min(hull.begin_ns, span.begin_ns);
  hull.end_ns = std::max(hull.end_ns, span.end_ns);
}

// Gaps between kernels are the host's, wherever they are.
constexpr TimeNs kShortestEdgeIdle = 10'000;

void add_stage(const Timeline& timeline, std::span<const Interval> windows, DeviceComms& out) {
  const bool any = std::any_of(out.records.begin(), out.records.end(),
                               [](const CommRecord& r) { return r.kind == CommKind::pp; });
  if (!any) return;
  out.stage_steps.resize(windows.size());
  for (const CommRecord& r : out.records) {
    if (r.kind == CommKind::pp) {
      for_each_clip(windows, {r.begin_ns, r.end_ns}, [&](size_t step, Interval clip) {
        extend(out.stage_steps[step].pipeline, clip);
      });
    }
  }
  for (const BusyPart& part : timeline.busy) {
    if (part.leaf <= Leaf::recompute) {
      for_each_clip(windows, part.span, [&](size_t step, Interval clip) {
        extend(out.stage_steps[step].compute, clip);
      });
    }
  }
  for (const IdlePart& part : timeline.idle) {
    if (part.span.length() < kShortestEdgeIdle) continue;
    const bool open = part.leaf == Leaf::idle_unknown || part.leaf == Leaf::idle_dependency ||
                      part.leaf == Leaf::idle_profiler;
    for_each_clip(windows, part.span, [&](size_t step, Interval clip) {
      const Interval own = out.stage_steps[step].pipeline;
      if (own.length() == 0) return;
      const Interval before{clip.begin_ns, std::min(clip.end_ns, own.begin_ns)};
      const Interval after{std::max(clip.begin_ns, own.end_ns), clip.end_ns};
      for (const Interval& edge : {before, after})
        if (edge.length() > 0) out.edge_idle.push_back({static_cast<uint32_t>(step), edge, open});
    });
  }
}

}  // namespace

DeviceComms collect_comms(const Trace& trace, const Labels& labels, DeviceId device,
                          const Timeline& timeline, std::span<const Interval> windows,
                          bool receives_only) {
  DeviceComms out;
  for (const CommOp& c : labels.comm_ops) {
    if (trace.device_of(c.op) != device) continue;
    const bool receives =
        labels.ops.kind[c.op] == CommKind::pp && labels.ops.coll[c.op] == CollectiveOp::recv;
    if (receives_only && !receives) continue;
    out.records.push_back(record_of(trace, labels, c));
    out.op.push_back(c.op);
  }
  order_early_launches(out.records);
  WindowWalk walk(windows);
  for (const CommRecord& record : out.records) {
    const size_t step = walk.at(record.begin_ns);
    out.step.push_back(step == kNoWindow ? kNoStep : static_cast<uint32_t>(step));
  }
  out.row.assign(out.records.size(), kNoRow);
  add_exposed(timeline, windows, out);
  add_before(labels, timeline, out);
  add_stage(timeline, windows, out);
  return out;
}

}  // namespace ws
