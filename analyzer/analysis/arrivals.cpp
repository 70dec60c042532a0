// Tested by: cross_rank_test.cpp
#include "analysis/arrivals.h"

#include <algorithm>
#include <optional>

namespace ws {
namespace {

// Slower than any link a pipeline is built on (D): bounds the transfer of a receive whose send was
// not recorded from above, hence its wait from below.
constexpr int64_t kSlowLinkBytesPerNs = 10;  // 10 GB/s

struct Start {
  uint32_t rank_row = 0;
  int32_t rank = 0;
  TimeNs begin_ns = 0;  // reference clock
};

std::vector<Start> starts_of(const CommSet& set, const Offsets& offsets, const Instance& x) {
  std::vector<Start> out;
  for (const Member& m : x.members) {
    if (!offsets[m.rank]) continue;
    out.push_back({m.rank, set.ranks[m.rank].rank,
                   set.ranks[m.rank].records[m.record].begin_ns - *offsets[m.rank]});
  }
  return out;
}

std::optional<TimeNs> start_of_rank(const std::vector<Start>& starts, int32_t rank) {
  for (const Start& s : starts) {
    if (s.rank == rank) return s.begin_ns;
  }
  return std::nullopt;
}

TimeNs latest(const std::vector<Start>& starts) {
  TimeNs t = INT64_MIN;
  for (const Start& s : starts) t = std::max(t, s.begin_ns);
  return t;
}

// Reference-clock time before which a member can not make progress, by the type of operation.
std::optional<TimeNs> last_arrival(const CommRecord& own, int32_t rank, TimeNs own_begin,
                                   const std::vector<Start>& starts) {
  if (own.op == CollectiveOp::broadcast && own.root >= 0) {
    return rank == own.root ? own_begin : start_of_rank(starts, own.root);
  }
  if ((own.op == CollectiveOp::reduce || own.op == CollectiveOp::gather) && own.root >= 0) {
    return rank == own.root ? latest(starts) : own_begin;
  }
  if ((own.op == CollectiveOp::send || own.op == CollectiveOp::recv) && own.peer >= 0) {
    const auto peer = start_of_rank(starts, own.peer);
    if (!peer) return std::nullopt;
    return std::max(own_begin, *peer);
  }
  return latest(starts);
}

// Two receives are nobody's partners.
bool one_way(const CommSet& set, const Instance& x) {
  bool sends = false, receives = false;
  for (const Member& m : x.members) {
    const CollectiveOp op = set.ranks[m.rank].records[m.record].op;
    sends |= op != CollectiveOp::recv;
    receives |= op != CollectiveOp::send;
  }
  return !(sends && receives);
}

}  // namespace

std::vector<std::vector<TimeNs>> find_arrivals(const CommSet& set, const Offsets& offsets,
                                               const std::vector<Instance>& instances) {
  std::vector<std::vector<TimeNs>> out;
  for (const RankComms& r : set.ranks) out.emplace_back(r.records.size(), kNotMatched);
  for (const Instance& x : instances) {
    const auto need =
        static_cast<size_t>(std::max<int64_t>(x.expected, set.communicators[x.communicator].size));
    const bool pair = std::all_of(x.members.begin(), x.members.end(), [&](const Member& m) {
      const CommRecord& r = set.ranks[m.rank].records[m.record];
      return r.peer >= 0 && is_point_to_point(r.op);
    });
    if (x.members.size() < 2 || !is_consistent(set, x) || one_way(set, x) ||
        (!pair && x.members.size() < need))
      continue;
    const std::vector<Start> starts = starts_of(set, offsets, x);
    for (const Member& m : x.members) {
      if (!offsets[m.rank]) continue;
      const CommRecord& own = set.ranks[m.rank].records[m.record];
      const auto at =
          last_arrival(own, set.ranks[m.rank].rank, own.begin_ns - *offsets[m.rank], starts);
      if (at) out[m.rank][m.record] = *at + *offsets[m.rank];
    }
  }
  for (size_t r = 0; r < set.ranks.size(); ++r) {
    const auto& records = set.ranks[r].records;
    for (size_t i = 0; i < records.size(); ++i) {
      const CommRecord& x = records[i];
      if (x.kind != CommKind::pp || x.op != CollectiveOp::recv || x.bytes < 0 ||
          out[r][i] != kNotMatched) {
        continue;
      }
      const TimeNs slowest = x.bytes / kSlowLinkBytesPerNs;
      out[r][i] = slowest >= x.end_ns - x.begin_ns ? x.begin_ns : x.end_ns - slowest;
    }
  }
  return out;
}

Lateness find_lateness(const CommSet& set, const Offsets& offsets,
                       const std::vector<Instance>& instances) {
  const size_t n = set.ranks.size();
  Lateness out{std::vector<TimeNs>(n, 0), std::vector<int64_t>(n, 0), std::vector<TimeNs>(n, 0)};
  for (const Instance& x : instances) {
    if (x.members.size() < 2 || !is_consistent(set, x)) continue;
    std::vector<Start> starts = starts_of(set, offsets, x);
    if (starts.size() < 2) continue;
    std::sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) {
      return a.begin_ns != b.begin_ns ? a.begin_ns > b.begin_ns : a.rank > b.rank;
    });
    out.marginal_ns[starts[0].rank_row] += starts[0].begin_ns - starts[1].begin_ns;
    ++out.times_last[starts[0].rank_row];
    for (const Member& m : x.members) {
      if (!offsets[m.rank]) continue;
      const CommRecord& r = set.ranks[m.rank].records[m.record];
      const TimeNs wait = starts[0].begin_ns - (r.begin_ns - *offsets[m.rank]);
      out.wait_ns[m.rank] += std::min(std::max<TimeNs>(0, wait), r.end_ns - r.begin_ns);
    }
  }
  return out;
}

std::vector<uint32_t> late_rank_rows(const Lateness& lateness) {
  TimeNs total = 0;
  for (TimeNs v : lateness.marginal_ns) total += v;
  std::vector<uint32_t> out;
  for (uint32_t r = 0; r < lateness.marginal_ns.size(); ++r) {
    if (total > 0 && lateness.marginal_ns[r] * 10 >= total) out.push_back(r);
  }
  return out;
}

Straggler straggler_kind(const std::vector<std::map<int32_t, TimeNs>>& marginal) {
  std::vector<std::pair<int32_t, TimeNs>> wins;  // per step with any delay: worst rank, total
  std::map<int32_t, TimeNs> of_rank;
  std::map<int32_t, size_t> won;
  std::vector<size_t> step_of;
  TimeNs total = 0;
  for (size_t i = 0; i < marginal.size(); ++i) {
    TimeNs sum = 0, most = -1;
    int32_t worst = -1;
    for (const auto& [rank, ns] : marginal[i]) {
      sum += ns;
      if (ns > most) worst = rank, most = ns;
    }
    if (sum <= 0) continue;
    for (const auto& [rank, ns] : marginal[i]) of_rank[rank] += ns;
    wins.emplace_back(worst, sum);
    step_of.push_back(i);
    ++won[worst];
    total += sum;
  }
  if (wins.empty()) return {};
  int32_t top = -1;
  size_t top_wins = 0;
  for (const auto& [rank, count] : won) {
    if (count > top_wins) top = rank, top_wins = count;
  }
  if (wins.size() >= 3 && top_wins * 10 >= wins.size() * 7 && of_rank[top] * 2 >= total) {
    return {StragglerKind::persistent, top, 0};
  }
  size_t big = 0;
  for (size_t i = 1; i < wins.size(); ++i) {
    if (wins[i].second > wins[big].second) big = i;
  }
  if (marginal.size() >= 3 && wins[big].second * 2 >= total) {
    return {StragglerKind::transient, wins[big].first, step_of[big]};
  }
  if (wins.size() < 3 && top_wins == wins.size() && of_rank[top] * 2 >= total)
    return {StragglerKind::seldom, top, 0};
  return {StragglerKind::rotating, -1, 0};
}

}  // namespace ws
