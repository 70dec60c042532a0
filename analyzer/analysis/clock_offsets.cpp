// A shared clock is taken at once when it explains the recording: with unnamed communicators a
// wrong shift can line up operations of different groups and score higher than the truth.
// Tested by: cross_rank_test.cpp
#include "analysis/clock_offsets.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "analysis/median.h"

namespace ws {
namespace {

const CommRecord& record_of(const CommSet& set, const Member& m) {
  return set.ranks[m.rank].records[m.record];
}

struct Ends {
  TimeNs first_end = 0, last_end = 0, last_begin = 0;
};
Ends ends_of(const CommSet& set, const Offsets& offsets, const Instance& x) {
  Ends e{INT64_MAX, INT64_MIN, INT64_MIN};
  for (const Member& m : x.members) {
    const CommRecord& r = record_of(set, m);
    e.first_end = std::min(e.first_end, r.end_ns - *offsets[m.rank]);
    e.last_end = std::max(e.last_end, r.end_ns - *offsets[m.rank]);
    e.last_begin = std::max(e.last_begin, r.begin_ns - *offsets[m.rank]);
  }
  return e;
}

bool all_known(const Offsets& offsets, const Instance& x) {
  return std::all_of(x.members.begin(), x.members.end(),
                     [&](const Member& m) { return offsets[m.rank].has_value(); });
}

// Ordered pairs of members whose ends agree.
int64_t close_pairs(const CommSet& set, const Offsets& offsets, const Instance& x) {
  std::vector<TimeNs> ends;
  for (const Member& m : x.members) ends.push_back(record_of(set, m).end_ns - *offsets[m.rank]);
  std::sort(ends.begin(), ends.end());
  int64_t pairs = 0;
  for (size_t i = 0, j = 0; i < ends.size(); ++i) {
    while (ends[i] - ends[j] > kEndToleranceNs) ++j;
    pairs += 2 * static_cast<int64_t>(i - j);
  }
  return pairs;
}

// Pairs of members whose ends agree; then pairs that were inside together, which decides where no
// type synchronises.
std::pair<int64_t, int64_t> score(const CommSet& set, const Offsets& offsets,
                                  const std::vector<Instance>& instances) {
  int64_t agree = 0, inside = 0;
  for (const Instance& x : instances) {
    if (x.members.size() < 2 || !is_consistent(set, x) || !all_known(offsets, x)) continue;
    const Ends e = ends_of(set, offsets, x);
    const auto n = static_cast<int64_t>(x.members.size());
    if (synchronises(record_of(set, x.members.front()).op)) agree += close_pairs(set, offsets, x);
    if (e.last_begin <= e.first_end) inside += n * (n - 1);
  }
  return {agree, inside};
}

bool shared_clock_explains(const CommSet& set, const Offsets& zero,
                           const std::vector<Instance>& instances) {
  int64_t ok = 0, all = 0;
  for (const Instance& x : instances) {
    if (!synchronises(record_of(set, x.members.front()).op)) continue;
    const auto n = static_cast<int64_t>(x.members.size());
    all += n;
    const int64_t need = std::max<int64_t>(2, set.communicators[x.communicator].size);
    const Ends e = ends_of(set, zero, x);
    // Groups found on a stream are held to what they were found by.
    const TimeNs close = x.expected > 0 ? kWidestSpreadNs : kEndToleranceNs;
    if (n >= need && is_consistent(set, x) && e.last_end - e.first_end <= close) ok += n;
  }
  return all > 0 && ok * 100 >= all * 95;
}

// By how many positions `mine` is behind `theirs`: ranks leave a collective together, so the times
// between ends repeat on all of them, and no two steps are alike to the microsecond. Recordings
// that start at different steps are told apart by this alone.
ptrdiff_t positions_apart(const std::vector<TimeNs>& mine, const std::vector<TimeNs>& theirs) {
  constexpr size_t kGaps = 200;  // that are compared
  constexpr ptrdiff_t kFarthest = 5'000;
  if (mine.size() < 2 || theirs.size() < 2) return 0;
  const size_t count = std::min({kGaps, mine.size() - 1, theirs.size() - 1});
  const size_t first = (mine.size() - 1 - count) / 2;
  const auto last = static_cast<ptrdiff_t>(theirs.size() - 1 - count);
  const auto differ = [&](ptrdiff_t at, TimeNs most) {
    TimeNs sum = 0;
    for (size_t k = 0; k < count && sum < most; ++k) {
      const size_t i = first + k, j = static_cast<size_t>(at) + k;
      const TimeNs d = (mine[i + 1] - mine[i]) - (theirs[j + 1] - theirs[j]);
      sum += std::min(kEndToleranceNs, d < 0 ? -d : d);
    }
    return sum;
  };
  const auto from = static_cast<ptrdiff_t>(first);
  ptrdiff_t best = std::clamp<ptrdiff_t>(from, 0, last);
  TimeNs least = differ(best, INT64_MAX);
  for (ptrdiff_t by = 1; by <= kFarthest; ++by) {
    for (const ptrdiff_t at : {from - by, from + by}) {
      if (at < 0 || at > last) continue;
      const TimeNs sum = differ(at, least);
      if (sum < least) least = sum, best = at;
    }
  }
  return best - from;
}

// The most frequent difference of ends of equal operations: needs no matching, survives lost
// records.
Offsets densest_offsets(const CommSet& set) {
  using Key = std::pair<uint32_t, CollectiveOp>;
  std::vector<std::map<Key, std::vector<TimeNs>>> ends(set.ranks.size());
  for (size_t r = 0; r < set.ranks.size(); ++r) {
    for (const CommRecord& x : set.ranks[r].records) {
      if (synchronises(x.op)) ends[r][{x.communicator, x.op}].push_back(x.end_ns);
    }
    for (auto& [key, list] : ends[r]) std::sort(list.begin(), list.end());
  }
  constexpr size_t kMostPairs = 200'000;
  constexpr ptrdiff_t kReach = 40;  // positions by which a pair may be apart
  Offsets out(set.ranks.size());
  if (out.empty()) return out;
  out[0] = 0;
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t r = 0; r < set.ranks.size(); ++r) {
      if (out[r]) continue;
      std::vector<TimeNs> apart;
      for (const auto& [key, mine] : ends[r]) {
        for (size_t q = 0; q < set.ranks.size(); ++q) {
          const auto theirs = out[q] ? ends[q].find(key) : ends[q].end();
          if (theirs == ends[q].end()) continue;
          const ptrdiff_t behind = positions_apart(mine, theirs->second);
          const auto count = static_cast<ptrdiff_t>(theirs->second.size());
          for (size_t i = 0; i < mine.size() && apart.size() <= kMostPairs; ++i) {
            const ptrdiff_t middle = static_cast<ptrdiff_t>(i) + behind;
            for (ptrdiff_t j = std::max<ptrdiff_t>(0, middle - kReach);
                 j < std::min(count, middle + kReach + 1); ++j)
              apart.push_back(mine[i] - (theirs->second[static_cast<size_t>(j)] - *out[q]));
          }
        }
      }
      if (apart.empty()) continue;
      std::sort(apart.begin(), apart.end());
      size_t best = 0;
      for (size_t i = 0, j = 0; i < apart.size(); ++i) {
        while (apart[i] - apart[j] > kEndToleranceNs) ++j;
        if (i - j + 1 > best) {
          best = i - j + 1;
          out[r] = apart[(i + j) / 2];
        }
      }
      progress = true;
    }
  }
  return out;
}

bool needs_densest(const CommSet& set) {
  for (const CommIdentity& c : set.communicators) {
    if (!c.named) return true;
  }
  for (const RankComms& r : set.ranks) {
    if (r.records.size() != set.ranks.front().records.size()) return true;
  }
  return false;
}

// Offsets no larger than the spread of common ends measure that spread, not clocks: the recorded
// clocks stand if under them, too, everybody was inside together.
void keep_shared_if_close(const CommSet& set, ClockFit& best) {
  if (best.method == ClockMethod::shared) return;
  for (const auto& offset : best.offsets)
    if (offset && (*offset > kWidestSpreadNs / 2 || *offset < -kWidestSpreadNs / 2)) return;
  const Offsets zero(best.offsets.size(), TimeNs{0});
  std::vector<Instance> instances = match_by_presence(set, zero);
  for (const Instance& x : instances) {
    if (x.members.size() < 2 || !is_consistent(set, x)) continue;
    if (!everybody_meets(record_of(set, x.members.front()))) continue;
    const Ends e = ends_of(set, zero, x);
    if (e.last_begin > e.first_end) return;
  }
  best.offsets = zero;
  best.method = ClockMethod::shared;
  best.instances = std::move(instances);
}

}  // namespace

MedianFit fit_medians(const CommSet& set, const std::vector<Instance>& instances) {
  const size_t n = set.ranks.size();
  MedianFit fit{Offsets(n), std::vector<TimeNs>(n, 0), std::vector<int64_t>(n, 0)};
  std::vector<std::vector<uint32_t>> of_rank(n);  // usable instances a rank is in
  for (uint32_t i = 0; i < instances.size(); ++i) {
    const Instance& x = instances[i];
    if (x.members.size() < 2 || !synchronises(record_of(set, x.members.front()).op) ||
        !is_consistent(set, x)) {
      continue;
    }
    for (const Member& m : x.members) of_rank[m.rank].push_back(i);
  }
  if (n == 0) return fit;
  fit.offsets[0] = 0;
  for (bool progress = true; progress;) {
    progress = false;
    for (uint32_t r = 0; r < n; ++r) {
      if (fit.offsets[r]) continue;
      std::vector<TimeNs> apart;
      for (uint32_t i : of_rank[r]) {
        std::vector<TimeNs> known;
        TimeNs own = 0;
        for (const Member& m : instances[i].members) {
          if (m.rank == r) own = record_of(set, m).end_ns;
          if (fit.offsets[m.rank]) known.push_back(record_of(set, m).end_ns - *fit.offsets[m.rank]);
        }
        if (!known.empty()) apart.push_back(own - median_of(known));
      }
      if (apart.empty()) continue;
      const TimeNs offset = median_of(apart);
      for (TimeNs& v : apart) v = v > offset ? v - offset : offset - v;
      fit.offsets[r] = offset;
      fit.residual_ns[r] = median_of(apart);
      fit.samples[r] = static_cast<int64_t>(apart.size());
      progress = true;
    }
  }
  return fit;
}

ClockFit fit_clocks(const CommSet& set) {
  const size_t n = set.ranks.size();
  ClockFit best;
  best.offsets.assign(n, 0);
  best.instances = match_by_presence(set, best.offsets);
  if (!shared_clock_explains(set, best.offsets, best.instances)) {
    auto best_score = score(set, best.offsets, best.instances);
    const auto try_offsets = [&](Offsets offsets, ClockMethod method, bool on_tie) {
      std::vector<Instance> instances = match_by_presence(set, offsets);
      const auto s = score(set, offsets, instances);
      if (s > best_score || (on_tie && s == best_score)) {
        best_score = s;
        best.offsets = std::move(offsets);
        best.instances = std::move(instances);
        best.method = method;
      }
    };
    try_offsets(fit_medians(set, match_by_position(set)).offsets, ClockMethod::medians, false);
    if (needs_densest(set)) try_offsets(densest_offsets(set), ClockMethod::densest, false);
    Offsets fine = fit_medians(set, best.instances).offsets;
    for (size_t r = 0; r < n; ++r) {
      if (!fine[r]) fine[r] = best.offsets[r];
    }
    try_offsets(std::move(fine), best.method, true);
  }
  keep_shared_if_close(set, best);
  const MedianFit check = fit_medians(set, best.instances);
  best.samples = check.samples;
  best.residual_ns.assign(n, 0);
  for (size_t r = 0; r < n; ++r) {
    // What remains of the common ends under the offsets in use.
    best.residual_ns[r] = check.residual_ns[r];
    if (best.method == ClockMethod::shared && check.offsets[r]) {
      const TimeNs off = *check.offsets[r];
      best.residual_ns[r] = std::max(best.residual_ns[r], off < 0 ? -off : off);
    }
  }
  for (const Instance& x : best.instances) {
    if (x.members.size() < 2 || !is_consistent(set, x) || !all_known(best.offsets, x)) continue;
    const CollectiveOp op = record_of(set, x.members.front()).op;
    if (!synchronises(op) && op != CollectiveOp::all_to_all) continue;
    const Ends e = ends_of(set, best.offsets, x);
    if (e.last_begin > e.first_end) ++best.violations;
  }
  return best;
}

}  // namespace ws
