#include "recorder/workload_driver.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace ws::test {
namespace {

template <class Function>
Function* symbol(void* library, const char* name) {
  auto* f = reinterpret_cast<Function*>(::dlsym(library, name));
  if (f == nullptr) fail(std::string("no ") + name);
  return f;
}

}  // namespace

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "workload: %s\n", why.c_str());
  std::_Exit(9);
}

Gpu initialise_cuda() {
  const char* sim_path = std::getenv("WORKLOAD_SIMULATOR");
  if (sim_path == nullptr) sim_path = std::getenv("WALLSIGHT_CUPTI");
  void* sim = ::dlopen(sim_path, RTLD_NOW | RTLD_GLOBAL);
  if (sim == nullptr) fail(::dlerror());
  if (const char* path = std::getenv("CUDA_INJECTION64_PATH"); path != nullptr) {
    void* library = ::dlopen(path, RTLD_NOW);
    if (library == nullptr) fail(::dlerror());
    symbol<int()>(library, "InitializeInjection")();
  }
  return {symbol<decltype(cuptisim_kernel)>(sim, "cuptisim_kernel"),
          symbol<decltype(cuptisim_copy)>(sim, "cuptisim_copy"),
          symbol<decltype(cuptisim_fill)>(sim, "cuptisim_fill"),
          symbol<decltype(cuptisim_call)>(sim, "cuptisim_call"),
          symbol<decltype(cuptisim_sync)>(sim, "cuptisim_sync"),
          symbol<decltype(cuptisim_overhead)>(sim, "cuptisim_overhead"),
          symbol<decltype(cuptisim_graph)>(sim, "cuptisim_graph"),
          symbol<decltype(cuptisim_memory)>(sim, "cuptisim_memory"),
          symbol<decltype(cuptisim_subscribed)>(sim, "cuptisim_subscribed")};
}

NvtxClient& nvtx() {
  static NvtxClient client;
  static const bool loaded = [] {
    const char* path = std::getenv("NVTX_INJECTION64_PATH");
    return path != nullptr && client.load(path);
  }();
  (void)loaded;
  return client;
}

uint32_t this_tid() { return static_cast<uint32_t>(::syscall(SYS_gettid)); }

void register_schema(collector::nvtx::Domain domain, uint64_t number) {
  using namespace collector::nvtx;
  SchemaEntry entries[2] = {};
  entries[0].type = kUint64;
  entries[0].name = "NCCL communicator ID";
  entries[1].type = kSize;
  entries[1].name = "Message size [bytes]";
  entries[1].offset = 8;
  SchemaAttributes schema{};
  schema.field_mask = kFieldSchemaId;
  schema.entries = entries;
  schema.entry_count = 2;
  schema.schema = number;
  nvtx().payload<uint64_t>(kSchemaRegister, domain, static_cast<const SchemaAttributes*>(&schema));
}

}  // namespace ws::test
