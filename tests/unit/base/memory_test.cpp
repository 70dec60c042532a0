#include "base/memory.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "support/catch.h"

namespace {

// The first calls of a process, in two threads at once; `spin` sets the second off a little later.
void call_twice_at_once(int spin) {
  std::atomic<int> ready{0};
  const auto call = [&](int later) {
    ++ready;
    while (ready < 2) continue;
    for (std::atomic<int> i{0}; i < later;) ++i;
    ws::release_freed_memory();
  };
  std::thread other(call, spin);
  call(0);
  other.join();
}

}  // namespace

TEST_CASE("freed memory is released by two threads that begin with it at once") {
  int failed = 0;
  for (int i = 0; i < 1200; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      call_twice_at_once(i % 60);
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    if (status != 0) ++failed;
  }
  CHECK(failed == 0);
}
