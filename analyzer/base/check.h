#pragma once
// WS_CHECK: for our own mistakes only (bad input returns a Result). Prints and aborts.

namespace ws {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace ws

#define WS_CHECK(cond)                                          \
  do {                                                          \
    if (!(cond)) ::ws::check_failed(#cond, __FILE__, __LINE__); \
  } while (false)
