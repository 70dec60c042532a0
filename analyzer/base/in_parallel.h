#pragma once
#include <atomic>
#include <cstddef>
#include <optional>
#include <thread>
#include <vector>

namespace ws {

// Results of make(0) .. make(n - 1) in that order, whatever the number of threads.
template <class Make>
auto in_parallel(size_t n, unsigned threads, Make make) {
  std::vector<std::optional<decltype(make(size_t{0}))>> slots(n);
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < n; i = next++) slots[i].emplace(make(i));
  };
  std::vector<std::thread> helpers;
  for (unsigned t = 1; t < threads && t < n; ++t) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  std::vector<decltype(make(size_t{0}))> out;
  out.reserve(n);
  for (auto& slot : slots) out.push_back(std::move(*slot));
  return out;
}

}  // namespace ws
