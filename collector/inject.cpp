// The functions by which CUDA, NVTX and the doctor find us: the only symbols of the library.
#include <cstdio>
#include <cstring>

#include "collector/nvtx_handlers.h"
#include "collector/recorder.h"

#define WS_EXPORT extern "C" __attribute__((visibility("default")))

using namespace ws::collector;

namespace {

// Nothing of ours may get out into the job.
template <class Work>
int guarded(Work work) noexcept {
  try {
    return work();
  } catch (...) {
    return 0;
  }
}

Recorder& recorder() {
  Recorder& r = Recorder::instance();
  set_nvtx_source(&r.nvtx());
  return r;
}

}  // namespace

// The driver calls this while it is initialised (CUDA_INJECTION64_PATH).
WS_EXPORT int InitializeInjection(void) {
  return guarded([] {
    recorder().cuda_is_here();
    return 1;
  });
}

// Every library with an NVTX client of its own calls this at its first NVTX call
// (NVTX_INJECTION64_PATH). 0 makes all its calls no-ops.
WS_EXPORT int InitializeInjectionNvtx2(nvtx::GetExportTable get) {
  return guarded([&] {
    Recorder& r = recorder();
    return r.enabled() ? r.nvtx().add_client(get) : 0;
  });
}

WS_EXPORT int InitializeInjectionNvtxExtension(nvtx::ExtensionModule* module) {
  return guarded([&] {
    Recorder& r = recorder();
    return r.enabled() ? r.nvtx().add_extension(module) : 0;
  });
}

// Ranges that are timed elsewhere, in ns of CLOCK_MONOTONIC (python/sitecustomize.py). It does not
// make a process one that is recorded: that is for CUDA and NVTX.
WS_EXPORT void wallsight_range(const char* name, int64_t begin_ns, int64_t end_ns) {
  record_range(name, begin_ns, end_ns);
}

// What a libcupti is, for `wallsight doctor`: one line into `text`; 0 when it can be used. An empty
// path means the one that would be found.
WS_EXPORT int wallsight_probe_cupti(const char* path, char* text, size_t size) {
  return guarded([&] {
    cupti::Library lib;
    const std::string why = path == nullptr || *path == '\0' ? cupti::find_library("", lib)
                                                             : cupti::open_library(path, lib);
    if (!why.empty()) {
      std::snprintf(text, size, "%s", why.c_str());
      return 1;
    }
    std::snprintf(
        text, size,
        "%s: version %u, record bytes: kernel %zu, copy %zu, fill %zu, call %zu, sync %zu",
        lib.path.c_str(), lib.version, lib.record_bytes[cupti::kConcurrentKernel],
        lib.record_bytes[cupti::kMemcpy], lib.record_bytes[cupti::kMemset],
        lib.record_bytes[cupti::kRuntime], lib.record_bytes[cupti::kSynchronization]);
    return 0;
  });
}
