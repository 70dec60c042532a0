// Tested by: match_ranks_test.cpp, across_ranks_test.cpp
#include <algorithm>
#include <map>
#include <numeric>

#include "analysis/cross_rank.h"

namespace ws {
namespace {

class Sets {
 public:
  explicit Sets(size_t n) : root_(n) { std::iota(root_.begin(), root_.end(), 0U); }
  uint32_t find(uint32_t p) {
    while (root_[p] != p) p = root_[p] = root_[root_[p]];
    return p;
  }
  void join(uint32_t a, uint32_t b) {
    a = find(a);
    b = find(b);
    root_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<uint32_t> root_;
};

bool is_pipeline(const CrossRank& cross, const Member& m) {
  return cross.set.ranks[m.rank].records[m.record].kind == CommKind::pp;
}

struct OtherStages {  // when other stages of the replica compute, by step index; reference clock
  std::map<int64_t, Interval> compute;
};

const DeviceAnalysis& device_of(const CrossRank& cross, const std::vector<RankAnalysis>& ranks,
                                size_t p) {
  const Participant at = cross.participants[p];
  return ranks[at.rank_row].devices[at.device_row];
}

OtherStages other_stages(const CrossRank& cross, const std::vector<RankAnalysis>& ranks,
                         const std::vector<uint32_t>& replica, const std::vector<RunClock>& clocks,
                         size_t self) {
  OtherStages out;
  for (size_t p = 0; p < replica.size(); ++p) {
    if (p == self || replica[p] != replica[self]) continue;
    const DeviceAnalysis& device = device_of(cross, ranks, p);
    for (size_t i = 0; i < device.comms.stage_steps.size(); ++i) {
      if (device.comms.stage_steps[i].compute.length() == 0) continue;
      const Interval own = clocks[p](device.comms.stage_steps[i].compute);
      const auto [it, fresh] = out.compute.try_emplace(device.steps[i].index, own);
      if (fresh) continue;
      it->second.begin_ns = std::min(it->second.begin_ns, own.begin_ns);
      it->second.end_ns = std::max(it->second.end_ns, own.end_ns);
    }
  }
  return out;
}

TimeNs overlap(Interval a, Interval b) {
  return std::max<TimeNs>(0, std::min(a.end_ns, b.end_ns) - std::max(a.begin_ns, b.begin_ns));
}

// Collectives with a member of another stage of the same replica.
bool spans_stages(const CrossRank& cross, const std::vector<uint32_t>& replica, size_t p,
                  uint32_t record) {
  const uint32_t instance = cross.instance_of[p][record];
  if (instance == kNoRow) return false;
  const Instance& x = cross.clocks.instances[instance];
  return std::any_of(x.members.begin(), x.members.end(),
                     [&](const Member& m) { return m.rank != p && replica[m.rank] == replica[p]; });
}

}  // namespace

std::vector<uint32_t> replicas_of(const CrossRank& cross) {
  Sets sets(cross.participants.size());
  bool matched = false;
  for (const Instance& x : cross.clocks.instances) {
    const Member& m = x.members.front();
    if (x.members.size() < 2 || !is_pipeline(cross, m)) continue;
    if (cross.arrivals[m.rank][m.record] == kNotMatched || cross.wait_only[m.rank][m.record])
      continue;
    matched = true;
    for (const Member& other : x.members) sets.join(other.rank, m.rank);
  }
  if (!matched) {  // only one side of the transfers was recorded: the communicator has to do
    std::map<uint32_t, uint32_t> first;
    for (uint32_t p = 0; p < cross.participants.size(); ++p) {
      for (const CommRecord& r : cross.set.ranks[p].records)
        if (r.kind == CommKind::pp)
          sets.join(p, first.try_emplace(r.communicator, p).first->second);
    }
  }
  std::vector<uint32_t> out;
  for (uint32_t p = 0; p < cross.participants.size(); ++p) out.push_back(sets.find(p));
  return out;
}

void find_stage_idle(const CrossRank& cross, std::vector<RankAnalysis>& ranks) {
  const std::vector<uint32_t> replica = replicas_of(cross);
  const std::vector<RunClock> clocks = run_clocks(cross, ranks);
  for (size_t p = 0; p < cross.participants.size(); ++p) {
    const Participant at = cross.participants[p];
    DeviceAnalysis& device = ranks[at.rank_row].devices[at.device_row];
    const DeviceComms& comms = device.comms;
    if (comms.stage_steps.empty()) continue;
    const OtherStages others = other_stages(cross, ranks, replica, clocks, p);
    device.stage_idle.assign(device.steps.size(), {});
    const auto shared = [&](uint32_t step, Interval span) -> TimeNs {
      const auto it = others.compute.find(device.steps[step].index);
      if (it == others.compute.end()) return 0;
      return overlap(clocks[p](span), it->second);
    };
    for (const EdgeIdle& idle : comms.edge_idle) {
      StageIdle& out = device.stage_idle[idle.step];
      (idle.open ? out.open_ns : out.known_ns) += shared(idle.step, idle.span);
    }
    for (const ExposedPart& part : comms.exposed) {
      const Interval own = comms.stage_steps[part.step].pipeline;
      const TimeNs arrival = cross.arrivals[p][part.record];
      if (comms.records[part.record].kind == CommKind::pp || arrival == kNotMatched ||
          own.length() == 0 || !spans_stages(cross, replica, p, part.record))
        continue;
      const TimeNs all_there = std::clamp(arrival, part.span.begin_ns, part.span.end_ns);
      const Interval before{part.span.begin_ns, std::min(all_there, own.begin_ns)};
      const Interval after{std::max(part.span.begin_ns, own.end_ns), all_there};
      for (const Interval& edge : {before, after})
        if (edge.length() > 0) device.stage_idle[part.step].wait_ns += shared(part.step, edge);
    }
  }
}

}  // namespace ws
