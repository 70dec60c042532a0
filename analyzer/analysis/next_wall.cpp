// Tested by: price_run_test.cpp
#include "analysis/next_wall.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/blocking.h"
#include "analysis/counted_steps.h"

namespace ws {
namespace {

// Exposed communication by what it is, as the timeline charges it.
std::vector<CollectiveRow> exposed_rows(const SimulatedRank& sim, const Timeline& timeline,
                                        std::span<const Interval> windows) {
  using Key = std::tuple<bool, CommKind, CollectiveOp>;
  std::map<Key, CollectiveRow> rows;
  for (const BusyPart& part : timeline.busy) {
    const OpClass cls = sim.labels.cls[part.op];
    if (!is_comm(cls)) continue;
    TimeNs ns = 0;
    for_each_clip(windows, part.span, [&](size_t, Interval c) { ns += c.length(); });
    if (ns == 0) continue;
    CollectiveRow& row =
        rows[{cls == OpClass::p2p, sim.labels.kind[part.op], sim.labels.coll[part.op]}];
    row.peer_copy = cls == OpClass::p2p;
    row.kind = sim.labels.kind[part.op];
    row.op = sim.labels.coll[part.op];
    const auto piece =
        (static_cast<size_t>(part.leaf) - static_cast<size_t>(Leaf::comm_tp_wait)) % 3;
    (piece == 0 ? row.wait_ns : piece == 1 ? row.transfer_ns : row.unsplit_ns) += ns;
  }
  std::vector<CollectiveRow> out;
  out.reserve(rows.size());
  for (auto& [key, row] : rows) out.push_back(std::move(row));
  return out;
}

DeviceAnalysis simulated_device(const SimulatedRank& sim, const HostStates& host,
                                const ReplayCuts& cuts, const std::vector<TimeNs>& at,
                                const DeviceAnalysis& recorded) {
  DeviceAnalysis out;
  out.device = recorded.device;
  out.constants = cuts.constants;
  out.counts = recorded.counts;
  out.memory = recorded.memory;
  out.evidence.opaque_ns = recorded.evidence.opaque_ns;
  out.evidence.staging_ns = recorded.evidence.staging_ns;
  std::vector<Interval> windows;
  for (size_t i = 1; i + 1 < at.size(); ++i) {  // without the step that comes before
    Step step;
    step.index = static_cast<int64_t>(i);
    step.window = {at[i], at[i + 1]};
    windows.push_back(step.window);
    out.steps.push_back(std::move(step));
  }
  const DeviceId device{cuts.device};
  const Timeline timeline =
      build_timeline(sim.trace, sim.labels, host, device, cuts.constants,
                     {at.front(), std::max(at.front() + 1, at.back())}, sim.arrivals);
  out.breakdowns = partition(timeline, windows);
  out.offload_idle_ns = offload_idle(sim.trace, sim.labels, device, windows);
  out.collectives = exposed_rows(sim, timeline, windows);
  out.evidence.not_blocking_ns = not_blocking_communication(sim.trace, host, timeline, windows);
  out.evidence.pause_ns.assign(windows.size(), 0);
  for (const IdlePart& part : timeline.idle) {
    if (part.leaf != Leaf::idle_host) continue;
    for_each_clip(windows, part.span, [&](size_t w, Interval c) {
      TimeNs& longest = out.evidence.pause_ns[w];
      longest = std::max(longest, c.length());
    });
  }
  return out;
}

}  // namespace

std::vector<RankAnalysis> simulated_ranks(const ReplayGraph& graph,
                                          const std::vector<const RankAnalysis*>& ranks,
                                          const std::vector<TimeNs>& events,
                                          uint8_t removed_covers) {
  std::vector<RankAnalysis> out;
  for (size_t r = 0; r < graph.ranks().size(); ++r) {
    const SimulatedRank sim = simulated_rank(graph, r, events, removed_covers);
    const HostStates host(sim.trace, sim.labels);
    RankAnalysis rank;
    rank.rank = ranks[r]->rank;
    rank.has_api_records = ranks[r]->has_api_records;
    rank.has_host_ranges = ranks[r]->has_host_ranges;
    const std::vector<ReplayCuts>& cuts = graph.ranks()[r].cuts;
    for (size_t d = 0; d < cuts.size(); ++d) {
      for (const DeviceAnalysis& recorded : ranks[r]->devices)
        if (recorded.device == cuts[d].ordinal)
          rank.devices.push_back(simulated_device(sim, host, cuts[d], sim.cuts[d], recorded));
    }
    out.push_back(std::move(rank));
  }
  return out;
}

LeadingLoss next_wall(const ReplayGraph& graph, const std::vector<const RankAnalysis*>& ranks,
                      const RunMeans& recorded, const std::vector<TimeNs>& events,
                      uint8_t removed_covers) {
  const std::vector<RankAnalysis> simulated = simulated_ranks(graph, ranks, events, removed_covers);
  RunMeans means = means_of(simulated);
  means.late_causes = recorded.late_causes;  // who is still late is late for the same reason
  return leading_loss(simulated, means);
}

}  // namespace ws
