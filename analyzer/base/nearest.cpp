#include "base/nearest.h"

#include <algorithm>

namespace ws {

size_t edit_distance(std::string_view a, std::string_view b, size_t limit) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > limit) return limit + 1;
  std::vector<size_t> row(a.size() + 1), next(a.size() + 1);
  for (size_t i = 0; i <= a.size(); ++i) row[i] = i;
  for (size_t j = 1; j <= b.size(); ++j) {
    next[0] = j;
    for (size_t i = 1; i <= a.size(); ++i)
      next[i] = std::min({row[i] + 1, next[i - 1] + 1, row[i - 1] + (a[i - 1] != b[j - 1])});
    std::swap(row, next);
  }
  return std::min(row[a.size()], limit + 1);
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& known) {
  constexpr size_t kLongest = 100;
  if (word.size() > kLongest) return "";
  size_t best = word.size() / 3 + 1;
  std::string out;
  for (const std::string& k : known) {
    const size_t far = edit_distance(word, k, best);
    if (far < best) best = far, out = k;
  }
  return out;
}

}  // namespace ws
