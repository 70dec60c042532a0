#include "base/both.h"

#include <new>
#include <thread>

#include "support/catch.h"

namespace ws {

TEST_CASE("both: each runs once, on one thread unless two are wanted") {
  for (const bool at_once : {false, true}) {
    int f = 0, g = 0;
    std::thread::id thread_of_g;
    both(
        at_once, [&] { ++f; },
        [&] {
          ++g;
          thread_of_g = std::this_thread::get_id();
        });
    CHECK(f == 1);
    CHECK(g == 1);
    CHECK((thread_of_g == std::this_thread::get_id()) == !at_once);
  }
}

TEST_CASE("both: what either throws comes out") {
  for (const bool at_once : {false, true}) {
    CHECK_THROWS_AS(both(
                        at_once, [] {}, [] { throw std::bad_alloc(); }),
                    std::bad_alloc);
    CHECK_THROWS_AS(both(
                        at_once, [] { throw std::bad_alloc(); }, [] {}),
                    std::bad_alloc);
  }
}

}  // namespace ws
