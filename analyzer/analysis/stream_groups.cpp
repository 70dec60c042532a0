// Tested by: cross_rank_test.cpp
#include "analysis/stream_groups.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "analysis/median.h"

namespace ws {
namespace {

constexpr size_t kEnoughPairs = 400;

constexpr TimeNs kApart = INT64_MAX;

// Median difference of ends of the operations two ranks were inside together; kApart: they share
// too few.
TimeNs apart(const CommSet& set, const Offsets& offsets, const std::vector<Member>& a,
             const std::vector<Member>& b) {
  const auto record = [&](const Member& m) -> const CommRecord& {
    return set.ranks[m.rank].records[m.record];
  };
  std::vector<TimeNs> differences;
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size() && differences.size() < kEnoughPairs) {
    const CommRecord &x = record(a[i]), &y = record(b[j]);
    const TimeNs x_end = x.end_ns - *offsets[a[i].rank], y_end = y.end_ns - *offsets[b[j].rank];
    const bool together = x.begin_ns - *offsets[a[i].rank] <= y_end &&
                          y.begin_ns - *offsets[b[j].rank] <= x_end && x.op == y.op;
    if (together) {
      differences.push_back(x_end > y_end ? x_end - y_end : y_end - x_end);
      ++i, ++j;
    } else if (x_end <= y_end) {
      ++i;
    } else {
      ++j;
    }
  }
  const size_t looked_at = std::min({a.size(), b.size(), std::max(i, j)});
  if (differences.empty() || differences.size() * 2 < looked_at) return kApart;
  return median_of(differences);
}

}  // namespace

std::vector<std::vector<uint32_t>> groups_on_stream(const CommSet& set, const Offsets& offsets,
                                                    const MemberLists& lists) {
  std::vector<uint32_t> users;
  for (uint32_t r = 0; r < lists.size(); ++r)
    if (!lists[r].empty()) users.push_back(r);
  const size_t n = users.size();
  if (n < 2) return {};
  std::vector<TimeNs> difference(n * n, kApart), nearest(n, kApart);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      const TimeNs d = apart(set, offsets, lists[users[i]], lists[users[j]]);
      difference[i * n + j] = d;
      nearest[i] = std::min(nearest[i], d);
      nearest[j] = std::min(nearest[j], d);
    }
  }
  std::vector<TimeNs> known;
  for (TimeNs d : nearest)
    if (d != kApart) known.push_back(d);
  if (known.empty()) return {};
  const TimeNs close = std::clamp<TimeNs>(3 * std::min(median_of(known), kWidestSpreadNs),
                                          kEndToleranceNs, kWidestSpreadNs);
  std::vector<size_t> root(n);
  std::iota(root.begin(), root.end(), size_t{0});
  const auto find = [&](size_t i) {
    while (root[i] != i) i = root[i] = root[root[i]];
    return i;
  };
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      if (difference[i * n + j] <= close) {
        const size_t a = find(i), b = find(j);
        root[std::max(a, b)] = std::min(a, b);
      }
    }
  }
  std::map<size_t, std::vector<uint32_t>> groups;
  for (size_t i = 0; i < n; ++i) groups[find(i)].push_back(users[i]);
  std::vector<std::vector<uint32_t>> out;
  for (auto& [first, members] : groups)
    if (members.size() > 1) out.push_back(std::move(members));
  return out;
}

}  // namespace ws
