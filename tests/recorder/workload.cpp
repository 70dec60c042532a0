// A training job without a GPU: plays the part of the CUDA driver (loads the injected library), of
// NVTX clients, and of what CUPTI would see (through the simulator).
//
//   workload play SCRIPT        what the script says, at the times it says
//   workload loop STEPS [WAY]   steps in real time; 0: for ever. At the end it leaves by WAY:
//                               return exit _exit abort kill raise fork thread
//   workload nvtx STEPS         ranges only, CUDA is never touched
//   workload train STEPS LAYERS FIRST_US LATER_US [noise]
//                               steps that no range marks: layers of the first step and of later
//                               ones with a reduction each, then gradients; the copy of step n has
//                               n bytes
// WORKLOAD_SLOW_WHEN_RECORDED: a step of the loop takes 1 ms more while CUPTI has a subscriber.
// WALLSIGHT_CUPTI is the simulator, as for the recorder; WORKLOAD_SIMULATOR another file of it.
// Prints the number of steps at the end.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/cupti_sim.h"
#include "support/nvtx_client.h"

namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local int64_t scripted_ns = -1;  // what the clock says in this thread; -1: the truth

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "workload: %s\n", why.c_str());
  std::_Exit(9);
}

template <class Function>
Function* symbol(void* library, const char* name) {
  auto* f = reinterpret_cast<Function*>(::dlsym(library, name));
  if (f == nullptr) fail(std::string("no ") + name);
  return f;
}

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

ws::test::NvtxClient& nvtx() {
  static ws::test::NvtxClient client;
  static const bool loaded = [] {
    const char* path = std::getenv("NVTX_INJECTION64_PATH");
    return path != nullptr && client.load(path);
  }();
  (void)loaded;
  return client;
}

uint32_t this_tid() { return static_cast<uint32_t>(::syscall(SYS_gettid)); }

struct Range {
  int64_t begin, end;
  std::string name, domain;
  uint64_t communicator;
  int64_t bytes;
};

// Of a communicator and bytes, with a static number, as NCCL has them.
void register_schema(ws::collector::nvtx::Domain domain, uint64_t number) {
  using namespace ws::collector::nvtx;
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

// Nested ranges of one thread, in order of their begins (of equal ones the longest first).
class ThreadPlayer {
 public:
  explicit ThreadPlayer(const std::vector<Range>& ranges) : ranges_(ranges) {}
  void play() {
    std::vector<const Range*> open;
    for (const Range& r : ranges_) {
      while (!open.empty() && open.back()->end <= r.begin) {
        end(*open.back());
        open.pop_back();
      }
      begin(r);
      open.push_back(&r);
    }
    for (; !open.empty(); open.pop_back()) end(*open.back());
    scripted_ns = -1;
  }

 private:
  void* domain(const std::string& name) {
    if (name.empty()) return nullptr;
    auto [it, fresh] = domains_.try_emplace(name, nullptr);
    if (fresh) it->second = nvtx().domain(name.c_str());
    return it->second;
  }
  void begin(const Range& r) {
    using namespace ws::collector::nvtx;
    scripted_ns = r.begin;
    if (r.domain.empty()) {
      nvtx().push(r.name.c_str());
      return;
    }
    EventAttributes a = ws::test::NvtxClient::text(nullptr);
    a.message_type = kRegistered;
    a.message.registered = nvtx().string(domain(r.domain), r.name.c_str());
    struct {
      uint64_t communicator;
      size_t bytes;
    } values{r.communicator, static_cast<size_t>(r.bytes)};
    PayloadData data{(1 << 24) + 4, sizeof values, &values};
    if (r.bytes >= 0) {
      register_schema(domain(r.domain), data.schema);
      a.payload_type = kPayloadExtended;
      a.payload_count = 1;
      a.payload = reinterpret_cast<uint64_t>(&data);
    }
    nvtx().push(domain(r.domain), a);
  }
  void end(const Range& r) {
    scripted_ns = r.end;
    if (r.domain.empty()) {
      nvtx().pop();
    } else {
      nvtx().pop(domain(r.domain));
    }
  }
  const std::vector<Range>& ranges_;
  std::map<std::string, void*> domains_;
};

struct Script {
  std::map<uint32_t, std::vector<Range>> ranges;  // by the script's thread
  std::vector<std::string> records;               // the other lines
};

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> out;
  std::stringstream in(line);
  for (std::string f; std::getline(in, f, '\t');) out.push_back(f);
  return out;
}

// R begin end thread name domain communicator bytes; the rest is for play_record.
Script read_script(const char* path) {
  Script out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] != 'R') {
      if (!line.empty()) out.records.push_back(line);
      continue;
    }
    const auto f = fields_of(line);
    out.ranges[static_cast<uint32_t>(std::stoul(f.at(3)))].push_back(
        {std::stoll(f.at(1)), std::stoll(f.at(2)), f.at(4), f.size() > 5 ? f[5] : "",
         f.size() > 6 ? std::stoull(f[6]) : 0, f.size() > 7 ? std::stoll(f[7]) : -1});
  }
  return out;
}

void play_record(const Gpu& gpu, const std::string& line,
                 const std::map<uint32_t, uint32_t>& threads) {
  const auto f = fields_of(line);
  const auto n = [&](size_t i) { return std::stoull(f.at(i)); };
  const auto u = [&](size_t i) { return static_cast<uint32_t>(n(i)); };
  const auto thread = [&](size_t i) {
    const auto known = threads.find(u(i));
    return known == threads.end() ? u(i) : known->second;
  };
  static std::vector<std::string*> names;  // CUPTI's names live as long as the module
  switch (line[0]) {
    case 'K': {  // begin end device context stream correlation graph node name
      names.push_back(new std::string(f.at(9)));
      const SimKernel k{names.back()->c_str(), n(1), n(2), u(3), u(4), u(5), u(6), u(7), n(8)};
      return gpu.kernel(&k);
    }
    case 'C': {  // begin end bytes kind source target device context stream correlation
      const SimCopy c{n(1), n(2), n(3), u(4), u(5), u(6), u(7), u(8), u(9), u(10), 0, 0};
      return gpu.copy(&c);
    }
    case 'F': {  // begin end bytes device context stream correlation
      const SimFill c{n(1), n(2), n(3), u(4), u(5), u(6), u(7)};
      return gpu.fill(&c);
    }
    case 'A': {  // begin end thread correlation name
      const SimCall c{f.at(5).c_str(), n(1), n(2), thread(3), u(4)};
      if (gpu.call(&c) == 0) fail("the simulator knows no " + f.at(5));
      return;
    }
    case 'S': {  // begin end type stream event correlation
      const SimSync c{n(1), n(2), u(3), u(4), u(5), u(6)};
      return gpu.sync(&c);
    }
    case 'O': {  // begin end kind thread
      const SimOverhead c{n(1), n(2), u(3), u(4)};
      return gpu.overhead(&c);
    }
    case 'G': {  // begin end graph device context stream correlation
      const SimGraph c{n(1), n(2), u(3), u(4), u(5), u(6), u(7)};
      return gpu.graph(&c);
    }
    case 'M': {  // time bytes device allocation
      const SimMemory c{n(1), n(2), u(3), u(4)};
      return gpu.memory(&c);
    }
    default:
      fail("unknown line: " + line);
  }
}

int play(const char* path) {
  const Script script = read_script(path);
  const Gpu gpu = initialise_cuda();
  std::map<uint32_t, uint32_t> threads;
  for (const auto& [id, ranges] : script.ranges) {
    uint32_t tid = 0;
    std::thread([&, &list = ranges] {
      tid = this_tid();
      ThreadPlayer(list).play();
    }).join();
    threads[id] = tid;
  }
  for (const std::string& line : script.records) play_record(gpu, line, threads);
  std::printf("played %zu records\n", script.records.size());
  return 0;
}

int64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// One step: a range, ten launches with their kernels, a wait.
void step(const Gpu& gpu, uint32_t n) {
  nvtx().push("iteration");
  for (uint32_t i = 0; i < 10; ++i) {
    const auto t = static_cast<uint64_t>(now_ns());
    const uint32_t correlation = n * 10 + i + 1;
    const SimCall launch{"cudaLaunchKernel_v7000", t, t + 2'000, this_tid(), correlation};
    gpu.call(&launch);
    const SimKernel k{"_Z4gemmPfS_i", t + 5'000, t + 25'000, 0, 1, 7, correlation, 0, 0};
    gpu.kernel(&k);
    ::usleep(30);
  }
  static const bool slow = std::getenv("WORKLOAD_SLOW_WHEN_RECORDED") != nullptr;
  if (slow && gpu.subscribed() != 0) ::usleep(1'000);
  nvtx().pop();
}

// Where the parent of a kill test reads how far this process is.
uint64_t* progress() {
  const char* path = std::getenv("WORKLOAD_PROGRESS");
  if (path == nullptr) return nullptr;
  const int fd = ::open(path, O_RDWR);
  void* p = fd < 0 ? MAP_FAILED : ::mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return p == MAP_FAILED ? nullptr : static_cast<uint64_t*>(p);
}

int leave(const std::string& way) {
  std::fflush(stdout);
  if (way == "exit") std::exit(3);
  if (way == "_exit") ::_exit(3);
  if (way == "abort") std::abort();
  if (way == "kill") ::kill(::getpid(), SIGKILL);
  if (way == "raise") std::raise(SIGTERM);
  if (way == "thread") std::thread([] { std::exit(3); }).join();
  return 3;
}

int loop(uint32_t steps, const std::string& way) {
  const Gpu gpu = initialise_cuda();
  volatile uint64_t* const seen = progress();
  uint32_t n = 0;
  for (; steps == 0 || n < steps; ++n) {
    step(gpu, n);
    if (seen != nullptr) *seen = n + 1;
    if (way == "fork" && n == steps / 2) {
      const pid_t child = ::fork();
      if (child == 0) {
        nvtx().push("in the child");
        nvtx().domain("a new domain");
        nvtx().pop();
        std::exit(0);
      }
      int status = -1;
      ::waitpid(child, &status, 0);
      if (status != 0) fail("the child did not end well");
    }
  }
  std::printf("%u steps\n", n);
  return leave(way);
}

// As NCCL asks for an operation: a registered name and a payload in a schema of its own.
class NcclRanges {
 public:
  NcclRanges() { register_schema(domain_, kSchema); }
  void ask(uint64_t communicator, size_t bytes) {
    using namespace ws::collector::nvtx;
    struct {
      uint64_t communicator;
      size_t bytes;
    } values{communicator, bytes};
    PayloadData data{kSchema, sizeof values, &values};
    EventAttributes a = ws::test::NvtxClient::text(nullptr);
    a.message_type = kRegistered;
    a.message.registered = name_;
    a.payload_type = kPayloadExtended;
    a.payload_count = 1;
    a.payload = reinterpret_cast<uint64_t>(&data);
    nvtx().push(domain_, a);
    nvtx().pop(domain_);
  }

 private:
  static constexpr uint64_t kSchema = (1 << 24) + 5;
  ws::collector::nvtx::Domain domain_ = nvtx().domain("NCCL");
  ws::collector::nvtx::StringHandle name_ = nvtx().string(domain_, "ncclAllReduce");
};

int train(uint32_t steps, uint32_t layers, useconds_t first_us, useconds_t later_us, bool noise) {
  const Gpu gpu = initialise_cuda();
  NcclRanges nccl;
  uint32_t correlation = 0, random = 1;
  constexpr size_t kLayer = 1 << 24, kBucket = 1 << 25;
  const auto kernel = [&](const char* name) {
    const auto t = static_cast<uint64_t>(now_ns());
    const SimCall launch{"cudaLaunchKernel_v7000", t, t + 2'000, this_tid(), ++correlation};
    gpu.call(&launch);
    const SimKernel k{name, t + 5'000, t + 25'000, 0, 1, 7, correlation, 0, 0};
    gpu.kernel(&k);
  };
  for (uint32_t n = 0; n < steps; ++n) {
    const auto t = static_cast<uint64_t>(now_ns());
    const SimCall call{"cudaMemcpyAsync_v3020", t, t + 1'000, this_tid(), ++correlation};
    gpu.call(&call);
    const SimCopy copy{t + 2'000, t + 3'000, n, 1, 2, 3, 0, 1, 7, correlation, 0, 0};
    gpu.copy(&copy);
    for (uint32_t i = 0; i < layers; ++i) {
      kernel("_Z4gemmPfS_i");
      random = random * 1664525u + 1013904223u;
      nccl.ask(1, kLayer + (noise ? random >> 8 : 0));
      ::usleep(n == 0 ? first_us : later_us);
    }
    for (uint32_t i = 0; i < 2; ++i) {
      nccl.ask(2, kBucket + i);
      kernel("_Z6reducePfS_i");
    }
    nccl.ask(3, 4);  // a norm
    kernel("_Z4adamPfS_i");
  }
  std::printf("%u steps\n", steps);
  return 0;
}

int ranges_only(uint32_t steps) {
  for (uint32_t n = 0; n < steps; ++n) {
    nvtx().push("iteration");
    ::usleep(100);
    nvtx().pop();
  }
  std::printf("%u steps\n", steps);
  return 0;
}

}  // namespace

// The recorder's clock is ours: dynamic linking finds this one first.
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t id, timespec* out) {
  if (id == CLOCK_MONOTONIC && scripted_ns >= 0) {
    out->tv_sec = scripted_ns / 1'000'000'000;
    out->tv_nsec = scripted_ns % 1'000'000'000;
    return 0;
  }
  return static_cast<int>(::syscall(SYS_clock_gettime, id, out));
}

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  if (what == "play") return play(argv[2]);
  const auto steps = static_cast<uint32_t>(argc > 2 ? std::atoi(argv[2]) : 0);
  if (what == "loop") return loop(steps, argc > 3 ? argv[3] : "return");
  if (what == "nvtx") return ranges_only(steps);
  const auto number = [&](int i) { return static_cast<uint32_t>(std::atoi(argv[i])); };
  if (what == "train" && argc > 5) return train(steps, number(3), number(4), number(5), argc > 6);
  fail("play SCRIPT | loop STEPS [WAY] | nvtx STEPS | train STEPS LAYERS FIRST_US LATER_US");
}
