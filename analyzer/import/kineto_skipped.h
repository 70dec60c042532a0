#pragma once
// Python functions are not kept, but whether they nest says something about the recording: their
// spans are, 16 bytes each, until that is counted.
#include <map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "import/kineto_text.h"

namespace ws::kineto {

class SkippedSpans {
 public:
  void add(const Ids& ids, const Interval& span);
  // Spans that begin inside an earlier one of their thread and end behind it. Spends the spans.
  int64_t crossings();

 private:
  using Key = std::pair<int64_t, int64_t>;
  std::map<Key, std::vector<Interval>> threads_;
  std::vector<Interval>* last_ = nullptr;
  Key last_key_;
};

}  // namespace ws::kineto
