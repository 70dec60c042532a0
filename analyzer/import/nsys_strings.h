#pragma once
// StringIds of an export: read once, repaired and interned when first used.
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/nsys_file.h"

namespace ws::nsys {

class Strings {
 public:
  static Result<Strings> read(const File& file);
  static constexpr size_t kNone = static_cast<size_t>(-1);

  size_t size() const { return entries_.size(); }
  size_t position(int64_t id) const;               // kNone when no such string is in the file
  std::string_view bytes(size_t position) const {  // as they stand in the file
    const Entry& e = entries_[position];
    return std::string_view(arena_).substr(e.offset, e.length);
  }

 private:
  struct Entry {
    int64_t id = 0;
    size_t offset = 0, length = 0;
  };
  std::vector<Entry> entries_;  // by id
  std::string arena_;
};

}  // namespace ws::nsys
