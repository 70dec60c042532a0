#pragma once
// What the names of a trace say: categories of 2020 to 2026, copies, calls, Python functions.
#include <string_view>

#include "model/names.h"
#include "model/trace.h"

namespace ws::kineto {

enum class Category : uint8_t {
  other,  // nothing we use: flows, whole traces, counters, unknown ones
  kernel,
  copy,
  memset,
  call,  // runtime and driver API
  cpu_op,
  user_annotation,
  gpu_annotation,
  python,
  sync,  // cuda_sync: what a call waited for, not device work
  overhead,
  accelerator  // work of devices that are no GPU (MTIA and the like)
};
Category category_of(std::string_view cat);

// From the name ("Memcpy HtoD (Pageable -> Device)", "CopyHostToDevice"), else from the argument
// `kind` of ROCm ("HtoD"), else device to device. From and to arrays counts as device memory.
OpKind copy_kind(std::string_view name, std::string_view kind);
bool is_pageable(std::string_view name);
bool is_pinned(std::string_view name);  // and not pageable
SyncKind sync_kind(std::string_view name);

// "cudaStreamGetCaptureInfo_v2", "cuMemcpyAsync_ptsz" without the ABI suffixes.
std::string_view api_name(std::string_view name);
bool is_graph_launch(std::string_view call);

// Python functions that an analysis asks for: garbage collection, data loading, compilation.
bool is_wanted_python(std::string_view name);

}  // namespace ws::kineto
