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
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>

#include "recorder/workload_driver.h"
#include "recorder/workload_script.h"

namespace ws::test {
namespace {

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
    using namespace collector::nvtx;
    struct {
      uint64_t communicator;
      size_t bytes;
    } values{communicator, bytes};
    PayloadData data{kSchema, sizeof values, &values};
    EventAttributes a = NvtxClient::text(nullptr);
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
  collector::nvtx::Domain domain_ = nvtx().domain("NCCL");
  collector::nvtx::StringHandle name_ = nvtx().string(domain_, "ncclAllReduce");
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

int run(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  if (what == "play") return play(argv[2]);
  const auto steps = static_cast<uint32_t>(argc > 2 ? std::atoi(argv[2]) : 0);
  if (what == "loop") return loop(steps, argc > 3 ? argv[3] : "return");
  if (what == "nvtx") return ranges_only(steps);
  const auto number = [&](int i) { return static_cast<uint32_t>(std::atoi(argv[i])); };
  if (what == "train" && argc > 5) return train(steps, number(3), number(4), number(5), argc > 6);
  fail("play SCRIPT | loop STEPS [WAY] | nvtx STEPS | train STEPS LAYERS FIRST_US LATER_US");
}

}  // namespace
}  // namespace ws::test

int main(int argc, char** argv) { return ws::test::run(argc, argv); }
