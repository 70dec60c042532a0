// Gradients and parameters travel beside compute. A reduction may start when the gradients of its
// bucket exist, a layer waits for its own parameters only; so of the traffic T of a step and a pass
// of length L there stays exposed what comes last (first), T / buckets, or what the pass is too
// short for. A pass is as long as the replay says with all other changes made, not as long as its
// compute: traffic hides beside a host that launches as well. Tested by: what_if_overlap_test.cpp
#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/pipeline_schedule.h"
#include "analysis/what_if_changes.h"

namespace ws::change {
namespace {

constexpr double kBucketBytes = 25.0 * (1 << 20);  // buckets are not made smaller (D)
constexpr int64_t kNoGradientBytes = 64 << 10;     // norms and losses travel alone (D)
constexpr double kSlowdown = 0.1;  // conservative: what compute loses beside hidden traffic (D)
constexpr double kForwardShare = 1.0 / 3;  // of the compute, where nothing tells the passes apart
constexpr double kLayerNames = 0.25;       // of a pass: kernels rarer than its layers take less (D)

enum class Traffic : uint8_t { none, gradients, parameters };

Traffic traffic_of(const ReplayOp& o) {
  if (o.cls != OpClass::comm || o.kind != CommKind::dp) return Traffic::none;
  if (o.bytes >= 0 && o.bytes < kNoGradientBytes) return Traffic::none;
  const bool parameters = o.coll == CollectiveOp::all_gather || o.coll == CollectiveOp::broadcast;
  return parameters ? Traffic::parameters : Traffic::gradients;
}

// Ops of one rank and step in the order of their launches.
struct StepRows {
  size_t rank = 0;
  std::vector<uint32_t> ops;  // rows of ReplayRank::ops
};

struct Pass {
  TimeNs length_ns = 0;
  TimeNs compute_ns = 0;
  int64_t layers = 1;
  bool drains = false;  // a call in it waits for the whole device, traffic included
};

class StepTraffic {
 public:
  StepTraffic(const ReplayGraph& g, const std::vector<TimeNs>& events, int64_t micro_batches,
              const StepRows& step)
      : g_(g), events_(events), rank_(g.ranks()[step.rank]), step_(step) {
    find_passes(micro_batches);
  }
  // Sets what stays exposed of the traffic of one kind.
  bool hide(Traffic what, bool keep, const std::vector<uint32_t>& edge, Scenario& s) const;

 private:
  TimeNs start(uint32_t row) const { return events_[size_t{2} * node(row)]; }
  TimeNs end(uint32_t row) const { return events_[size_t{2} * node(row) + 1]; }
  uint32_t node(uint32_t row) const { return g_.node_of_op(step_.rank, row); }
  uint32_t thread(uint32_t row) const { return rank_.calls[rank_.ops[row].call].thread; }
  void find_passes(int64_t micro_batches);
  Pass pass_of(size_t from, size_t to) const;

  const ReplayGraph& g_;
  const std::vector<TimeNs>& events_;
  const ReplayRank& rank_;
  const StepRows& step_;
  Pass forward_, backward_;  // the first, and the last of the step
};

// Layers repeat their kernels: the least repetition that a good part of the pass has.
int64_t layers_in(const ReplayRank& rank, const std::vector<uint32_t>& ops, size_t from,
                  size_t to) {
  struct Name {
    int64_t count = 0;
    TimeNs ns = 0;
  };
  std::map<uint32_t, Name> names;
  double all = 0;
  for (size_t i = from; i < to; ++i) {
    const ReplayOp& o = rank.ops[ops[i]];
    if (!is_compute(o.cls)) continue;
    Name& n = names[o.name];
    ++n.count;
    n.ns += o.end_ns - o.begin_ns;
    all += static_cast<double>(o.end_ns - o.begin_ns);
  }
  std::map<int64_t, double> by_count;
  for (const auto& [name, n] : names) by_count[n.count] += static_cast<double>(n.ns);
  double seen = 0;
  for (const auto& [count, ns] : by_count) {
    seen += ns;
    if (seen >= kLayerNames * all) return count;
  }
  return 1;
}

Pass StepTraffic::pass_of(size_t from, size_t to) const {
  Pass out;
  TimeNs begin = INT64_MAX, last = INT64_MIN;
  uint32_t first_call = kNoRow, last_call = 0;
  for (size_t i = from; i < to; ++i) {
    const uint32_t row = step_.ops[i];
    if (!is_compute(rank_.ops[row].cls)) continue;
    begin = std::min(begin, start(row));
    last = std::max(last, end(row));
    out.compute_ns += end(row) - start(row);
    first_call = std::min(first_call, rank_.ops[row].call);
    last_call = std::max(last_call, rank_.ops[row].call);
  }
  out.length_ns = std::max<TimeNs>(0, last == INT64_MIN ? 0 : last - begin);
  out.layers = layers_in(rank_, step_.ops, from, to);
  for (uint32_t c = first_call; c < last_call && first_call != kNoRow; ++c)
    out.drains = out.drains || rank_.calls[c].frees ||
                 (rank_.calls[c].state == HostState::sync && rank_.calls[c].whole_device);
  return out;
}

// Autograd launches the backward pass from a thread of its own. Where one thread launches
// everything, shares of the step stand for the passes.
void StepTraffic::find_passes(int64_t micro_batches) {
  const std::vector<uint32_t>& ops = step_.ops;
  const uint32_t main = thread(ops.front());
  const auto other = [&](size_t i) { return thread(ops[i]) != main; };
  size_t first = 0, last = ops.size();
  while (first < ops.size() && !other(first)) ++first;
  while (last > first && !other(last - 1)) --last;
  if (first < last) {
    size_t from = last - 1;
    while (from > first && other(from - 1)) --from;
    forward_ = pass_of(0, first);
    backward_ = pass_of(from, last);
    return;
  }
  Pass all = pass_of(0, ops.size());
  all.layers = std::max<int64_t>(1, all.layers / micro_batches);
  forward_ = backward_ = all;
  const double batch = static_cast<double>(all.compute_ns) / static_cast<double>(micro_batches);
  forward_.length_ns = static_cast<TimeNs>(batch * kForwardShare);
  backward_.length_ns = static_cast<TimeNs>(batch * (1 - kForwardShare));
}

bool StepTraffic::hide(Traffic what, bool keep, const std::vector<uint32_t>& edge,
                       Scenario& s) const {
  std::vector<size_t> places;  // in step_.ops
  double traffic = 0, bytes = 0;
  const auto time_of = [&](uint32_t n) -> TimeNs& {
    return edge[n] == kNoRow ? s.duration_ns[n] : s.lag_ns[edge[n]];
  };
  for (size_t i = 0; i < step_.ops.size(); ++i) {
    const ReplayOp& o = rank_.ops[step_.ops[i]];
    if (traffic_of(o) != what) continue;
    const uint32_t n = node(step_.ops[i]);
    if (time_of(n) == kDropped) continue;
    places.push_back(i);
    traffic += static_cast<double>(time_of(n));
    bytes += static_cast<double>(std::max<int64_t>(0, o.bytes));
  }
  if (places.empty()) return false;
  Pass pass = what == Traffic::gradients ? backward_ : forward_;
  Pass spread = pass_of(places.front(), places.back() + 1);  // they interleave with compute
  spread.length_ns = spread.compute_ns;                      // the rest may be the traffic itself
  if (spread.length_ns > pass.length_ns) pass = spread;
  if (keep && pass.drains) return true;
  double buckets = std::max(static_cast<double>(places.size()), static_cast<double>(pass.layers));
  if (bytes > 0)
    buckets = std::min(
        buckets, std::max(static_cast<double>(places.size()), std::ceil(bytes / kBucketBytes)));
  const double edge_bucket = keep ? traffic / buckets : 0;
  const auto length = static_cast<double>(pass.length_ns);
  const double exposed =
      std::min(traffic, std::max(edge_bucket, traffic - length * (keep ? 1 - 1 / buckets : 1)));
  double left = exposed + (keep ? kSlowdown * (traffic - exposed) : 0);
  // What stays is the last reduction, or the first gather.
  if (what == Traffic::gradients) std::reverse(places.begin(), places.end());
  for (size_t i : places) {
    TimeNs& time = time_of(node(step_.ops[i]));
    const bool unknown = edge[node(step_.ops[i])] == kNoRow;  // it may all be waiting, which stays
    if (keep && unknown) continue;
    const auto stays = std::min(static_cast<double>(time), left);
    left -= stays;
    time = std::llround(stays);
  }
  return true;
}

std::vector<StepRows> rows_by_step(const ReplayGraph& g) {
  std::vector<StepRows> out;
  for (size_t r = 0; r < g.ranks().size(); ++r) {
    const ReplayRank& rank = g.ranks()[r];
    std::vector<StepRows> steps(rank.host_steps.size(), StepRows{r, {}});
    for (uint32_t i = 0; i < rank.ops.size(); ++i) {
      const int32_t step = g.step_of(g.node_of_op(r, i));
      if (step >= 0 && rank.ops[i].call != kNoRow)
        steps[static_cast<size_t>(step)].ops.push_back(i);
    }
    for (StepRows& step : steps) {
      if (step.ops.empty()) continue;
      std::stable_sort(step.ops.begin(), step.ops.end(), [&](uint32_t a, uint32_t b) {
        return rank.ops[a].order_ns < rank.ops[b].order_ns;
      });
      out.push_back(std::move(step));
    }
  }
  return out;
}

}  // namespace

bool dp_overlapped(const ReplayGraph& g, bool keep, Scenario& s) {
  const bool any = std::any_of(g.nodes().begin(), g.nodes().end(), [&](const Node& n) {
    return n.kind == NodeKind::op && traffic_of(g.op(n)) != Traffic::none;
  });
  if (!any) return false;
  const std::vector<TimeNs> events = g.run(s);
  std::vector<uint32_t> edge(g.nodes().size(), kNoRow);  // of the meeting, into the node's end
  for (uint32_t e = 0; e < g.edges().size(); ++e)
    if (g.edges()[e].tag == EdgeTag::collective) edge[g.destination(e) / 2] = e;
  const auto pipeline = pipeline_schedule(g);
  const int64_t micro_batches = pipeline ? pipeline->micro_batches : 1;
  bool changed = false;
  for (const StepRows& step : rows_by_step(g)) {
    const StepTraffic traffic(g, events, micro_batches, step);
    for (const Traffic what : {Traffic::gradients, Traffic::parameters})
      changed = traffic.hide(what, keep, edge, s) || changed;
  }
  return changed;
}

}  // namespace ws::change
