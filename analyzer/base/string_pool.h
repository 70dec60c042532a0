#pragma once
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace ws {

// Interned strings. Id 0 is always "". Views stay valid as long as the pool lives (and moves).
class StringPool {
 public:
  StringPool();
  StringPool(StringPool&&) = default;
  StringPool& operator=(StringPool&&) = default;
  StringId intern(std::string_view s);
  std::string_view operator[](StringId id) const { return strings_[row(id)]; }
  size_t size() const { return strings_.size(); }

 private:
  std::deque<std::string> storage_;  // deque: addresses never move
  std::vector<std::string_view> strings_;
  std::unordered_map<std::string_view, StringId> ids_;
};

}  // namespace ws
