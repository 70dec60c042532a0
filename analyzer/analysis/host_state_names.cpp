// Names of calls and host ranges to host states: the one place that knows them. Flat tables, first
// match wins; every row says whose name it is. Rows for ranges are matched without case.
// Tested by: host_states_test.cpp
#include <string>

#include "analysis/host_states.h"
#include "analysis/range_names.h"

namespace ws {
namespace {

enum class Match : uint8_t { exact, prefix, contains };

struct CallName {
  Match match;
  std::string_view text;
  HostState state;
  std::string_view source;
};

constexpr std::string_view kRuntime = "CUDA Runtime API", kDriver = "CUDA Driver API",
                           kHip = "HIP Runtime API", kHiprtc = "HIPRTC";
constexpr HostState kSync = HostState::sync, kLaunch = HostState::launch, kAlloc = HostState::alloc,
                    kJit = HostState::jit, kBuild = HostState::graph_build;

// Synchronous copies and fills are exact: everything else that copies is asynchronous by name.
constexpr CallName kCalls[] = {
    {Match::contains, "GraphLaunch", HostState::graph_launch, "CUDA and HIP graph management"},
    {Match::prefix, "cudaLaunch", kLaunch, kRuntime},
    {Match::prefix, "cuLaunch", kLaunch, kDriver},
    {Match::prefix, "hipLaunch", kLaunch, kHip},
    {Match::prefix, "hipModuleLaunch", kLaunch, kHip},
    {Match::prefix, "hipExtLaunch", kLaunch, kHip},
    {Match::prefix, "hipExtModuleLaunch", kLaunch, kHip},
    {Match::prefix, "hipHccModuleLaunch", kLaunch, kHip},
    {Match::contains, "Synchronize", kSync, "CUDA and HIP stream, event, device and context waits"},
    {Match::exact, "cudaMemcpy", kSync, kRuntime},
    {Match::exact, "cudaMemcpy2D", kSync, kRuntime},
    {Match::exact, "cudaMemcpyToSymbol", kSync, kRuntime},
    {Match::exact, "cudaMemset", kSync, kRuntime},
    {Match::exact, "cuMemcpy", kSync, kDriver},
    {Match::exact, "cuMemcpyHtoD", kSync, kDriver},
    {Match::exact, "cuMemcpyDtoH", kSync, kDriver},
    {Match::exact, "cuMemcpyDtoD", kSync, kDriver},
    {Match::exact, "hipMemcpy", kSync, kHip},
    {Match::exact, "hipMemcpy2D", kSync, kHip},
    {Match::exact, "hipMemcpyToSymbol", kSync, kHip},
    {Match::exact, "hipMemcpyHtoD", kSync, kHip},
    {Match::exact, "hipMemcpyDtoH", kSync, kHip},
    {Match::exact, "hipMemcpyDtoD", kSync, kHip},
    {Match::exact, "hipMemcpyWithStream", kSync, kHip},
    {Match::exact, "hipMemset", kSync, kHip},
    {Match::prefix, "cudaMemcpy", kLaunch, kRuntime},
    {Match::prefix, "cudaMemset", kLaunch, kRuntime},
    {Match::prefix, "cuMemcpy", kLaunch, kDriver},
    {Match::prefix, "cuMemset", kLaunch, kDriver},
    {Match::prefix, "hipMemcpy", kLaunch, kHip},
    {Match::prefix, "hipMemset", kLaunch, kHip},
    {Match::prefix, "cudaMalloc", kAlloc, kRuntime},
    {Match::prefix, "cudaFree", kAlloc, kRuntime},
    {Match::prefix, "cudaHostAlloc", kAlloc, kRuntime},
    {Match::prefix, "cudaHostRegister", kAlloc, kRuntime},
    {Match::prefix, "cudaMemPool", kAlloc, kRuntime},
    {Match::prefix, "cuMemAlloc", kAlloc, kDriver},
    {Match::prefix, "cuMemFree", kAlloc, kDriver},
    {Match::prefix, "cuMemHostAlloc", kAlloc, kDriver},
    {Match::prefix, "cuMemPool", kAlloc, kDriver},
    {Match::prefix, "cuMemCreate", kAlloc, kDriver},
    {Match::prefix, "cuMemMap", kAlloc, kDriver},
    {Match::prefix, "cuMemUnmap", kAlloc, kDriver},
    {Match::prefix, "cuMemRelease", kAlloc, kDriver},
    {Match::prefix, "cuMemSetAccess", kAlloc, kDriver},
    {Match::prefix, "cuMemAddressReserve", kAlloc, kDriver},
    {Match::prefix, "cuMemAddressFree", kAlloc, kDriver},
    {Match::prefix, "hipMalloc", kAlloc, kHip},
    {Match::prefix, "hipFree", kAlloc, kHip},
    {Match::prefix, "hipExtMalloc", kAlloc, kHip},
    {Match::prefix, "hipHostMalloc", kAlloc, kHip},
    {Match::prefix, "hipHostAlloc", kAlloc, kHip},
    {Match::prefix, "hipHostFree", kAlloc, kHip},
    {Match::prefix, "hipHostRegister", kAlloc, kHip},
    {Match::prefix, "hipMemAlloc", kAlloc, kHip},
    {Match::prefix, "hipMemPool", kAlloc, kHip},
    {Match::prefix, "hipMemCreate", kAlloc, kHip},
    {Match::prefix, "hipMemMap", kAlloc, kHip},
    {Match::prefix, "hipMemUnmap", kAlloc, kHip},
    {Match::prefix, "hipMemRelease", kAlloc, kHip},
    {Match::prefix, "hipMemSetAccess", kAlloc, kHip},
    {Match::prefix, "hipMemAddressReserve", kAlloc, kHip},
    {Match::prefix, "hipMemAddressFree", kAlloc, kHip},
    {Match::prefix, "cuModuleLoad", kJit, kDriver},
    {Match::prefix, "cuModuleGetFunction", kJit, kDriver},
    {Match::prefix, "cuLibraryLoad", kJit, kDriver},
    {Match::prefix, "cuLink", kJit, kDriver},
    {Match::prefix, "cudaLibraryLoad", kJit, kRuntime},
    {Match::prefix, "cudaFuncGetAttributes", kJit, kRuntime},
    {Match::prefix, "hipModuleLoad", kJit, kHip},
    {Match::prefix, "hipModuleGetFunction", kJit, kHip},
    {Match::prefix, "hipLink", kJit, kHip},
    {Match::prefix, "hipFuncGetAttributes", kJit, kHip},
    {Match::prefix, "hiprtc", kJit, kHiprtc},
    {Match::prefix, "cudaGraphInstantiate", kBuild, kRuntime},
    {Match::prefix, "cudaGraphExecUpdate", kBuild, kRuntime},
    {Match::prefix, "cudaStreamBeginCapture", kBuild, kRuntime},
    {Match::prefix, "cudaStreamEndCapture", kBuild, kRuntime},
    {Match::prefix, "cuGraphInstantiate", kBuild, kDriver},
    {Match::prefix, "hipGraphInstantiate", kBuild, kHip},
    {Match::prefix, "hipGraphExecUpdate", kBuild, kHip},
    {Match::prefix, "hipStreamBeginCapture", kBuild, kHip},
    {Match::prefix, "hipStreamEndCapture", kBuild, kHip},
};

enum class Where : uint8_t { program, recorder };  // ranges of the program, or overhead rows

struct RangeName {
  Where where;
  Match match;
  std::string_view text;  // lower case
  HostState state;
  std::string_view source;
};

constexpr RangeName kRanges[] = {
    // The launch queue is full: the host waits for the device and costs nothing by itself.
    {Where::recorder, Match::contains, "command buffer full", HostState::none, "CUPTI overhead"},
    {Where::recorder, Match::contains, "module loading", kJit, "CUPTI overhead"},
    {Where::recorder, Match::contains, "lazy function loading", kJit, "CUPTI overhead"},
    {Where::recorder, Match::contains, "driver compiler", kJit, "CUPTI overhead, Kineto's words"},
    {Where::recorder, Match::contains, "driver jit", kJit, "CUPTI overhead, older words"},
    {Where::recorder, Match::contains, "", HostState::profiler,
     "all other CUPTI, Nsight Systems and Kineto overhead rows"},
    {Where::program, Match::contains, "dataload", HostState::dataload, "PyTorch, Lightning"},
    {Where::program, Match::contains, "data_load", HostState::dataload, "users' ranges"},
    {Where::program, Match::contains, "data load", HostState::dataload, "users' ranges"},
    {Where::program, Match::contains, "next_batch", HostState::dataload, "users' ranges"},
    {Where::program, Match::contains, "get_batch", HostState::dataload, "Megatron-LM"},
    {Where::program, Match::contains, "load_batch", HostState::dataload, "TorchRec pipelines"},
    {Where::program, Match::contains, "wait_for_batch", HostState::dataload, "TorchRec pipelines"},
    {Where::program, Match::contains, "batch-generator", HostState::dataload, "Megatron-LM timers"},
    {Where::program, Match::exact, "gc", HostState::gc, "users' ranges"},
    {Where::program, Match::exact, "gc.collect", HostState::gc, "users' ranges"},
    {Where::program, Match::exact, "python gc", HostState::gc, "users' ranges"},
    {Where::program, Match::prefix, "gc.py: collect", HostState::gc, "Python tracers"},
    {Where::program, Match::exact, "<built-in function collect>", HostState::gc, "torch.profiler"},
    {Where::program, Match::contains, "garbage collect", HostState::gc, "users' ranges"},
    {Where::program, Match::contains, "cumoduleload", kJit, "CUDA driver"},
    {Where::program, Match::contains, "module loading", kJit, "CUDA driver"},
    {Where::program, Match::contains, "lazy function loading", kJit, "CUDA driver"},
    {Where::program, Match::contains, "lazy loading", kJit, "users' ranges"},
    {Where::program, Match::contains, "lazy_load", kJit, "users' ranges"},
    {Where::program, Match::contains, "autotune", kJit, "Triton, Inductor, Transformer Engine"},
    {Where::program, Match::contains, "driver jit", kJit, "CUDA driver"},
    {Where::program, Match::contains, "jit compil", kJit, "users' ranges"},
    {Where::program, Match::contains, "compile", kJit, "torch.compile, Dynamo, Inductor"},
};

bool matches(Match match, std::string_view text, std::string_view name) {
  switch (match) {
    case Match::exact:
      return name == text;
    case Match::prefix:
      return name.substr(0, text.size()) == text;
    case Match::contains:
      break;
  }
  return name.find(text) != std::string_view::npos;
}

// "cuMemFree_v2", "cudaMemcpyAsync_ptsz_v7000": normally cut by the importer already.
std::string_view without_abi_suffix(std::string_view name) {
  for (const std::string_view suffix : {"_v", "_ptsz", "_ptds"}) {
    if (const size_t at = name.find(suffix); at != std::string_view::npos)
      name = name.substr(0, at);
  }
  return name;
}

// "compile" as an act: neither code that is compiled already nor a file compiler.py on the path of
// every launch.
bool compiles(std::string_view name) {
  constexpr std::string_view kWord = "compile";
  for (size_t at = name.find(kWord); at != std::string_view::npos; at = name.find(kWord, at + 1)) {
    const std::string_view rest = name.substr(at + kWord.size());
    if (rest.empty() || (rest.front() != 'd' && rest.front() != 'r' && rest.substr(0, 3) != "_wr"))
      return true;
  }
  return false;
}

constexpr size_t kLongestName = 4096;

bool never_describes_a_thread(RangeSource source) {
  return source == RangeSource::gpu_annotation || source == RangeSource::mark ||
         source == RangeSource::nvtx_start_end || source == RangeSource::os_runtime;
}

}  // namespace

HostState state_of_call(std::string_view name) {
  name = without_abi_suffix(name);
  for (const CallName& r : kCalls) {
    if (matches(r.match, r.text, name)) return r.state;
  }
  return HostState::other;
}

bool launches_kernels(std::string_view call_name) {
  return call_name.find("Launch") != std::string_view::npos &&
         call_name.find("HostFunc") == std::string_view::npos;
}

HostState state_of_range(std::string_view name, RangeSource source) {
  if (never_describes_a_thread(source)) return HostState::none;
  const Where where = source == RangeSource::overhead ? Where::recorder : Where::program;
  const std::string lower = small_letters(range_stem(name.substr(0, kLongestName)));
  // A Python frame is "file(line): function"; files are named after what they deal with.
  const size_t colon = lower.rfind("): ");
  const std::string_view function = source == RangeSource::python && colon != std::string::npos
                                        ? std::string_view(lower).substr(colon + 3)
                                        : std::string_view(lower);
  for (const RangeName& r : kRanges) {
    if (r.where != where) continue;
    const std::string_view subject = r.state == kJit ? function : std::string_view(lower);
    if (r.text == "compile" ? compiles(subject) : matches(r.match, r.text, subject)) return r.state;
  }
  return HostState::none;
}

}  // namespace ws
