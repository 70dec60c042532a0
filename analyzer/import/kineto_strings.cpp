// Tested by: kineto_test.cpp
#include "import/kineto_strings.h"

#include <cstring>

namespace ws::kineto {
namespace {

uint64_t eight_bytes(const char* p, size_t n) {
  uint64_t v = 0;
  std::memcpy(&v, p, n < 8 ? n : 8);
  return v;
}

}  // namespace

// Length and 32 bytes spread over the name: kernel names differ in the middle or at the end.
size_t NameCache::slot_of(std::string_view s) {
  constexpr uint64_t kMix = 0x9e3779b97f4a7c15u;
  uint64_t h = s.size() * kMix;
  const size_t last = s.size() < 8 ? 0 : s.size() - 8;
  for (size_t at : {size_t{0}, last / 3, last - last / 3, last}) {
    h = (h ^ eight_bytes(s.data() + at, s.size() - at)) * kMix;
    h ^= h >> 29;
  }
  return h % kSlots;
}

}  // namespace ws::kineto
