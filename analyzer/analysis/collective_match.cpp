// Lists of a communicator are merged, not zipped: take the heads of all members' lists; the head
// that ends first and all heads that had started by then are one instance, the others wait for the
// next round. A communicator that only a stream number names may be several groups at once: ranks
// whose collectives end together belong to one group (stream_groups.h); where that can not be told,
// as for sends and receives, the heads must end within kEndToleranceNs of each other.
// Tested by: cross_rank_test.cpp
#include "analysis/collective_match.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "analysis/stream_groups.h"

namespace ws {
namespace {

using Lists = MemberLists;

// Records of each communicator that carry no sequence number, by rank, in order of enqueue.
std::map<uint32_t, Lists> unnumbered(const CommSet& set, const Offsets* offsets) {
  std::map<uint32_t, Lists> out;
  for (uint32_t r = 0; r < set.ranks.size(); ++r) {
    if (offsets != nullptr && !(*offsets)[r]) continue;
    const auto& records = set.ranks[r].records;
    for (uint32_t i = 0; i < records.size(); ++i) {
      if (records[i].sequence >= 0) continue;
      Lists& lists = out[records[i].communicator];
      lists.resize(set.ranks.size());
      lists[r].push_back({r, i});
    }
  }
  for (auto& [communicator, lists] : out) {
    for (uint32_t r = 0; r < lists.size(); ++r) {
      const auto& records = set.ranks[r].records;
      std::sort(lists[r].begin(), lists[r].end(), [&](const Member& a, const Member& b) {
        const CommRecord& x = records[a.record];
        const CommRecord& y = records[b.record];
        return std::tie(x.order_ns, x.begin_ns, a.record) <
               std::tie(y.order_ns, y.begin_ns, b.record);
      });
    }
  }
  return out;
}

void match_numbered(const CommSet& set, const Offsets* offsets, std::vector<Instance>& out) {
  std::map<std::pair<uint32_t, int64_t>, Instance> by_sequence;
  for (uint32_t r = 0; r < set.ranks.size(); ++r) {
    if (offsets != nullptr && !(*offsets)[r]) continue;
    const auto& records = set.ranks[r].records;
    for (uint32_t i = 0; i < records.size(); ++i) {
      if (records[i].sequence < 0) continue;
      Instance& x = by_sequence[{records[i].communicator, records[i].sequence}];
      x.communicator = records[i].communicator;
      if (!x.members.empty() && x.members.back().rank == r) {
        x.members.back().record = i;  // a number used twice by one rank: the later record counts
      } else {
        x.members.push_back({r, i});
      }
    }
  }
  for (auto& [key, instance] : by_sequence) out.push_back(std::move(instance));
}

// n-th send of a pair and size with the n-th receive: a buffered send may end before its receive
// starts, so presence is not asked for.
void match_pairs(const CommSet& set, Lists& lists, uint32_t communicator,
                 std::vector<Instance>& out) {
  using Key = std::tuple<int32_t, int32_t, int64_t>;  // sender, receiver, bytes
  std::map<Key, std::pair<std::vector<Member>, std::vector<Member>>> pairs;
  for (auto& list : lists) {
    const auto named = [&](const Member& m) {
      const CommRecord& x = set.ranks[m.rank].records[m.record];
      return x.peer >= 0 && (x.op == CollectiveOp::send || x.op == CollectiveOp::recv);
    };
    for (const Member& m : list) {
      if (!named(m)) continue;
      const CommRecord& x = set.ranks[m.rank].records[m.record];
      const int32_t self = set.ranks[m.rank].rank;
      if (x.op == CollectiveOp::send) {
        pairs[{self, x.peer, x.bytes}].first.push_back(m);
      } else {
        pairs[{x.peer, self, x.bytes}].second.push_back(m);
      }
    }
    list.erase(std::remove_if(list.begin(), list.end(), named), list.end());
  }
  for (const auto& [key, both] : pairs) {
    const auto& [sends, receives] = both;
    for (size_t i = 0; i < std::max(sends.size(), receives.size()); ++i) {
      Instance x;
      x.communicator = communicator;
      if (i < sends.size()) x.members.push_back(sends[i]);
      if (i < receives.size()) x.members.push_back(receives[i]);
      std::sort(x.members.begin(), x.members.end(),
                [](const Member& a, const Member& b) { return a.rank < b.rank; });
      out.push_back(std::move(x));
    }
  }
}

// named: the lists are of one group. expected: members of it, 0: not known.
void merge_by_presence(const CommSet& set, const Offsets& offsets, const Lists& lists,
                       uint32_t communicator, bool named, uint32_t expected,
                       std::vector<Instance>& out) {
  std::vector<size_t> next(lists.size(), 0);
  std::vector<uint32_t> open;  // ranks with records left
  for (uint32_t r = 0; r < lists.size(); ++r) {
    if (!lists[r].empty()) open.push_back(r);
  }
  const auto head = [&](uint32_t r) -> const CommRecord& {
    return set.ranks[r].records[lists[r][next[r]].record];
  };
  while (!open.empty()) {
    uint32_t first = open.front();  // the first to leave
    TimeNs leaves = head(first).end_ns - *offsets[first];
    for (uint32_t r : open) {
      const TimeNs end = head(r).end_ns - *offsets[r];
      if (end < leaves) first = r, leaves = end;
    }
    Instance x;
    x.communicator = communicator;
    x.expected = expected;
    for (uint32_t r : open) {
      const bool inside = head(r).begin_ns - *offsets[r] <= leaves;
      const bool together = named || head(r).end_ns - *offsets[r] <= leaves + kEndToleranceNs;
      if (inside && together) x.members.push_back(lists[r][next[r]]);
    }
    for (const Member& m : x.members) ++next[m.rank];
    open.erase(std::remove_if(open.begin(), open.end(),
                              [&](uint32_t r) { return next[r] == lists[r].size(); }),
               open.end());
    out.push_back(std::move(x));
  }
}

// A stream number: groups are found first, what is left is joined by common ends alone.
void merge_stream(const CommSet& set, const Offsets& offsets, Lists& lists, uint32_t communicator,
                  std::vector<Instance>& out) {
  Lists meeting(lists.size());
  for (size_t r = 0; r < lists.size(); ++r) {
    const auto meets = [&](const Member& m) {
      return everybody_meets(set.ranks[m.rank].records[m.record]);
    };
    std::copy_if(lists[r].begin(), lists[r].end(), std::back_inserter(meeting[r]), meets);
    lists[r].erase(std::remove_if(lists[r].begin(), lists[r].end(), meets), lists[r].end());
  }
  for (const std::vector<uint32_t>& group : groups_on_stream(set, offsets, meeting)) {
    Lists own(lists.size());
    for (uint32_t r : group) own[r].swap(meeting[r]);
    merge_by_presence(set, offsets, own, communicator, true, static_cast<uint32_t>(group.size()),
                      out);
  }
  for (const Lists* rest : {&meeting, &lists})
    merge_by_presence(set, offsets, *rest, communicator, false, 0, out);
}

}  // namespace

std::vector<Instance> match_by_position(const CommSet& set) {
  std::vector<Instance> out;
  match_numbered(set, nullptr, out);
  for (const auto& [communicator, lists] : unnumbered(set, nullptr)) {
    size_t longest = 0;
    for (const auto& list : lists) longest = std::max(longest, list.size());
    for (size_t i = 0; i < longest; ++i) {
      Instance x;
      x.communicator = communicator;
      for (const auto& list : lists) {
        if (i < list.size()) x.members.push_back(list[i]);
      }
      out.push_back(std::move(x));
    }
  }
  return out;
}

std::vector<Instance> match_by_presence(const CommSet& set, const Offsets& offsets) {
  std::vector<Instance> out;
  match_numbered(set, &offsets, out);
  for (auto& [communicator, lists] : unnumbered(set, &offsets)) {
    match_pairs(set, lists, communicator, out);
    if (set.communicators[communicator].named)
      merge_by_presence(set, offsets, lists, communicator, true, 0, out);
    else
      merge_stream(set, offsets, lists, communicator, out);
  }
  return out;
}

bool is_consistent(const CommSet& set, const Instance& instance) {
  const auto type = [&](const Member& m) {
    const CollectiveOp op = set.ranks[m.rank].records[m.record].op;
    return is_point_to_point(op) ? CollectiveOp::send_recv : op;
  };
  for (const Member& m : instance.members) {
    if (type(m) != type(instance.members.front())) return false;
  }
  return true;
}

}  // namespace ws
