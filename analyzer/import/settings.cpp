// Tested by: nsys_info_test.cpp
#include "import/settings.h"

#include <algorithm>

namespace ws {

bool is_setting(std::string_view name, std::string_view value) {
  constexpr std::string_view kNames[] = {"CUDA_DEVICE_MAX_CONNECTIONS",
                                         "CUDA_LAUNCH_BLOCKING",
                                         "CUDA_MODULE_LOADING",
                                         "CUDA_VISIBLE_DEVICES",
                                         "OMP_NUM_THREADS",
                                         "PYTORCH_ALLOC_CONF",
                                         "PYTORCH_CUDA_ALLOC_CONF",
                                         "TORCH_NCCL_AVOID_RECORD_STREAMS"};
  constexpr std::string_view kPrivate[] = {"NCCL_COMM_ID", "NCCL_HOSTID"};
  constexpr size_t kLongest = 120;
  const bool known = std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
                     name.substr(0, 5) == "NCCL_";
  const bool hidden =
      std::find(std::begin(kPrivate), std::end(kPrivate), name) != std::end(kPrivate);
  return known && !hidden && value.size() <= kLongest &&
         value.find_first_of("/\\@") == std::string_view::npos;
}

}  // namespace ws
