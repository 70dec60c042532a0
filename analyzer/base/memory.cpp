#include "base/memory.h"

#ifdef __linux__
#include <malloc.h>
#endif

namespace ws {

void release_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace ws
