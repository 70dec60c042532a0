#pragma once
// Buffers for CUPTI's records: a fixed number, handed to the threads of the job and back without a
// lock. take() and complete() are called by CUPTI in any thread, the rest by the writer.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace ws::collector {

class BufferPool {
 public:
  static constexpr size_t kBufferBytes = size_t{1} << 20;

  explicit BufferPool(uint32_t count);
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool();

  uint8_t* take() noexcept;  // null when all are in use
  void complete(uint8_t* buffer, size_t valid_bytes) noexcept;
  struct Full {
    uint8_t* data = nullptr;
    size_t valid_bytes = 0;
  };
  Full next_full() noexcept;  // oldest first; data is null when there is none
  void give_back(uint8_t* buffer) noexcept;
  bool owns(const uint8_t* buffer) const noexcept;
  uint32_t count() const { return count_; }
  uint32_t free_count() const { return free_count_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kNone = 0;  // indices in lists are 1 + index
  struct Slot {
    std::atomic<uint32_t> next{kNone};
    size_t valid_bytes = 0;
  };
  // A stack of indices; the upper half of the head counts changes, so that an index that left and
  // came back is seen.
  struct Stack {
    std::atomic<uint64_t> head{0};
  };
  void push(Stack& stack, uint32_t index) noexcept;
  uint32_t pop(Stack& stack) noexcept;
  uint32_t index_of(const uint8_t* buffer) const noexcept;

  uint32_t count_;
  uint8_t* memory_ = nullptr;
  std::unique_ptr<Slot[]> slots_;
  Stack free_, full_;
  uint32_t oldest_ = kNone;  // full ones taken off the stack and put into order
  std::atomic<uint32_t> free_count_{0};
};

}  // namespace ws::collector
