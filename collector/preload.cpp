// libwallsight_preload.so, for `record --preload`: what the two injection variables can not do. It
// sets them again where a launcher took them out of the environment, and lets the recording end in
// order when a process leaves by _exit (os._exit of Python). Every process of the job loads it, so
// it does nothing else, needs nothing but the C library and prints nothing. Tested by: preload.py
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#define WS_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Ending {
  std::atomic<void (*)()> function{nullptr};
  std::atomic<pid_t> process{0};
};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): constant initialised, no code
Ending g_ending;

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

__attribute__((constructor)) void set_variables() {
  const char* library = std::getenv("WALLSIGHT_LIBRARY");
  if (library == nullptr || *library == '\0' || !is_set("WALLSIGHT_DIR")) return;
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
    if (!is_set(name)) ::setenv(name, library, 1);
  }
}

// Children of fork and vfork have another number: theirs is not the recording.
[[noreturn]] void leave(int code) {
  auto* const function = g_ending.function.load();
  if (function != nullptr && g_ending.process.load() == ::getpid()) function();
  for (;;) ::syscall(SYS_exit_group, code);
}

}  // namespace

// The recorder says what is to be done at the end of this process.
WS_EXPORT void wallsight_on_exit(void (*function)()) {
  g_ending.process = ::getpid();
  g_ending.function = function;
}
WS_EXPORT void _exit(int code) { leave(code); }
WS_EXPORT void _Exit(int code) { leave(code); }
