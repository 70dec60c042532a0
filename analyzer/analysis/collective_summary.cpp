// Tested by: summaries_test.cpp
#include "analysis/collective_summary.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/compute_cover.h"
#include "analysis/counted_steps.h"
#include "base/text.h"

namespace ws {
namespace {

using Key = std::tuple<uint32_t, CommKind, CollectiveOp, int64_t>;

struct Table {
  std::map<Key, size_t> row_of;
  std::vector<std::pair<Key, CollectiveRow>> rows;

  CollectiveRow& at(const Key& key) {
    const auto [it, fresh] = row_of.try_emplace(key, rows.size());
    if (fresh) rows.push_back({key, {}});
    return rows[it->second].second;
  }
};

int64_t payload_bytes(const Labels& labels, uint32_t op) {
  const auto at =
      std::lower_bound(labels.comm_ops.begin(), labels.comm_ops.end(), op,
                       [](const CommOp& row, uint32_t wanted) { return row.op < wanted; });
  return at != labels.comm_ops.end() && at->op == op ? at->bytes : -1;
}

Key key_of(const Labels& labels, uint32_t op) {
  return {labels.ops.communicator[op], labels.ops.kind[op], labels.ops.coll[op],
          payload_bytes(labels, op)};
}

TimeNs exposed(const CollectiveRow& row) { return row.wait_ns + row.transfer_ns + row.unsplit_ns; }

void add(CollectiveRow& to, const CollectiveRow& from) {
  to.min_ns = to.count == 0     ? from.min_ns
              : from.count == 0 ? to.min_ns
                                : std::min(to.min_ns, from.min_ns);
  to.count += from.count;
  to.total_ns += from.total_ns;
  to.wait_ns += from.wait_ns;
  to.transfer_ns += from.transfer_ns;
  to.unsplit_ns += from.unsplit_ns;
  to.hidden_ns += from.hidden_ns;
}

// All-to-alls with a payload of their own each time would make a row each.
void fold_payloads(Table& table) {
  if (table.rows.size() <= kCollectiveRows) return;
  Table folded;
  for (const auto& [key, row] : table.rows)
    add(folded.at({std::get<0>(key), std::get<1>(key), std::get<2>(key), -1}), row);
  table = std::move(folded);
}

struct Finished {
  std::vector<CollectiveRow> rows;
  std::map<Key, uint32_t> row_of;
};

Finished finish(const Labels& labels, Table& table) {
  fold_payloads(table);
  for (auto& [key, row] : table.rows) {
    const uint32_t communicator = std::get<0>(key);
    row.group = communicator == kNoRow
                    ? "device copies"
                    : shorten(one_line(to_utf8(labels.communicators[communicator].name)), 120);
    row.kind = std::get<1>(key);
    row.op = std::get<2>(key);
    row.bytes = std::get<3>(key);
    row.peer_copy = communicator == kNoRow;
  }
  std::sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
    const auto order = [](const CollectiveRow& r) {
      return std::make_tuple(-exposed(r), -r.total_ns, std::string_view(r.group), r.kind, r.op,
                             r.bytes);
    };
    return order(a.second) < order(b.second);
  });
  Finished out;
  for (auto& [key, row] : table.rows) {
    out.row_of[key] = static_cast<uint32_t>(out.rows.size());
    out.rows.push_back(std::move(row));
  }
  return out;
}

// Which row every collective of the device is in; payloads may have been put together.
std::vector<std::pair<uint32_t, uint32_t>> rows_of_ops(const Trace& trace, const Labels& labels,
                                                       DeviceId device, const Finished& finished) {
  std::vector<std::pair<uint32_t, uint32_t>> out;
  for (const CommOp& c : labels.comm_ops) {
    if (trace.device_of(c.op) != device) continue;
    Key key{labels.ops.communicator[c.op], labels.ops.kind[c.op], labels.ops.coll[c.op], c.bytes};
    auto at = finished.row_of.find(key);
    if (at == finished.row_of.end()) {
      std::get<3>(key) = -1;
      at = finished.row_of.find(key);
    }
    if (at != finished.row_of.end()) out.emplace_back(c.op, at->second);
  }
  return out;
}

// Begins and ends of all communication and copies.
std::vector<TimeNs> ends_of(const Trace& trace, const Labels& labels, DeviceId device) {
  std::vector<TimeNs> out;
  for_each_op(trace, device, [&](uint32_t op) {
    if (!is_comm(labels.ops.cls[op]) && !is_copy(labels.ops.cls[op])) return;
    out.push_back(trace.ops.begin_ns[op]);
    out.push_back(trace.ops.end_ns[op]);
  });
  return out;
}

// Union of the spans seen so far, in order of begin, and how much of it compute hides.
struct RunningUnion {
  TimeNs end_ns = INT64_MIN;
  Overlap sum;

  void add(Interval span, const ComputeCover& cover, std::span<const Interval> windows) {
    span.begin_ns = std::max(span.begin_ns, end_ns);
    if (span.length() <= 0) return;
    end_ns = span.end_ns;
    for_each_clip(windows, span, [&](size_t, Interval part) { sum.total_ns += part.length(); });
    sum.hidden_ns += cover.covered(span);
  }
};

void charge(CollectiveRow& row, Leaf leaf, TimeNs ns) {
  // The three parts of each kind stand together: wait, transfer, unsplit.
  const size_t part = (static_cast<size_t>(leaf) - static_cast<size_t>(Leaf::comm_tp_wait)) % 3;
  (part == 0 ? row.wait_ns : part == 1 ? row.transfer_ns : row.unsplit_ns) += ns;
}

}  // namespace

CommunicationSummary summarize_communication(const Trace& trace, const Labels& labels,
                                             DeviceId device, const Timeline& timeline,
                                             std::span<const Interval> windows) {
  CommunicationSummary out;
  const ComputeCover cover(timeline, windows, ends_of(trace, labels, device));
  Table table;
  RunningUnion comm, copies;
  std::array<RunningUnion, kCommRowCount> kinds;
  WindowWalk walk(windows);
  for_each_op(trace, device, [&](uint32_t op) {
    const OpClass cls = labels.ops.cls[op];
    const Interval span{trace.ops.begin_ns[op], trace.ops.end_ns[op]};
    if (is_copy(cls)) copies.add(span, cover, windows);
    if (!is_comm(cls)) return;
    comm.add(span, cover, windows);
    kinds[comm_row(cls, labels.ops.kind[op])].add(span, cover, windows);
    TimeNs inside = 0;
    for_each_clip(windows, span, [&](size_t, Interval part) { inside += part.length(); });
    if (inside == 0) return;
    CollectiveRow& row = table.at(key_of(labels, op));
    row.hidden_ns += cover.covered(span);
    if (walk.at(span.begin_ns) == kNoWindow) return;
    row.min_ns = row.count == 0 ? span.length() : std::min(row.min_ns, span.length());
    ++row.count;
    row.total_ns += span.length();
  });
  for (const BusyPart& part : timeline.busy) {
    if (is_comm(part.leaf)) {
      for_each_clip(windows, part.span, [&](size_t, Interval clip) {
        charge(table.at(key_of(labels, part.op)), part.leaf, clip.length());
      });
    }
  }
  Finished finished = finish(labels, table);
  out.row_of_op = rows_of_ops(trace, labels, device, finished);
  out.rows = std::move(finished.rows);
  out.comm = comm.sum;
  out.copies = copies.sum;
  for (size_t k = 0; k < kinds.size(); ++k) out.by_kind[k] = kinds[k].sum;
  return out;
}

}  // namespace ws
