// Tested by: match_ranks_test.cpp, cross_rank_test.cpp, across_ranks_test.cpp
#include "analysis/cross_rank.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "analysis/counted_steps.h"

namespace ws {
namespace {

// Times since the epoch are comparable between files; anything before 2001 is some other clock.
constexpr TimeNs kEpochFrom = 1'000'000'000'000'000'000;

const DeviceAnalysis& device_of(const std::vector<RankAnalysis>& ranks, Participant p) {
  return ranks[p.rank_row].devices[p.device_row];
}

// What to add to a rank's times to stand on the clock of the first rank.
std::vector<TimeNs> base_shifts(const std::vector<RankAnalysis>& ranks) {
  std::vector<TimeNs> out(ranks.size(), 0);
  const auto epoch = [&](const RankAnalysis& r) {
    return r.clock_base_ns + r.capture.begin_ns >= kEpochFrom;
  };
  const bool comparable = std::all_of(ranks.begin(), ranks.end(), epoch);
  for (size_t r = 1; r < ranks.size() && comparable; ++r)
    out[r] = ranks[r].clock_base_ns - ranks.front().clock_base_ns;
  return out;
}

// Communicators of all ranks under one number each. A name that more devices use than its group
// has members stands for several groups, as a stream number does.
class Communicators {
 public:
  explicit Communicators(CommSet& set) : set_(set) {}

  std::vector<uint32_t> add(const std::vector<Communicator>& rows) {
    std::vector<uint32_t> out;
    for (const Communicator& c : rows) {
      const auto [it, fresh] =
          row_of_.try_emplace(c.key, static_cast<uint32_t>(set_.communicators.size()));
      if (fresh) set_.communicators.push_back({c.key, c.named, 0});
      CommIdentity& identity = set_.communicators[it->second];
      identity.named &= c.named;
      const int64_t size = std::max(c.size, static_cast<int64_t>(c.members.size()));
      identity.size = std::max(identity.size, size);
      out.push_back(it->second);
    }
    return out;
  }

 private:
  CommSet& set_;
  std::map<std::string, uint32_t> row_of_;
};

void find_crowded(CommSet& set) {
  std::vector<int64_t> users(set.communicators.size(), 0);
  for (const RankComms& rank : set.ranks) {
    std::vector<bool> uses(set.communicators.size(), false);
    for (const CommRecord& r : rank.records) uses[r.communicator] = true;
    for (size_t c = 0; c < uses.size(); ++c) users[c] += uses[c] ? 1 : 0;
  }
  for (size_t c = 0; c < users.size(); ++c) {
    CommIdentity& identity = set.communicators[c];
    if (identity.size > 0 && users[c] > identity.size) identity.named = false;
  }
}

// Where ranks of the job are missing and nothing tells the size of a group, its last arrival may be
// one that was not recorded.
void find_unknown_sizes(const std::vector<RankAnalysis>& ranks, CommSet& set) {
  const auto recorded = static_cast<int64_t>(set.ranks.size());
  int64_t job = 0;
  for (const RankAnalysis& rank : ranks) job = std::max<int64_t>(job, rank.world_size);
  if (job <= recorded) return;
  for (CommIdentity& c : set.communicators)
    if (c.size == 0) c.size = recorded + 1;
}

// Numbers that a rank repeats, or that only some records of a communicator carry, order nothing.
void drop_useless_numbers(CommSet& set) {
  std::vector<bool> useless(set.communicators.size(), false);
  for (size_t c = 0; c < useless.size(); ++c) useless[c] = !set.communicators[c].named;
  for (const RankComms& rank : set.ranks) {
    std::vector<std::unordered_set<int64_t>> seen(set.communicators.size());
    std::vector<int64_t> records(set.communicators.size(), 0), usable(records);
    for (const CommRecord& r : rank.records) {
      if (is_point_to_point(r.op)) continue;
      ++records[r.communicator];
      if (r.sequence >= 0 && seen[r.communicator].insert(r.sequence).second)
        ++usable[r.communicator];
    }
    for (size_t c = 0; c < useless.size(); ++c)
      if (usable[c] * 50 < records[c] * 49) useless[c] = true;
  }
  for (RankComms& rank : set.ranks)
    for (CommRecord& r : rank.records)
      if (useless[r.communicator]) r.sequence = -1;
}

CommSet comm_set(const std::vector<RankAnalysis>& ranks,
                 const std::vector<Participant>& participants) {
  CommSet out;
  Communicators communicators(out);
  std::vector<std::vector<uint32_t>> row_of;
  row_of.reserve(ranks.size());
  for (const RankAnalysis& rank : ranks) row_of.push_back(communicators.add(rank.communicators));
  const std::vector<TimeNs> shifts = base_shifts(ranks);
  for (const Participant& p : participants) {
    RankComms comms;
    // The second device of a process is nobody's peer by number.
    comms.rank = p.device_row == 0 ? ranks[p.rank_row].rank : -2;
    comms.records = device_of(ranks, p).comms.records;
    for (CommRecord& r : comms.records) {
      r.communicator = row_of[p.rank_row][r.communicator];
      for (TimeNs* t : {&r.begin_ns, &r.end_ns, &r.order_ns}) *t += shifts[p.rank_row];
    }
    out.ranks.push_back(std::move(comms));
  }
  find_crowded(out);
  find_unknown_sizes(ranks, out);
  drop_useless_numbers(out);
  return out;
}

void even_speeds(CrossRank& out) {
  out.drifts = measure_drifts(out.set);
  for (size_t p = 0; p < out.drifts.size(); ++p)
    for (CommRecord& r : out.set.ranks[p].records)
      for (TimeNs* t : {&r.begin_ns, &r.end_ns, &r.order_ns}) *t = out.drifts[p].remove(*t);
}

// Offsets that are not exact enough for a wait tell nothing of it; what needs no clock is how much
// longer a rank was inside than the one that was inside shortest.
void without_clock(const CommSet& set, const ClockFit& clocks,
                   std::vector<std::vector<TimeNs>>& arrivals) {
  for (const Instance& x : clocks.instances) {
    if (x.members.size() < 2) continue;
    const auto record = [&](const Member& m) -> const CommRecord& {
      return set.ranks[m.rank].records[m.record];
    };
    if (!synchronises(record(x.members.front()).op)) continue;
    TimeNs shortest = INT64_MAX, error = 0;
    for (const Member& m : x.members) {
      shortest = std::min(shortest, record(m).end_ns - record(m).begin_ns);
      error = std::max(error, clocks.residual_ns[m.rank]);
    }
    if (error <= kEndToleranceNs) continue;
    for (const Member& m : x.members) {
      TimeNs& arrival = arrivals[m.rank][m.record];
      if (arrival == kNotMatched) continue;
      const TimeNs wait = arrival - record(m).begin_ns;
      if (wait <= 3 * error) arrival = record(m).end_ns - shortest;
    }
  }
}

// Pipeline messages of one communicator and size cross the same links: where the other side was not
// recorded, what a receive takes beyond the shortest of its kind was waiting. The rest may be both.
constexpr int64_t kFewestReceives = 3;

void bound_receives(const CommSet& set, std::vector<std::vector<TimeNs>>& arrivals,
                    std::vector<std::vector<bool>>& wait_only) {
  struct Shortest {
    TimeNs ns = INT64_MAX;
    int64_t count = 0;
  };
  std::map<std::pair<uint32_t, int64_t>, Shortest> shortest;
  const auto asked = [](const CommRecord& r) {
    return r.kind == CommKind::pp && r.op == CollectiveOp::recv;
  };
  for (const RankComms& rank : set.ranks) {
    for (const CommRecord& r : rank.records) {
      if (!asked(r)) continue;
      Shortest& s = shortest[{r.communicator, r.bytes}];
      s.ns = std::min(s.ns, r.end_ns - r.begin_ns);
      ++s.count;
    }
  }
  for (size_t p = 0; p < set.ranks.size(); ++p) {
    const auto& records = set.ranks[p].records;
    wait_only.emplace_back(records.size(), false);
    for (size_t i = 0; i < records.size(); ++i) {
      const CommRecord& r = records[i];
      if (!asked(r) || arrivals[p][i] != kNotMatched) continue;
      const Shortest& s = shortest[{r.communicator, r.bytes}];
      if (s.count < kFewestReceives || r.end_ns - s.ns <= r.begin_ns) continue;
      arrivals[p][i] = r.end_ns - s.ns;
      wait_only[p][i] = true;
    }
  }
}

// Without a collective at whose end all members agree no clock can be measured. The recorded clocks
// are believed if everybody was inside together everywhere, else nothing is split.
bool clock_unknown(const ClockFit& clocks) {
  const bool measured =
      std::any_of(clocks.samples.begin(), clocks.samples.end(), [](int64_t n) { return n > 0; });
  return !measured && clocks.method == ClockMethod::shared && clocks.violations > 0;
}

}  // namespace

std::vector<RunClock> run_clocks(const CrossRank& cross, const std::vector<RankAnalysis>& ranks) {
  const std::vector<TimeNs> bases = base_shifts(ranks);
  std::vector<RunClock> out;
  for (size_t p = 0; p < cross.participants.size(); ++p)
    out.push_back({bases[cross.participants[p].rank_row], cross.drifts[p],
                   cross.clocks.offsets[p].value_or(0)});
  return out;
}

CrossRank match_ranks(const std::vector<RankAnalysis>& ranks) {
  CrossRank out;
  for (size_t r = 0; r < ranks.size(); ++r)
    for (size_t d = 0; d < ranks[r].devices.size(); ++d) out.participants.push_back({r, d});
  out.set = comm_set(ranks, out.participants);
  even_speeds(out);
  out.clocks = fit_clocks(out.set);
  out.arrivals = find_arrivals(out.set, out.clocks.offsets, out.clocks.instances);
  without_clock(out.set, out.clocks, out.arrivals);
  bound_receives(out.set, out.arrivals, out.wait_only);
  out.clock_unknown = clock_unknown(out.clocks);
  if (out.clock_unknown)
    for (auto& arrivals : out.arrivals) std::fill(arrivals.begin(), arrivals.end(), kNotMatched);
  for (const RankComms& rank : out.set.ranks)
    out.instance_of.emplace_back(rank.records.size(), kNoRow);
  for (uint32_t i = 0; i < out.clocks.instances.size(); ++i) {
    const Instance& x = out.clocks.instances[i];
    for (const Member& m : x.members) out.instance_of[m.rank][m.record] = i;
    if (x.members.size() < 2) continue;
    const bool agree = is_consistent(out.set, x);
    out.inconsistent += agree ? 0 : 1;
    const int64_t size = out.set.communicators[x.communicator].size;
    out.incomplete += agree && static_cast<int64_t>(x.members.size()) < size ? 1 : 0;
  }
  const std::vector<TimeNs> shifts = base_shifts(ranks);
  for (size_t p = 0; p < out.arrivals.size(); ++p)  // back to the clock of the recording
    for (TimeNs& t : out.arrivals[p])
      if (t != kNotMatched) t = out.drifts[p].restore(t) - shifts[out.participants[p].rank_row];
  return out;
}

}  // namespace ws
