// Ids are nearly consecutive in real exports, so the position of an id is a subtraction and a
// check; anything else falls back to a binary search.
// Tested by: nsys_rows_test.cpp
#include "import/nsys_strings.h"

#include <algorithm>

namespace ws::nsys {

Result<Strings> Strings::read(const File& file) {
  Strings out;
  out.entries_.reserve(file.estimated_rows("StringIds"));
  bool sorted = true;
  const Result<void> ok = file.for_each_row("StringIds", {"id", "value"}, [&](const RowValues& s) {
    const std::string_view value = s.text(1);
    const Entry entry{s.int64(0), out.arena_.size(), value.size()};
    sorted = sorted && (out.entries_.empty() || out.entries_.back().id < entry.id);
    out.entries_.push_back(entry);
    out.arena_ += value;
  });
  if (!ok) return ok.error();
  const auto by_id = [](const Entry& a, const Entry& b) { return a.id < b.id; };
  if (!sorted) std::stable_sort(out.entries_.begin(), out.entries_.end(), by_id);
  return out;
}

size_t Strings::position(int64_t id) const {
  if (entries_.empty() || id < entries_.front().id) return kNone;
  const uint64_t guess = static_cast<uint64_t>(id) - static_cast<uint64_t>(entries_.front().id);
  if (guess < entries_.size() && entries_[guess].id == id) return guess;
  const auto it = std::lower_bound(entries_.begin(), entries_.end(), id,
                                   [](const Entry& e, int64_t wanted) { return e.id < wanted; });
  if (it == entries_.end() || it->id != id) return kNone;
  return static_cast<size_t>(it - entries_.begin());
}

}  // namespace ws::nsys
