#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace ws {
void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "wallsight: internal check failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}
}  // namespace ws
