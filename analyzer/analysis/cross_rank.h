#pragma once
// The ranks of a run joined at their collectives (ALGORITHMS 5): one clock, who waited for whom,
// and the partition with waiting split from transfer. Works on RankAnalysis alone: no trace is
// needed any more, and every integer is the one that reading all traces at once would give.
#include <vector>

#include "analysis/arrivals.h"
#include "analysis/clock_drift.h"
#include "analysis/rank_analysis.h"

namespace ws {

// One device of one rank: a member of communicators. Row of CommSet::ranks.
struct Participant {
  size_t rank_row = 0, device_row = 0;
};

struct CrossRank {
  std::vector<Participant> participants;
  CommSet set;                     // on clocks that run at one speed
  std::vector<ClockDrift> drifts;  // per participant: what was removed for that
  ClockFit clocks;                 // clocks.instances: all, also those that can not be split
  std::vector<std::vector<TimeNs>> arrivals;  // per participant and record, own clock; kNotMatched
  // Where only the waiting is certain: what follows the arrival stays unsplit.
  std::vector<std::vector<bool>> wait_only;
  std::vector<std::vector<uint32_t>> instance_of;  // per participant and record, kNoRow: none
  int64_t inconsistent = 0;    // instances whose members disagree on the operation
  int64_t incomplete = 0;      // instances with fewer members than their communicator
  bool clock_unknown = false;  // nothing told whether the clocks agree: nothing was split
};

CrossRank match_ranks(const std::vector<RankAnalysis>& ranks);

// Moves unsplit time to wait and transfer wherever an arrival is known: in the breakdowns, in the
// evidence, in the rows of collectives; fills clocks and lateness of every device.
void split_waits(const CrossRank& cross, std::vector<RankAnalysis>& ranks);

// From the times of a recording to the run's clock.
struct RunClock {
  TimeNs base_ns = 0;  // of the recording against the first
  ClockDrift drift;
  TimeNs offset_ns = 0;
  TimeNs operator()(TimeNs own) const { return drift.remove(own + base_ns) - offset_ns; }
  Interval operator()(Interval own) const { return {(*this)(own.begin_ns), (*this)(own.end_ns)}; }
};
std::vector<RunClock> run_clocks(const CrossRank& cross, const std::vector<RankAnalysis>& ranks);

// Participants that pipeline transfers join are one replica: per participant the lowest of them.
std::vector<uint32_t> replicas_of(const CrossRank& cross);
// Fills DeviceAnalysis::stage_idle.
void find_stage_idle(const CrossRank& cross, std::vector<RankAnalysis>& ranks);

}  // namespace ws
