// Tested by: across_ranks_test.cpp
#include "analysis/late_causes.h"

#include <algorithm>

#include "analysis/median.h"

namespace ws {
namespace {

constexpr int kDeepest = 8;
constexpr size_t kKinds = static_cast<size_t>(CommKind::other) + 1;
// Categories, then waiting and transfer by kind.
constexpr size_t kColumns = kLateCategoryCount + 2 * kKinds;
using Row = std::array<TimeNs, kColumns>;

constexpr size_t wait_column(CommKind k) { return kLateCategoryCount + static_cast<size_t>(k); }
constexpr size_t transfer_column(CommKind k) { return wait_column(k) + kKinds; }

const DeviceComms& comms_of(const CrossRank& cross, const std::vector<RankAnalysis>& ranks,
                            uint32_t participant) {
  const Participant at = cross.participants[participant];
  return ranks[at.rank_row].devices[at.device_row].comms;
}

// Exposed parts since the last meeting: f(part, waiting, transfer); unsplit time counts as neither.
template <class F>
void for_each_exposed(const DeviceComms& comms, const std::vector<TimeNs>& arrivals, Interval span,
                      F f) {
  auto at = std::partition_point(
      comms.exposed.begin(), comms.exposed.end(),
      [&](const ExposedPart& part) { return part.span.end_ns <= span.begin_ns; });
  for (; at != comms.exposed.end() && at->span.begin_ns < span.end_ns; ++at) {
    const TimeNs arrival = arrivals[at->record];
    if (arrival == kNotMatched) continue;
    const TimeNs begin = std::max(at->span.begin_ns, span.begin_ns);
    const TimeNs end = std::min(at->span.end_ns, span.end_ns);
    const TimeNs all_there = std::clamp(arrival, begin, end);
    f(*at, all_there - begin, end - all_there);
  }
}

Row row_of(const CrossRank& cross, const std::vector<RankAnalysis>& ranks, const Member& m) {
  const DeviceComms& comms = comms_of(cross, ranks, m.rank);
  const BeforeRecord& before = comms.before[m.record];
  Row row{};
  for (size_t c = 0; c < kLateCategoryCount; ++c) row[c] = before.ns[c];
  for_each_exposed(comms, cross.arrivals[m.rank],
                   {before.from_ns, comms.records[m.record].begin_ns},
                   [&](const ExposedPart& part, TimeNs wait, TimeNs transfer) {
                     const CommKind kind = comms.records[part.record].kind;
                     row[wait_column(kind)] += wait;
                     row[transfer_column(kind)] += transfer;
                   });
  return row;
}

// The instance of this kind that the rank waited in longest since the last meeting.
uint32_t longest_wait(const CrossRank& cross, const std::vector<RankAnalysis>& ranks,
                      const Member& m, CommKind kind) {
  const DeviceComms& comms = comms_of(cross, ranks, m.rank);
  uint32_t out = kNoRow;
  TimeNs longest = 0;
  for_each_exposed(comms, cross.arrivals[m.rank],
                   {comms.before[m.record].from_ns, comms.records[m.record].begin_ns},
                   [&](const ExposedPart& part, TimeNs wait, TimeNs) {
                     if (comms.records[part.record].kind != kind || wait <= longest) return;
                     longest = wait;
                     out = cross.instance_of[m.rank][part.record];
                   });
  return out;
}

LateRoot root_below(const CrossRank& cross, const std::vector<RankAnalysis>& ranks,
                    uint32_t instance, int depth) {
  const std::vector<Arrival> order = by_arrival(cross, cross.clocks.instances[instance]);
  const Member late = order.front().member;
  LateRoot out{late.rank, LateCategory::unknown, std::nullopt};
  if (!comms_of(cross, ranks, late.rank).before[late.record].known) return out;
  const Row own = row_of(cross, ranks, late);
  std::vector<Row> others;
  for (size_t i = 1; i < order.size(); ++i) {
    const Member& m = order[i].member;
    if (comms_of(cross, ranks, m.rank).before[m.record].known)
      others.push_back(row_of(cross, ranks, m));
  }
  size_t most = kColumns;
  TimeNs largest = 0;
  for (size_t c = 0; c < kColumns && !others.empty(); ++c) {
    std::vector<TimeNs> values;
    values.reserve(others.size());
    for (const Row& row : others) values.push_back(row[c]);
    const TimeNs excess = own[c] - median_of(values);
    if (excess <= largest) continue;
    largest = excess;
    most = c;
  }
  if (most == kColumns) return out;
  if (most < kLateCategoryCount) {
    out.category = static_cast<LateCategory>(most);
    return out;
  }
  const bool waited = most < kLateCategoryCount + kKinds;
  const auto kind = static_cast<CommKind>((most - kLateCategoryCount) % kKinds);
  if (!waited) {
    out.transfer = kind;
    return out;
  }
  const uint32_t earlier = longest_wait(cross, ranks, late, kind);
  if (depth >= kDeepest || earlier == kNoRow || earlier == instance) return out;
  if (by_arrival(cross, cross.clocks.instances[earlier]).size() < 2) return out;
  return root_below(cross, ranks, earlier, depth + 1);
}

}  // namespace

std::vector<Arrival> by_arrival(const CrossRank& cross, const Instance& instance) {
  std::vector<Arrival> out;
  for (const Member& m : instance.members) {
    const CommRecord& record = cross.set.ranks[m.rank].records[m.record];
    if (!everybody_meets(record) || !cross.clocks.offsets[m.rank] ||
        cross.arrivals[m.rank][m.record] == kNotMatched)
      return {};
    out.push_back({m, record.begin_ns - *cross.clocks.offsets[m.rank]});
  }
  std::stable_sort(out.begin(), out.end(), [](const Arrival& a, const Arrival& b) {
    return a.begin_ns > b.begin_ns;  // ties: lowest rank last, as it comes first in members
  });
  return out;
}

LateRoot root_of(const CrossRank& cross, const std::vector<RankAnalysis>& ranks,
                 uint32_t instance) {
  return root_below(cross, ranks, instance, 0);
}

}  // namespace ws
