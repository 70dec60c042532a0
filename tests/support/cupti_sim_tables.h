#pragma once
// What the simulated libcupti of each version has: how long its records are, and the calls that it
// knows, whose numbers are their places.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "collector/cupti_abi.h"

namespace ws::test::cupti_sim {

inline uint32_t version() {
  static const uint32_t v = [] {
    const char* e = std::getenv("WALLSIGHT_SIM_VERSION");
    return e == nullptr ? 130000u : static_cast<uint32_t>(std::atoi(e));
  }();
  return v;
}

// Sizes of records by version: the collector's table, and larger ones for what may come.
inline size_t size_of(uint32_t kind) {
  using namespace collector::cupti;
  const uint32_t v = version();
  const bool later = v >= 140000;
  switch (kind) {
    case kConcurrentKernel:
      return later ? 264 : v >= 130000 ? 216 : v >= 19 ? 208 : v >= 18 ? 200 : 160;
    case kMemcpy:
      return later ? 112 : v >= 26 ? 96 : v >= 17 ? 88 : 80;
    case kMemcpy2:
      return later ? 104 : v >= 17 ? 96 : 88;
    case kMemset:
      return later ? 96 : v >= 17 ? 88 : 80;
    case kRuntime:
    case kDriver:
      return later ? 48 : 40;
    case kSynchronization:
      return v >= 26 ? 56 : 40;
    case kCudaEvent:
      return v >= 26 ? 56 : 24;
    case kOverhead:
      return v >= 22 ? 56 : v >= 20 ? 48 : 40;
    case kGraphTrace:
      return v >= 26 ? 56 : 48;
    case kMemory2:
      return v >= 24 ? 128 : 120;
    case kDevice:
      return v >= 26 ? 184 : 176;
    default:
      return 0;
  }
}

inline constexpr const char* kRuntimeNames[] = {"",
                                                "cudaLaunchKernel_v7000",
                                                "cudaLaunchKernelExC_v11060",
                                                "cudaMemcpyAsync_v3020",
                                                "cudaMemcpy_v3020",
                                                "cudaMemsetAsync_v3020",
                                                "cudaGraphLaunch_v10000",
                                                "cudaStreamSynchronize_v3020",
                                                "cudaDeviceSynchronize_v3020",
                                                "cudaEventSynchronize_v3020",
                                                "cudaEventRecord_v3020",
                                                "cudaEventQuery_v3020",
                                                "cudaStreamWaitEvent_v3020",
                                                "cudaMalloc_v3020",
                                                "cudaFree_v3020",
                                                "cudaMallocAsync_v11020",
                                                "cudaFreeAsync_v11020",
                                                "cudaHostAlloc_v3020",
                                                "cudaGetDevice_v3020",
                                                "cudaLaunchKernel_ptsz_v7000"};
inline constexpr const char* kDriverNames[] = {"",
                                               "cuLaunchKernel",
                                               "cuLaunchKernelEx",
                                               "cuMemcpyHtoDAsync_v2",
                                               "cuStreamSynchronize",
                                               "cuCtxGetCurrent",
                                               "cuModuleLoadData",
                                               "cuMemAlloc_v2",
                                               "cuGraphLaunch"};
inline constexpr size_t kRuntimeCount = std::size(kRuntimeNames),
                        kDriverCount = std::size(kDriverNames);

inline uint32_t find_call(const char* const* names, size_t count, const char* name) {
  for (uint32_t i = 1; i < count; ++i) {
    if (std::string_view(names[i]) == name) return i;
  }
  return 0;
}

}  // namespace ws::test::cupti_sim
