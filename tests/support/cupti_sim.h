#pragma once
// What a workload tells the CUPTI simulator that happened; times are ns of the clock that the
// recorder registered. The simulator writes a record when its kind or call id is enabled.
#include <cstdint>

struct SimKernel {
  const char* name;
  uint64_t start, end;
  uint32_t device, context, stream, correlation, graph;
  uint64_t node;
};
struct SimCopy {
  uint64_t start, end, bytes;
  uint32_t kind, source, target, device, context, stream, correlation, graph;
  uint64_t node;
};
struct SimFill {
  uint64_t start, end, bytes;
  uint32_t device, context, stream, correlation;
};
struct SimCall {
  const char* name;  // as cuptiGetCallbackName gives it
  uint64_t start, end;
  uint32_t thread, correlation;
};
struct SimSync {
  uint64_t start, end;
  uint32_t type, stream, event, correlation;
};
struct SimOverhead {
  uint64_t start, end;
  uint32_t kind, thread;
};
struct SimGraph {
  uint64_t start, end;
  uint32_t graph, device, context, stream, correlation;
};
struct SimMemory {
  uint64_t time, bytes;
  uint32_t device, allocation;
};

extern "C" {
void cuptisim_kernel(const SimKernel*);
void cuptisim_copy(const SimCopy*);
void cuptisim_fill(const SimFill*);
int cuptisim_call(const SimCall*);  // 0: no such function
void cuptisim_sync(const SimSync*);
void cuptisim_overhead(const SimOverhead*);
void cuptisim_graph(const SimGraph*);
void cuptisim_memory(const SimMemory*);
uint64_t cuptisim_written();   // records
int cuptisim_subscribed();     // 1 while a subscriber is there
uint64_t cuptisim_refusals();  // of buffers
}
