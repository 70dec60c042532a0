#pragma once
// How long steps take while records are taken and while not: what recording costs the job. Begins
// of the watched range come from threads of the job, without a lock; the writer makes rows of them.
// Of the steps outside the window only the last before it and the first behind it are kept.
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>

#include "collector/rows.h"

namespace ws::collector {

class StepClock {
 public:
  static constexpr size_t kKept = 200;      // rows of each kind
  static constexpr uint64_t kSettling = 5;  // steps that are never typical: the first of a process
  static constexpr size_t kBehindWindow = 40;  // enough to compare with

  // A thread of the job.
  void begin(uint64_t nth, int64_t now_ns, bool recorded) noexcept;

  // The writer. Often enough, or begins are overwritten and their steps are not counted.
  void follow();
  void end_warm_up(int64_t from_ns) { steady_from_ns_ = from_ns; }
  void forget();  // what was told were no steps
  bool has_enough() const { return behind_ >= kBehindWindow; }
  template <class Take>
  void take(Take take_row) {
    for (const StepRow& r : bare_) take_row(r);
    for (const StepRow& r : recorded_) take_row(r);
    bare_.clear();
    recorded_.clear();
  }

 private:
  void add(const StepRow& row);
  struct Begin {
    std::atomic<uint64_t> nth{UINT64_MAX};
    std::atomic<int64_t> time_ns{0};
    std::atomic<bool> recorded{false};
  };
  std::array<Begin, 1024> begins_;
  uint64_t next_ = 0;  // to be read
  bool has_last_ = false;
  StepRow last_;
  int64_t steady_from_ns_ = 0;
  size_t behind_ = 0, recorded_count_ = 0;
  std::deque<StepRow> bare_, recorded_;
};

}  // namespace ws::collector
