// Tested by: write_facts_test.cpp
#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/counted_steps.h"
#include "analysis/phrases.h"
#include "facts/fact_writers.h"

namespace ws {
namespace {

using Key = std::tuple<std::string, size_t, CollectiveOp, int64_t>;  // group, kind row, op, bytes

TimeNs exposed(const CollectiveRow& row) { return row.wait_ns + row.transfer_ns + row.unsplit_ns; }

void add(CollectiveRow& to, const CollectiveRow& from) {
  if (from.count > 0) to.min_ns = to.count == 0 ? from.min_ns : std::min(to.min_ns, from.min_ns);
  to.count += from.count;
  to.total_ns += from.total_ns;
  to.wait_ns += from.wait_ns;
  to.transfer_ns += from.transfer_ns;
  to.unsplit_ns += from.unsplit_ns;
  to.hidden_ns += from.hidden_ns;
}

size_t kind_row(const CollectiveRow& row) {
  return row.peer_copy ? kCommRowCount - 1 : static_cast<size_t>(row.kind);
}
std::string_view kind_name(size_t row) {
  return row + 1 == kCommRowCount ? "p2p" : name_of(static_cast<CommKind>(row));
}

// First of the kind's three leaves.
Leaf first_leaf(size_t row) {
  const bool peer = row + 1 == kCommRowCount;
  return comm_leaf(peer ? OpClass::p2p : OpClass::comm,
                   peer ? CommKind::other : static_cast<CommKind>(row), CommPart::wait);
}

struct KindSum {
  int64_t count = 0;
  TimeNs total_ns = 0;  // union, per step and device, summed over devices
  std::map<CollectiveOp, TimeNs> exposed_by_op;
  bool guessed = false;
};

}  // namespace

Result<void> write_collectives(const Database& db, const FactInput& in) {
  std::map<Key, CollectiveRow> merged;
  std::array<KindSum, kCommRowCount> kinds;
  for_each_device(in.run,
                  [&](const RankAnalysis& rank, const DeviceAnalysis& device, const DeviceMeans&) {
                    for (const CollectiveRow& row : device.collectives) {
                      add(merged[{row.group, kind_row(row), row.op, row.bytes}], row);
                      KindSum& kind = kinds[kind_row(row)];
                      kind.count += row.count;
                      kind.exposed_by_op[row.op] += exposed(row);
                    }
                    for (size_t k = 0; k < kCommRowCount; ++k)
                      kinds[k].total_ns += device.comm_by_kind[k].total_ns;
                    for (const Communicator& c : rank.communicators)
                      if (c.guessed) kinds[static_cast<size_t>(c.kind)].guessed = true;
                  });
  std::vector<std::pair<Key, CollectiveRow>> rows(merged.begin(), merged.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::make_pair(exposed(a.second), a.second.total_ns) >
           std::make_pair(exposed(b.second), b.second.total_ns);
  });
  FactTable table(db, "fact_collective"), comm(db, "fact_comm");
  for (const auto& [key, row] : rows) {
    const int64_t bytes = std::get<3>(key);
    constexpr std::optional<double> kNotSplit;
    constexpr std::optional<int64_t> kNotMatched;
    table.row(std::get<0>(key), kind_name(std::get<1>(key)), name_of(std::get<2>(key)),
              bytes >= 0 ? std::optional(bytes) : std::nullopt, row.count, row.total_ns,
              row.wait_ns, row.transfer_ns, row.unsplit_ns, row.hidden_ns, row.min_ns, kNotSplit,
              kNotMatched);
  }
  const TimeNs step = in.run.means.step_ns();
  const auto devices = std::max<int64_t>(1, static_cast<int64_t>(in.run.means.devices.size()));
  for (size_t k = 0; k < kCommRowCount; ++k) {
    const auto first = static_cast<size_t>(first_leaf(k));
    const std::array<TimeNs, kLeafCount>& mean = in.run.means.mean.ns;
    const TimeNs charged = mean[first] + mean[first + 1] + mean[first + 2];
    const TimeNs total = std::max(charged, rounded(kinds[k].total_ns, devices));
    std::optional<std::string_view> main_op;
    TimeNs most = -1;
    for (const auto& [op, ns] : kinds[k].exposed_by_op) {
      if (ns <= most) continue;
      most = ns;
      main_op = name_of(op);
    }
    comm.row(
        kind_name(k), main_op, ratio(kinds[k].count, std::max<int64_t>(1, in.run.means.counted)),
        ratio(total, step), ratio(charged, step), ratio(mean[first], step),
        ratio(mean[first + 1], step), ratio(mean[first + 2], step), ratio(total - charged, step),
        total > 0 ? std::optional(ratio(total - charged, total)) : std::nullopt, kinds[k].guessed);
  }
  if (auto ok = table.result(); !ok) return ok;
  return comm.result();
}

}  // namespace ws
