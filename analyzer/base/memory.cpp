// Tested by: memory_test.cpp
#include "base/memory.h"

#ifdef __linux__
#include <malloc.h>
#endif

#include <mutex>

namespace ws {

// glibc sets its allocator up in the first call, unguarded (malloc/malloc.c of 2.36,
// ptmalloc_init). With another allocator in front of it (a sanitizer's, a preloaded jemalloc) that
// first call may be this one, in two threads at once.
void release_freed_memory() {
#ifdef __GLIBC__
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  malloc_trim(0);
#endif
}

}  // namespace ws
