#pragma once
// Who is charged for each instant of a device's time (ALGORITHMS 3.1), as a walk over stretches.
//
// Compute before everything else, by class. Without compute: the blocker where it is active (the
// communication or copy that the next compute op waited for, and what that one waited for), else
// the op that ends first. Where nothing runs, the gap with the ops around it.
// One sorted pass; the active communication and copies sit in a heap, compute ops in one queue per
// class, and ops that have ended are dropped when they come to the front.
// Tested by: partition_test.cpp (scenarios), partition_property_test.cpp, exhaustive_test.cpp
#include <array>
#include <span>
#include <vector>

#include "analysis/labels.h"
#include "model/trace.h"

namespace ws {

// A stretch in which `op` is charged, or a gap when op is kNoRow.
struct Stretch {
  Interval span;
  uint32_t op = kNoRow;
  uint32_t before = kNoRow;  // gap: of the ops that end where it begins, the one that began last
  uint32_t after = kNoRow;   // gap: of the ops that begin where it ends, the earliest launched
};

// The op that released compute on [span), or released the op that did.
struct Blocker {
  Interval span;
  uint32_t op = kNoRow;
};
// Disjoint, in time order.
std::vector<Blocker> find_blockers(const Trace& trace, const OpLabels& labels, DeviceId device,
                                   TimeNs launch_latency_ns);

class BusyTime {
 public:
  BusyTime(const Trace& trace, const OpLabels& labels, DeviceId device, TimeNs launch_latency_ns);
  BusyTime(const BusyTime&) = delete;
  BusyTime& operator=(const BusyTime&) = delete;

  // Stretches in time order from the first op's begin to the last op's end, without holes.
  bool next(Stretch& out);
  // What is active last; kNoRow before the first stretch.
  uint32_t last_op() const { return latest_; }
  // First op that takes time, by launch among those that begin together; kNoRow: none.
  uint32_t first_op() const { return earliest_launched(0); }

 private:
  struct Queue {  // compute ops of one class in order of begin
    std::vector<uint32_t> rows;
    size_t front = 0;
  };
  struct Waiting {  // communication or copy; order: ends first, then the ties of ALGORITHMS 3.1
    TimeNs end_ns;
    uint32_t tie, op;
    friend bool operator>(const Waiting& a, const Waiting& b) {
      if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
      return a.tie != b.tie ? a.tie > b.tie : a.op > b.op;
    }
  };
  void admit();
  uint32_t charged(TimeNs& until);
  uint32_t earliest_launched(size_t position) const;

  const GpuOps& ops_;
  const ApiCalls& calls_;
  const OpLabels& labels_;
  std::vector<uint32_t> timed_;     // the device's rows without those that take no time
  std::span<const uint32_t> rows_;  // all of them, or timed_
  std::vector<Blocker> blockers_;
  size_t next_row_ = 0, next_blocker_ = 0;
  TimeNs now_ns_ = 0;
  uint32_t latest_ = kNoRow;      // ends last; of several, began last
  std::array<Queue, 5> compute_;  // by OpClass, recompute last
  std::vector<Waiting> waiting_;  // heap
};

}  // namespace ws
