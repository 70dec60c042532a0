// Tested by: replay_test.cpp
#include "analysis/contention.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "analysis/median.h"

namespace ws {
namespace {

constexpr size_t kSamples = 5;  // of a kernel alone, and as many overlapped
constexpr double kIgnored = 1.03;
constexpr TimeNs kUsualLatencyNs = 10'000;  // where only one size was seen (D)

std::vector<Interval> united(std::vector<Interval> v) {
  std::sort(v.begin(), v.end(),
            [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
  std::vector<Interval> out;
  for (const Interval& x : v) {
    if (x.length() <= 0) continue;
    if (!out.empty() && x.begin_ns <= out.back().end_ns) {
      out.back().end_ns = std::max(out.back().end_ns, x.end_ns);
    } else {
      out.push_back(x);
    }
  }
  return out;
}

TimeNs overlap(const std::vector<Interval>& u, Interval x) {
  auto it = std::lower_bound(u.begin(), u.end(), x.end_ns,
                             [](const Interval& a, TimeNs t) { return a.begin_ns < t; });
  TimeNs sum = 0;
  while (it != u.begin() && std::prev(it)->end_ns > x.begin_ns) {
    --it;
    sum += std::min(it->end_ns, x.end_ns) - std::max(it->begin_ns, x.begin_ns);
  }
  return sum;
}

struct Samples {
  std::vector<TimeNs> alone;
  std::vector<std::pair<TimeNs, TimeNs>> beside;  // duration, overlapped part
};

std::vector<Interval> comm_of(const ReplayRank& rank, uint8_t kinds) {
  std::vector<Interval> v;
  for (const ReplayOp& o : rank.ops) {
    if (o.cls == OpClass::comm && (kinds >> static_cast<unsigned>(o.kind) & 1) != 0) {
      v.push_back({o.begin_ns, o.end_ns});
    }
  }
  return united(std::move(v));
}

// Time of overlapped work alone over its time beside communication; 1: no slowdown worth a figure.
double speed_beside(const ReplayRank& rank, const std::vector<Interval>& comm) {
  std::vector<Samples> by_name(rank.names.size());
  for (const ReplayOp& o : rank.ops) {
    if (!is_compute(o.cls) || o.end_ns <= o.begin_ns) continue;
    const TimeNs hit = overlap(comm, {o.begin_ns, o.end_ns});
    if (hit > 0) {
      by_name[o.name].beside.emplace_back(o.end_ns - o.begin_ns, hit);
    } else {
      by_name[o.name].alone.push_back(o.end_ns - o.begin_ns);
    }
  }
  TimeNs over = 0, work = 0;
  for (Samples& s : by_name) {
    if (s.alone.size() < kSamples || s.beside.size() < kSamples) continue;
    const TimeNs usual = median_of(s.alone);
    for (const auto& [duration, hit] : s.beside) {
      over += hit;
      work += usual - (duration - hit);
    }
  }
  if (work <= 0 || static_cast<double>(over) <= kIgnored * static_cast<double>(work)) return 1;
  return static_cast<double>(work) / static_cast<double>(over);
}

}  // namespace

std::vector<TimeNs> durations_alone(const ReplayGraph& graph, uint8_t kinds) {
  std::vector<TimeNs> out(graph.nodes().size(), -1);
  for (size_t r = 0; r < graph.ranks().size(); ++r) {
    const ReplayRank& rank = graph.ranks()[r];
    const double speed = speed_beside(rank, comm_of(rank, 0xff));
    if (speed >= 1) continue;
    const std::vector<Interval> removed = comm_of(rank, kinds);
    for (size_t i = 0; i < rank.ops.size(); ++i) {
      const ReplayOp& o = rank.ops[i];
      if (!is_compute(o.cls)) continue;
      const TimeNs hit = overlap(removed, {o.begin_ns, o.end_ns});
      if (hit > 0) {
        out[graph.node_of_op(r, i)] =
            o.end_ns - o.begin_ns - static_cast<TimeNs>(static_cast<double>(hit) * (1 - speed));
      }
    }
  }
  return out;
}

std::map<std::pair<CommKind, CollectiveOp>, TimeNs> transfer_latency(const ReplayGraph& graph) {
  // Members of an exchange may send different amounts: the largest decides how long all take.
  std::unordered_map<uint32_t, int64_t> largest;  // per event of a meeting
  const auto op_at = [&](uint32_t edge) -> const ReplayOp& {
    return graph.op(graph.nodes()[graph.destination(edge) / 2]);
  };
  for (uint32_t e = 0; e < graph.edges().size(); ++e) {
    if (graph.edges()[e].tag != EdgeTag::collective) continue;
    int64_t& bytes = largest[graph.edges()[e].from];
    bytes = std::max(bytes, op_at(e).bytes);
  }
  std::map<std::pair<CommKind, CollectiveOp>, std::map<int64_t, std::vector<TimeNs>>> seen;
  for (uint32_t e = 0; e < graph.edges().size(); ++e) {
    if (graph.edges()[e].tag != EdgeTag::collective || graph.edges()[e].lag_ns <= 0) continue;
    const ReplayOp& o = op_at(e);
    const int64_t bytes = largest[graph.edges()[e].from];
    if (bytes > 0) seen[{o.kind, o.coll}][bytes].push_back(graph.edges()[e].lag_ns);
  }
  std::map<std::pair<CommKind, CollectiveOp>, TimeNs> out;
  for (auto& [key, by_size] : seen) {
    TimeNs shortest = INT64_MAX;
    for (const auto& [bytes, v] : by_size)
      shortest = std::min(shortest, *std::min_element(v.begin(), v.end()));
    const int64_t small = by_size.begin()->first, large = by_size.rbegin()->first;
    if (large / 2 >= small) {
      const auto t0 = static_cast<double>(median_of(by_size.begin()->second));
      const auto t1 = static_cast<double>(median_of(by_size.rbegin()->second));
      const double intercept =
          t0 - (t1 - t0) * static_cast<double>(small) / static_cast<double>(large - small);
      out[key] =
          static_cast<TimeNs>(std::max(0.0, std::min(intercept, static_cast<double>(shortest))));
    } else {
      out[key] = std::min(kUsualLatencyNs, shortest / 2);
    }
  }
  return out;
}

}  // namespace ws
