// Tested by: kineto_test.cpp
#include "import/kineto_skipped.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "base/memory.h"

namespace ws::kineto {
namespace {

int64_t crossings_of(std::vector<Interval>& spans) {
  const auto before = [](const Interval& a, const Interval& b) {
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
  };
  if (!std::is_sorted(spans.begin(), spans.end(), before)) {
    std::sort(spans.begin(), spans.end(), before);
  }
  int64_t count = 0;
  std::priority_queue<TimeNs, std::vector<TimeNs>, std::greater<>> open;  // ends, earliest on top
  for (const Interval& s : spans) {
    while (!open.empty() && open.top() <= s.begin_ns) open.pop();
    count += !open.empty() && open.top() < s.end_ns ? 1 : 0;
    open.push(s.end_ns);
  }
  return count;
}

}  // namespace

void SkippedSpans::add(const Ids& ids, const Interval& span) {
  if (span.end_ns <= span.begin_ns || !ids.tid || *ids.tid == 0) return;  // 0: not a real thread
  const Key key{ids.pid.value_or(-1), *ids.tid};
  if (last_ == nullptr || key != last_key_) {
    last_ = &threads_[key];
    last_key_ = key;
  }
  last_->push_back(span);
}

int64_t SkippedSpans::crossings() {
  int64_t count = 0;
  for (auto& [thread, spans] : threads_) {
    count += crossings_of(spans);
    drop(spans);
  }
  threads_.clear();
  last_ = nullptr;
  return count;
}

}  // namespace ws::kineto
