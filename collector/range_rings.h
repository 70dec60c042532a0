#pragma once
// Finished NVTX ranges on their way from the threads of the job to the writer: one ring per thread,
// written by that thread alone, read by the writer alone. A full ring drops the newest range and
// counts it; since only whole ranges travel, a drop never mispairs a push with another pop.
#include <atomic>
#include <cstdint>
#include <memory>

#include "collector/rows.h"

namespace ws::collector {

struct RangeEvent {
  static constexpr size_t kMostPayload = 32;
  int64_t begin_ns = 0, end_ns = 0;
  uint32_t name = 0, domain = 0;
  RangeKind kind = RangeKind::push_pop;
  bool of_another_thread = false;
  uint8_t payload_bytes = 0;
  uint64_t schema = 0;
  uint8_t payload[kMostPayload] = {};
};

class RangeRing {
 public:
  static constexpr uint32_t kEvents = 8192;
  // The owner; false when full. `half` becomes true when the ring has just become half full.
  bool push(const RangeEvent& event, bool& half) noexcept {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    const uint64_t held = head - tail_.load(std::memory_order_acquire);
    if (held >= kEvents) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    events_[head % kEvents] = event;
    head_.store(head + 1, std::memory_order_release);
    half = held == kEvents / 2;
    return true;
  }
  // The writer.
  template <class Take>
  void drain(Take take) {
    uint64_t tail = tail_.load(std::memory_order_relaxed);
    const uint64_t head = head_.load(std::memory_order_acquire);
    for (; tail != head; ++tail) take(events_[tail % kEvents]);
    tail_.store(tail, std::memory_order_release);
  }
  bool empty() const { return head_.load() == tail_.load(); }
  uint64_t take_dropped() { return dropped_.exchange(0, std::memory_order_relaxed); }

  std::atomic<uint64_t> tid{0};
  std::atomic<uint32_t> open_ranges{0};
  std::atomic<bool> in_use{false};

 private:
  std::atomic<uint64_t> head_{0}, tail_{0}, dropped_{0};
  RangeEvent events_[kEvents];
};

class RangeRings {
 public:
  static constexpr uint32_t kMostThreads = 64;
  RangeRings() = default;
  RangeRings(const RangeRings&) = delete;
  RangeRings& operator=(const RangeRings&) = delete;
  ~RangeRings();

  // For a new thread; null when all are in use. Rings of ended threads are given again.
  RangeRing* claim(uint64_t tid) noexcept;
  static void release(RangeRing* ring) noexcept { ring->in_use.store(false); }
  void count_lost() noexcept { lost_.fetch_add(1, std::memory_order_relaxed); }

  // The writer. take(tid, event); returns how many ranges were dropped since the last time.
  template <class Take>
  uint64_t drain(Take take) {
    uint64_t dropped = lost_.exchange(0, std::memory_order_relaxed);
    for (auto& slot : rings_) {
      RangeRing* ring = slot.load(std::memory_order_acquire);
      if (ring == nullptr) break;
      const uint64_t tid = ring->tid.load(std::memory_order_acquire);
      ring->drain([&](const RangeEvent& e) { take(tid, e); });
      dropped += ring->take_dropped();
    }
    return dropped;
  }
  uint64_t open_ranges() const;

 private:
  std::atomic<RangeRing*> rings_[kMostThreads] = {};  // filled from the front
  std::atomic<uint64_t> lost_{0};
};

}  // namespace ws::collector
