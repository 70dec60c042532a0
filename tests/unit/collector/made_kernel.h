#pragma once
#include "collector/recording.h"

namespace ws::test {

inline collector::KernelRow kernel_at(int64_t begin_ns, uint32_t correlation) {
  collector::KernelRow k;
  k.begin_ns = begin_ns;
  k.end_ns = begin_ns + 100;
  k.device = 1;
  k.stream = 7;
  k.correlation = correlation;
  return k;
}

}  // namespace ws::test
