// Tested by: step_clock_test.cpp, recorder_test.py
#include "collector/step_clock.h"

namespace ws::collector {

void StepClock::begin(uint64_t nth, int64_t now_ns, bool recorded) noexcept {
  Begin& b = begins_[nth % begins_.size()];
  b.nth.store(UINT64_MAX, std::memory_order_relaxed);  // no reader takes it half written
  b.time_ns.store(now_ns, std::memory_order_release);
  b.recorded.store(recorded, std::memory_order_release);
  b.nth.store(nth, std::memory_order_release);
}

void StepClock::follow() {
  for (;; ++next_) {
    const Begin& b = begins_[next_ % begins_.size()];
    const uint64_t nth = b.nth.load(std::memory_order_acquire);
    if (nth != next_) {
      if (nth == UINT64_MAX || nth < next_) return;
      has_last_ = false;  // overwritten: too many steps since the last time
      continue;
    }
    StepRow now;
    now.begin_ns = b.time_ns.load(std::memory_order_acquire);
    now.recorded = b.recorded.load(std::memory_order_acquire);
    if (b.nth.load(std::memory_order_relaxed) != nth) continue;
    if (has_last_) {
      last_.end_ns = now.begin_ns;
      // A step in which recording began or ended is of neither kind.
      if (last_.recorded == now.recorded && last_.end_ns > last_.begin_ns) add(last_);
    }
    last_ = now;
    has_last_ = next_ + 1 > kSettling;
  }
}

void StepClock::forget() {
  follow();
  bare_.clear();
  recorded_.clear();
  has_last_ = false;
  behind_ = recorded_count_ = 0;
}

void StepClock::add(const StepRow& row) {
  if (row.recorded) {
    if (row.begin_ns < steady_from_ns_ || recorded_count_ == kKept) return;
    ++recorded_count_;
    recorded_.push_back(row);
    return;
  }
  if (recorded_count_ > 0) {
    if (behind_ < kBehindWindow) ++behind_, bare_.push_back(row);
    return;
  }
  bare_.push_back(row);
  if (bare_.size() > kKept) bare_.pop_front();
}

}  // namespace ws::collector
