// Theil-Sen: the median slope over pairs of points. It stands up to a quarter of wrong pairs, so
// that a lost record in a communicator without numbers does no harm.
// Tested by: across_ranks_test.cpp
#include "analysis/clock_drift.h"

#include <algorithm>
#include <cmath>

#include "analysis/collective_match.h"
#include "analysis/median.h"

namespace ws {
namespace {

constexpr TimeNs kLongRecordingNs = 60'000'000'000;
constexpr size_t kFewestPoints = 20;
constexpr size_t kMostPoints = 300;    // pairs grow with the square
constexpr double kFastestRate = 1e-3;  // no clock is worse: what looks like more is something else

struct Point {
  TimeNs at_ns = 0;     // on the rank's clock
  TimeNs apart_ns = 0;  // own end less the end on the reference clock
};

struct Clock {
  ClockDrift drift;
  TimeNs offset_ns = 0;
  bool known = false;
  TimeNs to_reference(TimeNs own) const { return drift.remove(own) - offset_ns; }
};

TimeNs median_distance(std::vector<TimeNs> values) {
  const TimeNs middle = median_of(values);
  for (TimeNs& v : values) v = std::abs(v - middle);
  return median_of(values);
}

// Evenly spread points; pairs closer than a quarter of the recording tell little of a slope.
double median_slope(const std::vector<Point>& points, TimeNs span) {
  const size_t stride = points.size() / kMostPoints + 1;
  std::vector<double> slopes;
  for (size_t i = 0; i < points.size(); i += stride) {
    for (size_t j = i + stride; j < points.size(); j += stride) {
      const TimeNs between = points[j].at_ns - points[i].at_ns;
      if (between * 4 < span) continue;
      slopes.push_back(static_cast<double>(points[j].apart_ns - points[i].apart_ns) /
                       static_cast<double>(between));
    }
  }
  if (slopes.empty()) return 0;
  const auto middle = slopes.begin() + static_cast<ptrdiff_t>(slopes.size() / 2);
  std::nth_element(slopes.begin(), middle, slopes.end());
  return *middle;
}

Clock clock_of(std::vector<Point> points, TimeNs since_ns) {
  std::sort(points.begin(), points.end(),
            [](const Point& a, const Point& b) { return a.at_ns < b.at_ns; });
  Clock out;
  out.known = true;
  std::vector<TimeNs> level;
  level.reserve(points.size());
  for (const Point& p : points) level.push_back(p.apart_ns);
  const TimeNs span = points.back().at_ns - points.front().at_ns;
  if (points.size() >= kFewestPoints && span > kLongRecordingNs) {
    const ClockDrift line{since_ns, median_slope(points, span)};
    std::vector<TimeNs> even;
    even.reserve(points.size());
    for (const Point& p : points) even.push_back(p.apart_ns - line.gained_ns(p.at_ns));
    if (std::abs(line.rate) < kFastestRate && 2 * median_distance(even) < median_distance(level)) {
      out.drift = line;
      level = std::move(even);
    }
  }
  out.offset_ns = median_of(level);
  return out;
}

const CommRecord& record_of(const CommSet& set, const Member& m) {
  return set.ranks[m.rank].records[m.record];
}

// Own end against the middle of the ends of members whose clock is known.
std::vector<Point> points_of(const CommSet& set, const std::vector<const Instance*>& instances,
                             const std::vector<Clock>& clocks, uint32_t rank) {
  std::vector<Point> out;
  for (const Instance* x : instances) {
    std::vector<TimeNs> known;
    TimeNs own = 0;
    for (const Member& m : x->members) {
      const TimeNs end = record_of(set, m).end_ns;
      if (m.rank == rank) own = end;
      if (clocks[m.rank].known) known.push_back(clocks[m.rank].to_reference(end));
    }
    if (!known.empty()) out.push_back({own, own - median_of(known)});
  }
  return out;
}

std::vector<Instance> common_ends(const CommSet& set) {
  std::vector<Instance> out = match_by_position(set);
  const auto useless = [&](const Instance& x) {
    return x.members.size() < 2 || !synchronises(record_of(set, x.members.front()).op) ||
           !is_consistent(set, x);
  };
  out.erase(std::remove_if(out.begin(), out.end(), useless), out.end());
  return out;
}

}  // namespace

TimeNs ClockDrift::gained_ns(TimeNs own) const {
  return std::llround(rate * static_cast<double>(own - since_ns));
}

TimeNs ClockDrift::restore(TimeNs even) const {
  return even + std::llround(rate / (1 - rate) * static_cast<double>(even - since_ns));
}

std::vector<ClockDrift> measure_drifts(const CommSet& set) {
  std::vector<ClockDrift> out(set.ranks.size());
  TimeNs first = INT64_MAX, longest = 0;
  for (const RankComms& rank : set.ranks) {
    if (rank.records.empty()) continue;
    first = std::min(first, rank.records.front().begin_ns);
    longest = std::max(longest, rank.records.back().end_ns - rank.records.front().begin_ns);
  }
  if (longest <= kLongRecordingNs) return out;
  const std::vector<Instance> instances = common_ends(set);
  std::vector<std::vector<const Instance*>> of_rank(set.ranks.size());
  for (const Instance& x : instances)
    for (const Member& m : x.members) of_rank[m.rank].push_back(&x);
  std::vector<Clock> clocks(set.ranks.size());
  clocks[0].known = true;
  for (bool progress = true; progress;) {
    progress = false;
    for (uint32_t r = 0; r < clocks.size(); ++r) {
      if (clocks[r].known) continue;
      std::vector<Point> points = points_of(set, of_rank[r], clocks, r);
      if (points.empty()) continue;
      clocks[r] = clock_of(std::move(points), first);
      out[r] = clocks[r].drift;
      progress = true;
    }
  }
  return out;
}

}  // namespace ws
