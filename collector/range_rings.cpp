// Tested by: nvtx_test.cpp
#include "collector/range_rings.h"

#include <new>

namespace ws::collector {

RangeRings::~RangeRings() {
  for (auto& slot : rings_) delete slot.load();
}

// The tid of a ring that changes hands may be read too late by the writer for the last ranges of
// its former owner; so rings are given again only when they are empty.
RangeRing* RangeRings::claim(uint64_t tid) noexcept {
  for (auto& slot : rings_) {
    RangeRing* ring = slot.load(std::memory_order_acquire);
    if (ring == nullptr) {
      auto* fresh = new (std::nothrow) RangeRing;
      if (fresh == nullptr) return nullptr;
      fresh->in_use = true;
      fresh->tid = tid;
      RangeRing* expected = nullptr;
      if (slot.compare_exchange_strong(expected, fresh)) return fresh;
      delete fresh;
      ring = expected;
    }
    bool idle = false;
    if (ring->empty() && ring->in_use.compare_exchange_strong(idle, true)) {
      ring->open_ranges = 0;
      ring->tid.store(tid, std::memory_order_release);
      return ring;
    }
  }
  return nullptr;
}

uint64_t RangeRings::open_ranges() const {
  uint64_t open = 0;
  for (const auto& slot : rings_) {
    const RangeRing* ring = slot.load(std::memory_order_acquire);
    if (ring != nullptr && ring->in_use.load()) open += ring->open_ranges.load();
  }
  return open;
}

}  // namespace ws::collector
