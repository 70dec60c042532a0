#pragma once
// Tested by: both_test.cpp
#include <future>

namespace ws {

// f and g, which share nothing that either writes: side by side when `at_once` and the machine
// gives a second thread, else one after the other. What f or g throws comes out here.
template <class F, class G>
void both(bool at_once, F f, G g) {
  const auto when = at_once ? std::launch::async | std::launch::deferred : std::launch::deferred;
  std::future<void> other = std::async(when, g);
  f();
  other.get();
}

}  // namespace ws
