// Tested by: cli_test (what_if_words_test.cpp): every id has words, and no other has.
#include "cli/what_if_words.h"

#include <fmt/format.h>

#include "report/layout.h"

namespace ws::cli {

const std::vector<WhatIfWords>& what_if_words() {
  static const std::vector<WhatIfWords> kWords = {
      {"ep_zero", "expert-parallel transfers take no time, waiting for late ranks stays"},
      {"ep_removed", "expert-parallel collectives are not there at all"},
      {"tp_zero", "tensor-parallel transfers take no time, waiting stays"},
      {"tp_removed", "tensor-parallel collectives are not there at all"},
      {"dp_zero", "data-parallel transfers take no time, waiting stays"},
      {"dp_removed", "data-parallel collectives are not there at all"},
      {"pp_zero", "pipeline transfers take no time, waiting stays"},
      {"pp_removed", "pipeline transfers are not there at all"},
      {"cp_zero", "context-parallel transfers take no time, waiting stays"},
      {"cp_removed", "context-parallel exchanges are not there at all"},
      {"network_x2", "every transfer takes half its time"},
      {"launch_zero", "launch calls and the host code between them take no time"},
      {"sync_zero", "the host never waits for the device"},
      {"dataload_zero", "the next batch is always there"},
      {"alloc_zero", "calls that allocate or free device memory take no time"},
      {"gc_zero", "Python's garbage collection takes no time"},
      {"recompute_zero", "nothing is computed again in the backward pass"},
      {"offload_zero", "copies of offloaded state take no time"},
      {"copy_zero", "copies between host and device take no time"},
      {"straggler_fixed", "late ranks are as fast as their peers"},
      {"experts_balanced", "every rank has the same expert work"},
      {"dp_overlapped", "gradient and parameter collectives run beside the compute of their pass"},
      {"bubble_halved", "the pipeline bubble is half as long"},
      {"gemm_x2", "matrix multiplications take half their time"},
      {"attention_x2", "attention kernels take half their time"},
      {"membound_x2", "memory-bound kernels take half their time"},
      {"communication_zero", "all transfers take no time"},
      {"memory_zero", "recompute, offload and allocator together"},
      {"host_zero", "launch, sync, data loading, garbage collection and copies together"},
      {"imbalance_fixed", "stragglers and experts together"}};
  return kWords;
}

std::string what_if_help() {
  std::string out = "Changes for --what-if, alone or joined by +:\n";
  for (const WhatIfWords& w : what_if_words())
    out += fmt::format("  {} {}\n", pad_right(w.id, 19), w.words);
  return out;
}

}  // namespace ws::cli
