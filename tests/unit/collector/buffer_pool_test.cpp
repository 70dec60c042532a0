// The pool hands every buffer to one owner at a time, in order, from many threads.
#include "collector/buffer_pool.h"

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "support/catch.h"

using ws::collector::BufferPool;

TEST_CASE("buffers go out, come back full in order, and go out again") {
  BufferPool pool(3);
  uint8_t* a = pool.take();
  uint8_t* b = pool.take();
  uint8_t* c = pool.take();
  CHECK(std::set<uint8_t*>{a, b, c}.size() == 3);
  CHECK(pool.take() == nullptr);
  CHECK(pool.free_count() == 0);
  CHECK(pool.next_full().data == nullptr);
  pool.complete(b, 10);
  pool.complete(a, 20);
  CHECK(pool.next_full().data == b);
  pool.complete(c, 30);
  BufferPool::Full full = pool.next_full();
  CHECK(full.data == a);
  CHECK(full.valid_bytes == 20);
  CHECK(pool.next_full().data == c);
  CHECK(pool.next_full().data == nullptr);
  pool.give_back(a);
  CHECK(pool.free_count() == 1);
  CHECK(pool.take() == a);
  uint8_t other = 0;
  CHECK(pool.owns(a));
  CHECK_FALSE(pool.owns(&other));
}

TEST_CASE("many threads, one writer: nothing is lost and no buffer has two owners") {
  constexpr int kThreads = 8, kRounds = 3'000;
  BufferPool pool(16);
  std::atomic<uint64_t> given{0}, refused{0};
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        uint8_t* p = pool.take();
        if (p == nullptr) {
          ++refused;
          std::this_thread::yield();
          continue;
        }
        std::memset(p, t, 64);
        std::this_thread::yield();
        for (int k = 0; k < 64; ++k) {
          if (p[k] != t) std::abort();  // another thread had it as well
        }
        ++given;
        pool.complete(p, static_cast<size_t>(t) + 1);
      }
      --running;
    });
  }
  uint64_t taken = 0;
  const auto drain = [&] {
    for (auto full = pool.next_full(); full.data != nullptr; full = pool.next_full()) {
      if (full.valid_bytes != size_t{full.data[0]} + 1) std::abort();
      ++taken;
      pool.give_back(full.data);
    }
  };
  while (running > 0) drain();
  for (std::thread& t : threads) t.join();
  drain();
  CHECK(taken == given);
  CHECK(given + refused == uint64_t{kThreads} * kRounds);
  CHECK(pool.free_count() == 16);
}
