#include "analysis/busy_time.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace ws {
namespace {

constexpr size_t kRecomputeQueue = 4;
static_assert(static_cast<size_t>(OpClass::membound) + 1 == kRecomputeQueue);

bool takes_time(const GpuOps& ops, uint32_t op) { return ops.end_ns[op] > ops.begin_ns[op]; }

// Communication before copies, then the order of CommKind.
uint32_t tie_of(const OpLabels& labels, uint32_t op) {
  return is_comm(labels.cls[op]) ? static_cast<uint32_t>(labels.kind[op]) : 0x100u;
}

// Communication and copies by (end, begin, row).
std::vector<uint32_t> by_end(const Trace& trace, const OpLabels& labels, DeviceId device) {
  std::vector<uint32_t> rows;
  const GpuOps& ops = trace.ops;
  for (const uint32_t op : trace.ops_by_device[row(device)]) {
    if (!is_compute(labels.cls[op]) && takes_time(ops, op)) rows.push_back(op);
  }
  std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
    return ops.end_ns[a] != ops.end_ns[b] ? ops.end_ns[a] < ops.end_ns[b] : a < b;
  });
  return rows;
}

}  // namespace

// For every stretch without compute, backwards from the compute op that ends it. Rows are in order
// of begin, so the first row of equal ends is the one that began first.
std::vector<Blocker> find_blockers(const Trace& trace, const OpLabels& labels, DeviceId device,
                                   TimeNs launch_latency_ns) {
  const GpuOps& ops = trace.ops;
  const std::vector<uint32_t> others = by_end(trace, labels, device);
  std::vector<Blocker> out;
  if (others.empty()) return out;
  TimeNs stretch_begin = INT64_MIN;  // end of the compute before it
  size_t ended = 0;                  // others that ended before the compute op begins
  for (const uint32_t op : trace.ops_by_device[row(device)]) {
    if (!is_compute(labels.cls[op]) || !takes_time(ops, op)) continue;
    TimeNs released = ops.begin_ns[op];
    if (released > stretch_begin) {
      while (ended < others.size() && ops.end_ns[others[ended]] <= released) ++ended;
      const auto first = static_cast<ptrdiff_t>(out.size());
      for (size_t k = ended; k > 0 && released > stretch_begin;) {
        const TimeNs end = ops.end_ns[others[k - 1]];
        if (end > released) {
          --k;
          continue;
        }
        if (end <= released - launch_latency_ns || end <= stretch_begin) break;
        while (k > 1 && ops.end_ns[others[k - 2]] == end) --k;
        const uint32_t blocker = others[--k];
        released = std::max(ops.begin_ns[blocker], stretch_begin);
        out.push_back({{released, end}, blocker});
      }
      std::reverse(out.begin() + first, out.end());
    }
    stretch_begin = std::max(stretch_begin, ops.end_ns[op]);
  }
  return out;
}

BusyTime::BusyTime(const Trace& trace, const OpLabels& labels, DeviceId device,
                   TimeNs launch_latency_ns)
    : ops_(trace.ops),
      calls_(trace.calls),
      labels_(labels),
      blockers_(find_blockers(trace, labels, device, launch_latency_ns)) {
  rows_ = trace.ops_by_device[row(device)];
  const auto timed = [&](uint32_t op) { return takes_time(ops_, op); };
  if (!std::all_of(rows_.begin(), rows_.end(), timed)) {
    std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(timed_), timed);
    rows_ = timed_;
  }
  if (!rows_.empty()) now_ns_ = ops_.begin_ns[rows_.front()];
}

void BusyTime::admit() {
  for (; next_row_ < rows_.size(); ++next_row_) {
    const uint32_t op = rows_[next_row_];
    if (ops_.begin_ns[op] > now_ns_) break;
    if (is_compute(labels_.cls[op])) {
      const bool again = (labels_.flags[op] & kFlagRecompute) != 0;
      compute_[again ? kRecomputeQueue : static_cast<size_t>(labels_.cls[op])].rows.push_back(op);
    } else {
      waiting_.push_back({ops_.end_ns[op], tie_of(labels_, op), op});
      std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
    }
    const bool later =
        latest_ == kNoRow || ops_.end_ns[op] > ops_.end_ns[latest_] ||
        (ops_.end_ns[op] == ops_.end_ns[latest_] && ops_.begin_ns[op] > ops_.begin_ns[latest_]);
    if (later) latest_ = op;
  }
}

// The op charged at now, and until when if nothing begins before; kNoRow: nothing is active.
uint32_t BusyTime::charged(TimeNs& until) {
  for (Queue& q : compute_) {
    while (q.front < q.rows.size() && ops_.end_ns[q.rows[q.front]] <= now_ns_) ++q.front;
    if (q.front < q.rows.size()) {
      until = ops_.end_ns[q.rows[q.front]];
      return q.rows[q.front];
    }
    q.rows.clear();
    q.front = 0;
  }
  while (next_blocker_ < blockers_.size() && blockers_[next_blocker_].span.end_ns <= now_ns_)
    ++next_blocker_;
  if (next_blocker_ < blockers_.size() && blockers_[next_blocker_].span.begin_ns <= now_ns_) {
    until = blockers_[next_blocker_].span.end_ns;
    return blockers_[next_blocker_].op;
  }
  while (!waiting_.empty() && waiting_.front().end_ns <= now_ns_) {
    std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>());
    waiting_.pop_back();
  }
  if (waiting_.empty()) return kNoRow;
  until = waiting_.front().end_ns;
  return waiting_.front().op;
}

uint32_t BusyTime::earliest_launched(size_t position) const {
  uint32_t best = kNoRow;
  for (size_t i = position; i < rows_.size(); ++i) {
    const uint32_t op = rows_[i], launch = ops_.launch[op];
    if (ops_.begin_ns[op] != ops_.begin_ns[rows_[position]]) break;
    if (best == kNoRow) {
      best = op;
    } else if (launch != kNoRow) {
      const uint32_t other = ops_.launch[best];
      if (other == kNoRow || calls_.begin_ns[launch] < calls_.begin_ns[other]) best = op;
    }
  }
  return best;
}

bool BusyTime::next(Stretch& out) {
  admit();
  TimeNs until = 0;
  uint32_t op = charged(until);
  out = {{now_ns_, now_ns_}, op, kNoRow, kNoRow};
  const auto next_begin = [&] {
    return next_row_ < rows_.size() ? ops_.begin_ns[rows_[next_row_]] : INT64_MAX;
  };
  if (op == kNoRow) {
    if (next_row_ == rows_.size()) return false;
    out.before = latest_;
    out.after = earliest_launched(next_row_);
    now_ns_ = out.span.end_ns = next_begin();
    return true;
  }
  while (op == out.op) {
    now_ns_ = std::min(until, next_begin());
    admit();
    op = charged(until);
  }
  out.span.end_ns = now_ns_;
  return true;
}

}  // namespace ws
