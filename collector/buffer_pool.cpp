// Tested by: buffer_pool_test.cpp
#include "collector/buffer_pool.h"

#include <sys/mman.h>

namespace ws::collector {

// Pages come into being when CUPTI writes to them: a quiet process pays for two or three buffers.
BufferPool::BufferPool(uint32_t count) : count_(count), slots_(new Slot[count + 1]) {
  void* p = ::mmap(nullptr, count * kBufferBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    count_ = 0;
    return;
  }
  memory_ = static_cast<uint8_t*>(p);
  for (uint32_t i = count; i > 0; --i) push(free_, i);
  free_count_ = count;
}

BufferPool::~BufferPool() {
  if (memory_ != nullptr) ::munmap(memory_, count_ * kBufferBytes);
}

void BufferPool::push(Stack& stack, uint32_t index) noexcept {
  uint64_t head = stack.head.load(std::memory_order_relaxed);
  uint64_t wanted = 0;
  do {
    slots_[index].next.store(static_cast<uint32_t>(head), std::memory_order_relaxed);
    wanted = ((head >> 32) + 1) << 32 | index;
  } while (!stack.head.compare_exchange_weak(head, wanted, std::memory_order_acq_rel,
                                             std::memory_order_relaxed));
}

uint32_t BufferPool::pop(Stack& stack) noexcept {
  uint64_t head = stack.head.load(std::memory_order_acquire);
  while (static_cast<uint32_t>(head) != kNone) {
    const uint32_t index = static_cast<uint32_t>(head);
    const uint64_t wanted =
        ((head >> 32) + 1) << 32 | slots_[index].next.load(std::memory_order_relaxed);
    if (stack.head.compare_exchange_weak(head, wanted, std::memory_order_acq_rel,
                                         std::memory_order_acquire))
      return index;
  }
  return kNone;
}

uint32_t BufferPool::index_of(const uint8_t* buffer) const noexcept {
  return static_cast<uint32_t>(static_cast<size_t>(buffer - memory_) / kBufferBytes) + 1;
}

bool BufferPool::owns(const uint8_t* buffer) const noexcept {
  return buffer >= memory_ && buffer < memory_ + count_ * kBufferBytes;
}

uint8_t* BufferPool::take() noexcept {
  const uint32_t index = pop(free_);
  if (index == kNone) return nullptr;
  free_count_.fetch_sub(1, std::memory_order_relaxed);
  return memory_ + (index - 1) * kBufferBytes;
}

void BufferPool::complete(uint8_t* buffer, size_t valid_bytes) noexcept {
  const uint32_t index = index_of(buffer);
  slots_[index].valid_bytes = valid_bytes;
  push(full_, index);
}

BufferPool::Full BufferPool::next_full() noexcept {
  if (oldest_ == kNone) {
    // Take the whole stack and turn it around.
    for (uint32_t index = pop(full_); index != kNone; index = pop(full_)) {
      slots_[index].next.store(oldest_, std::memory_order_relaxed);
      oldest_ = index;
    }
  }
  if (oldest_ == kNone) return {};
  const uint32_t index = oldest_;
  oldest_ = slots_[index].next.load(std::memory_order_relaxed);
  return {memory_ + (index - 1) * kBufferBytes, slots_[index].valid_bytes};
}

void BufferPool::give_back(uint8_t* buffer) noexcept {
  free_count_.fetch_add(1, std::memory_order_relaxed);
  push(free_, index_of(buffer));
}

}  // namespace ws::collector
