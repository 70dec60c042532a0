#pragma once
// A bounded queue from one reading thread to the thread that fills the trace: the reader never runs
// more than kCapacity blocks ahead, so memory does not grow with the table.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "base/result.h"

namespace ws::nsys {

template <class Block>
class Channel {
 public:
  void push(Block block) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return blocks_.size() < kCapacity; });
    blocks_.push_back(std::move(block));
    ready_.notify_one();
  }
  void close(Result<void> outcome) {
    const std::lock_guard lock(mutex_);
    outcome_ = std::move(outcome);
    closed_ = true;
    ready_.notify_one();
  }
  // Waits; nullopt when the reader has closed and everything was taken.
  std::optional<Block> pop() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return closed_ || !blocks_.empty(); });
    if (blocks_.empty()) return std::nullopt;
    Block block = std::move(blocks_.front());
    blocks_.pop_front();
    room_.notify_one();
    return block;
  }
  const Result<void>& outcome() const { return outcome_; }  // after pop() gave nullopt

 private:
  static constexpr size_t kCapacity = 4;
  std::mutex mutex_;
  std::condition_variable room_, ready_;
  std::deque<Block> blocks_;
  Result<void> outcome_;
  bool closed_ = false;
};

}  // namespace ws::nsys
