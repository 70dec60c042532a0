#pragma once
// Names repeat by the hundred thousand: a cache from raw text to the interned string spares the
// unescaping, the UTF-8 check and the hash of the whole name.
#include <string>
#include <string_view>
#include <vector>

#include "base/string_pool.h"
#include "import/kineto_scan.h"

namespace ws::kineto {

class NameCache {
 public:
  struct Name {
    StringId id{};
    bool repaired = false;
    bool wanted = true;  // only Python functions are unwanted by name; they are not interned
  };
  NameCache() : slots_(kSlots) {}

  // on_miss(token) -> Name
  template <class OnMiss>
  Name get(const Token& token, OnMiss on_miss) {
    Slot& slot = slots_[slot_of(token.text())];
    if (slot.used && slot.raw == token.text()) return slot.name;
    const Name name = on_miss(token);
    if (token.size <= kLongest) {
      slot.raw.assign(token.data, token.size);
      slot.name = name;
      slot.used = true;
    }
    return name;
  }

 private:
  static constexpr size_t kSlots = 4096, kLongest = 4096;
  struct Slot {
    std::string raw;
    Name name;
    bool used = false;
  };
  static size_t slot_of(std::string_view s);
  std::vector<Slot> slots_;
};

}  // namespace ws::kineto
