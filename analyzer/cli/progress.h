#pragma once
// A line on stderr while files are read: only on a terminal and only for work over one second.
#include <chrono>
#include <cstddef>
#include <mutex>

namespace ws::cli {

// Thread-safe.
class Progress {
 public:
  Progress(size_t total, bool quiet);
  ~Progress();  // takes the line away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void one_done();

 private:
  const size_t total_;
  const bool shown_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  size_t done_ = 0;
  bool printed_ = false;
};

}  // namespace ws::cli
