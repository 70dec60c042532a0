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
  to.matched += from.matched;
  to.matched_transfer_ns += from.matched_transfer_ns;
  to.group_size = std::max(to.group_size, from.group_size);
}

// Traffic of one link per payload, as NCCL's tests count it: an all-reduce moves every byte out and
// back, of n members each keeps its own part (NCCL tests, doc/PERFORMANCE.md).
std::optional<double> bus_gbps(CollectiveOp op, int64_t bytes, const CollectiveRow& row) {
  if (bytes <= 0 || row.matched == 0 || row.matched_transfer_ns <= 0) return std::nullopt;
  const auto n = static_cast<double>(row.group_size);
  double factor = 1;
  switch (op) {
    case CollectiveOp::all_reduce:
      factor = n < 2 ? 0 : 2 * (n - 1) / n;
      break;
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::all_to_all:
      factor = n < 2 ? 0 : (n - 1) / n;
      break;
    case CollectiveOp::unknown:
    case CollectiveOp::barrier:
      factor = 0;
      break;
    default:
      break;
  }
  if (factor <= 0) return std::nullopt;
  return factor * static_cast<double>(bytes) * static_cast<double>(row.matched) /
         static_cast<double>(row.matched_transfer_ns);
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
  std::map<Key, std::map<int32_t, int64_t>> late;  // rank: how many members name it
  std::array<KindSum, kCommRowCount> kinds;
  for_each_device(in.run,
                  [&](const RankAnalysis& rank, const DeviceAnalysis& device, const DeviceMeans&) {
                    for (const CollectiveRow& row : device.collectives) {
                      const Key key{row.group, kind_row(row), row.op, row.bytes};
                      add(merged[key], row);
                      if (row.late_rank >= 0) ++late[key][row.late_rank];
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
    std::optional<int32_t> late_rank;
    int64_t most = 0;
    for (const auto& [rank, named] : late[key])
      if (named > most) most = named, late_rank = rank;
    table.row(std::get<0>(key), kind_name(std::get<1>(key)), name_of(std::get<2>(key)),
              bytes >= 0 ? std::optional(bytes) : std::nullopt, row.count, row.total_ns,
              row.wait_ns, row.transfer_ns, row.unsplit_ns, row.hidden_ns, row.min_ns,
              bus_gbps(std::get<2>(key), bytes, row), late_rank);
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
