#pragma once
// For each thread the stretches in which a property of the open ranges holds, from one sweep over
// the ranges; a question about a launch is then one binary search.
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace ws {

// Disjoint, in time order.
class Stretches {
 public:
  void append(TimeNs begin_ns, TimeNs end_ns);  // begins not before the end of the last one
  bool empty() const { return spans_.empty(); }
  bool contains(TimeNs t) const;
  static Stretches union_of(std::vector<Interval> spans);  // any order, may overlap

 private:
  std::vector<Interval> spans_;
};

// Ranges of one thread are pushed in order of begin; the innermost open one decides. Crossing
// ranges are tolerated: the one that began last counts until it ends.
template <class Tag>
class OpenRanges {
 public:
  struct Entry {
    TimeNs end_ns = 0;
    Tag tag{};
  };
  // `active(tag, begin, end)` is called for every stretch with the innermost range of it.
  template <class Active>
  void push(TimeNs begin_ns, TimeNs end_ns, const Tag& tag, const Active& active) {
    advance(begin_ns, active);
    stack_.push_back({end_ns, tag});
  }
  template <class Active>
  void finish(const Active& active) {
    advance(INT64_MAX, active);
  }
  // Innermost range that is open after the last push or advance; nullptr: none.
  const Entry* innermost() const { return stack_.empty() ? nullptr : &stack_.back(); }

  template <class Active>
  void advance(TimeNs to_ns, const Active& active) {
    while (!stack_.empty()) {
      const Entry top = stack_.back();
      const TimeNs stop = top.end_ns < to_ns ? top.end_ns : to_ns;
      if (stop > cursor_) {
        active(top.tag, cursor_, stop);
        cursor_ = stop;
      }
      if (top.end_ns > to_ns) break;
      stack_.pop_back();
    }
    if (to_ns > cursor_) cursor_ = to_ns;
  }

 private:
  std::vector<Entry> stack_;
  TimeNs cursor_ = INT64_MIN;
};

}  // namespace ws
