#pragma once
// The part of the workload that is no training: it loads what the CUDA driver and NVTX clients
// load, and reaches the simulator of CUPTI.
#include <cstdint>
#include <string>

#include "support/cupti_sim.h"
#include "support/nvtx_client.h"

namespace ws::test {

[[noreturn]] void fail(const std::string& why);

struct Gpu {
  decltype(cuptisim_kernel)* kernel;
  decltype(cuptisim_copy)* copy;
  decltype(cuptisim_fill)* fill;
  decltype(cuptisim_call)* call;
  decltype(cuptisim_sync)* sync;
  decltype(cuptisim_overhead)* overhead;
  decltype(cuptisim_graph)* graph;
  decltype(cuptisim_memory)* memory;
  decltype(cuptisim_subscribed)* subscribed;
};

Gpu initialise_cuda();
NvtxClient& nvtx();
uint32_t this_tid();

// Of a communicator and bytes, with a static number, as NCCL has them.
void register_schema(collector::nvtx::Domain domain, uint64_t number);

}  // namespace ws::test
