#include "base/string_pool.h"

namespace ws {

StringPool::StringPool() { intern({}); }

StringId StringPool::intern(std::string_view s) {
  if (auto it = ids_.find(s); it != ids_.end()) return it->second;
  const std::string_view kept = storage_.emplace_back(s);
  const StringId id{static_cast<uint32_t>(strings_.size())};
  strings_.push_back(kept);
  ids_.emplace(kept, id);
  return id;
}

}  // namespace ws
