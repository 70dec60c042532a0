// Tested by: recording_writer_test.cpp
#include "collector/names.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace ws::collector {

uint64_t Names::hash_of(std::string_view text) noexcept {
  constexpr uint64_t kMix = 0x9e3779b97f4a7c15ull;
  uint64_t h = text.size() * kMix;
  const char* p = text.data();
  size_t left = text.size();
  for (; left >= 8; p += 8, left -= 8) {
    uint64_t w = 0;
    std::memcpy(&w, p, 8);
    h = (h ^ w) * kMix;
    h ^= h >> 29;
  }
  uint64_t w = 0;
  std::memcpy(&w, p, left);
  h = (h ^ w) * kMix;
  h ^= h >> 32;
  return h == 0 ? 1 : h;
}

uint32_t Names::id_of(std::string_view text) noexcept {
  if (text.empty()) return 0;
  text = text.substr(0, kLongest);
  const uint64_t hash = hash_of(text);
  const std::lock_guard lock(mutex_);
  try {
    if (texts_.size() * 2 >= slots_.size()) grow();
    size_t at = hash & (slots_.size() - 1);
    for (; slots_[at].id != 0; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].hash == hash && texts_[slots_[at].id - 1] == text) return slots_[at].id;
    }
    if (used_bytes_ + text.size() > cap_bytes_) {
      ++refused_;
      return 0;
    }
    texts_.emplace_back(text);
    used_bytes_ += text.size() + sizeof(std::string) + 2 * sizeof(Slot);
    slots_[at] = {hash, static_cast<uint32_t>(texts_.size())};
    return slots_[at].id;
  } catch (const std::bad_alloc&) {
    ++refused_;
    return 0;
  }
}

void Names::grow() {
  std::vector<Slot> bigger(std::max<size_t>(1024, slots_.size() * 2));
  for (const Slot& s : slots_) {
    if (s.id == 0) continue;
    size_t at = s.hash & (bigger.size() - 1);
    while (bigger[at].id != 0) at = (at + 1) & (bigger.size() - 1);
    bigger[at] = s;
  }
  slots_ = std::move(bigger);
}

std::string_view Names::text_of(uint32_t id) const {
  const std::lock_guard lock(mutex_);
  return id == 0 || id > texts_.size() ? std::string_view() : std::string_view(texts_[id - 1]);
}

uint32_t Names::count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<uint32_t>(texts_.size());
}

void Names::copy(uint32_t first, uint32_t last, std::vector<std::string_view>& out) const {
  const std::lock_guard lock(mutex_);
  for (uint32_t id = first; id <= last && id <= texts_.size(); ++id) out.push_back(texts_[id - 1]);
}

uint64_t Names::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

}  // namespace ws::collector
