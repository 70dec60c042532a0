// Tested by: across_ranks_test.cpp
#include <algorithm>
#include <map>

#include "analysis/counted_steps.h"
#include "analysis/late_causes.h"

namespace ws {
namespace {

void move_parts(Breakdown& p, CommKind kind, TimeNs wait, TimeNs transfer) {
  p[comm_leaf(OpClass::comm, kind, CommPart::unsplit)] -= wait + transfer;
  p[comm_leaf(OpClass::comm, kind, CommPart::wait)] += wait;
  p[comm_leaf(OpClass::comm, kind, CommPart::transfer)] += transfer;
}

void split_exposed(const std::vector<TimeNs>& arrivals, const std::vector<bool>& wait_only,
                   DeviceAnalysis& device) {
  std::vector<bool> counted(device.steps.size(), false);
  for (size_t step : counted_steps(device.steps)) counted[step] = true;
  const bool half = device.evidence.half_constants.total() > 0;
  for (const ExposedPart& part : device.comms.exposed) {
    if (arrivals[part.record] == kNotMatched) continue;
    const TimeNs all_there =
        std::clamp(arrivals[part.record], part.span.begin_ns, part.span.end_ns);
    const TimeNs wait = all_there - part.span.begin_ns;
    const TimeNs transfer = wait_only[part.record] ? 0 : part.span.end_ns - all_there;
    const CommKind kind = device.comms.records[part.record].kind;
    move_parts(device.breakdowns[part.step], kind, wait, transfer);
    if (!counted[part.step]) continue;
    if (half) {
      move_parts(device.evidence.half_constants, kind, wait, transfer);
      move_parts(device.evidence.double_constants, kind, wait, transfer);
    }
    const uint32_t row = device.comms.row[part.record];
    if (row == kNoRow) continue;
    CollectiveRow& collective = device.collectives[row];
    collective.unsplit_ns -= wait + transfer;
    collective.wait_ns += wait;
    collective.transfer_ns += transfer;
  }
}

// Whole operations, hidden or not, that begin in counted steps.
void add_matched(const CrossRank& cross, size_t participant, DeviceAnalysis& device) {
  std::vector<bool> counted(device.steps.size(), false);
  for (size_t step : counted_steps(device.steps)) counted[step] = true;
  const DeviceComms& comms = device.comms;
  for (size_t i = 0; i < comms.records.size(); ++i) {
    const TimeNs arrival = cross.arrivals[participant][i];
    if (arrival == kNotMatched || cross.wait_only[participant][i] || comms.row[i] == kNoRow)
      continue;
    if (comms.step[i] == kNoStep || !counted[comms.step[i]]) continue;
    const CommRecord& record = comms.records[i];
    const TimeNs all_there = std::clamp(arrival, record.begin_ns, record.end_ns);
    CollectiveRow& row = device.collectives[comms.row[i]];
    ++row.matched;
    row.matched_wait_ns += all_there - record.begin_ns;
    row.matched_transfer_ns += record.end_ns - all_there;
    if (cross.instance_of[participant][i] == kNoRow) continue;
    const Instance& x = cross.clocks.instances[cross.instance_of[participant][i]];
    row.group_size = std::max({row.group_size, static_cast<int64_t>(x.members.size()),
                               cross.set.communicators[x.communicator].size});
  }
}

// Who delays the collectives of a row most.
void add_late_ranks(const CrossRank& cross, std::vector<RankAnalysis>& ranks) {
  using Delays = std::map<int32_t, TimeNs>;
  std::vector<std::map<uint32_t, Delays>> delays(cross.participants.size());
  for (const Instance& x : cross.clocks.instances) {
    const std::vector<Arrival> order = by_arrival(cross, x);
    if (order.size() < 2) continue;
    const int32_t late = ranks[cross.participants[order.front().member.rank].rank_row].rank;
    for (const Arrival& a : order) {
      const Participant at = cross.participants[a.member.rank];
      const uint32_t row = ranks[at.rank_row].devices[at.device_row].comms.row[a.member.record];
      if (row != kNoRow) delays[a.member.rank][row][late] += order[0].begin_ns - order[1].begin_ns;
    }
  }
  for (size_t p = 0; p < delays.size(); ++p) {
    const Participant at = cross.participants[p];
    for (const auto& [row, by_rank] : delays[p]) {
      TimeNs most = 0;
      for (const auto& [rank, ns] : by_rank) {
        if (ns <= most) continue;
        most = ns;
        ranks[at.rank_row].devices[at.device_row].collectives[row].late_rank = rank;
      }
    }
  }
}

}  // namespace

void split_waits(const CrossRank& cross, std::vector<RankAnalysis>& ranks) {
  for (size_t p = 0; p < cross.participants.size(); ++p) {
    const Participant at = cross.participants[p];
    DeviceAnalysis& device = ranks[at.rank_row].devices[at.device_row];
    split_exposed(cross.arrivals[p], cross.wait_only[p], device);
    add_matched(cross, p, device);
    if (cross.participants.size() < 2) continue;
    const bool reference = p == 0;  // the clock that the others are brought to
    const bool measured = cross.clocks.samples[p] > 0 || reference;
    if (!measured && cross.clocks.method != ClockMethod::shared) continue;
    device.clock_offset_ns = cross.clocks.offsets[p];
    device.clock_error_ns = cross.clocks.residual_ns[p];
  }
  add_late_ranks(cross, ranks);
}

}  // namespace ws
