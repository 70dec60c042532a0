#pragma once
// Names of the recording: each text once, ids from 1 in order of appearance, 0 for the empty name.
// Any thread may ask; the writer takes the new ones for the file. Bounded: beyond the cap a new
// text gets 0 and is counted.
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace ws::collector {

class Names {
 public:
  static constexpr size_t kLongest = 4096;
  explicit Names(size_t cap_bytes = size_t{8} << 20) : cap_bytes_(cap_bytes) {}
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  // Longer texts are cut at kLongest.
  uint32_t id_of(std::string_view text) noexcept;
  std::string_view text_of(uint32_t id) const;
  uint32_t count() const;  // ids 1..count() exist
  // Appends the texts of ids first..last; they stay valid as long as this object.
  void copy(uint32_t first, uint32_t last, std::vector<std::string_view>& out) const;
  uint64_t refused() const;

  static uint64_t hash_of(std::string_view text) noexcept;

 private:
  struct Slot {
    uint64_t hash = 0;
    uint32_t id = 0;
  };
  void grow();
  mutable std::mutex mutex_;
  std::deque<std::string> texts_;
  std::vector<Slot> slots_;
  size_t cap_bytes_, used_bytes_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace ws::collector
