#pragma once
// What a rank did before it arrived at a collective, in the categories that lateness is explained
// with (ALGORITHMS 5.4): leaves of the partition, expert GEMMs told apart, communication left out.
#include <array>
#include <cstdint>
#include <string_view>

#include "model/names.h"

namespace ws {

enum class LateCategory : uint8_t {
  gemm,
  expert_gemm,  // grouped GEMM
  attention,
  membound,
  compute_other,
  recompute,
  copy,
  offload,
  launch,  // launches, graph launches, gaps between kernels
  host,
  sync,
  alloc,
  dataload,
  gc,
  jit,
  profiler,
  unknown  // dependency, unknown
};
inline constexpr size_t kLateCategoryCount = static_cast<size_t>(LateCategory::unknown) + 1;
using LateSums = std::array<uint32_t, kLateCategoryCount>;  // ns, at most 4.2 s each

// Not for communication leaves.
constexpr LateCategory late_category(Leaf leaf, bool grouped) {
  switch (leaf) {
    case Leaf::gemm:
      return grouped ? LateCategory::expert_gemm : LateCategory::gemm;
    case Leaf::attention:
      return LateCategory::attention;
    case Leaf::membound:
      return LateCategory::membound;
    case Leaf::compute_other:
      return LateCategory::compute_other;
    case Leaf::recompute:
      return LateCategory::recompute;
    case Leaf::copy_h2d:
    case Leaf::copy_d2h:
      return LateCategory::copy;
    case Leaf::copy_offload:
      return LateCategory::offload;
    case Leaf::idle_launch:
    case Leaf::idle_graph_launch:
    case Leaf::idle_kernel_gap:
      return LateCategory::launch;
    case Leaf::idle_host:
      return LateCategory::host;
    case Leaf::idle_sync:
      return LateCategory::sync;
    case Leaf::idle_alloc:
      return LateCategory::alloc;
    case Leaf::idle_dataload:
      return LateCategory::dataload;
    case Leaf::idle_gc:
      return LateCategory::gc;
    case Leaf::idle_jit:
      return LateCategory::jit;
    case Leaf::idle_profiler:
      return LateCategory::profiler;
    default:
      return LateCategory::unknown;
  }
}
inline constexpr std::array<std::string_view, kLateCategoryCount> kLateCategoryNames = {
    "gemm",     "expert_gemm", "attention", "membound", "compute_other", "recompute",
    "copy",     "offload",     "launch",    "host",     "sync",          "alloc",
    "dataload", "gc",          "jit",       "profiler", "unknown"};
constexpr std::string_view name_of(LateCategory c) {
  return kLateCategoryNames[static_cast<size_t>(c)];
}
constexpr bool is_compute(LateCategory c) { return c <= LateCategory::recompute; }

}  // namespace ws
