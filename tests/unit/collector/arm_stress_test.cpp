// 10,000 windows come and go while 64 threads push ranges and launch kernels: nothing is mispaired,
// nothing is torn, and CUPTI is free again at the end. Meant for the thread sanitizer.
//
// ARM_STRESS_WINDOWS sets another number of windows.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "collector/cupti_source.h"
#include "collector/nvtx_handlers.h"
#include "collector/nvtx_source.h"
#include "support/catch.h"
#include "support/cupti_sim.h"
#include "support/nvtx_client.h"
#include "support/scratch_folder.h"
#include "unit/collector/frames.h"

using namespace ws::collector;
using ws::test::NvtxClient;

namespace {

constexpr int kThreads = 64;
constexpr uint64_t kKernelNs = 1'000;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): C functions know no object
NvtxSource* g_under_load = nullptr;
int init(nvtx::GetExportTable get) { return g_under_load->add_client(get); }
int init_extension(nvtx::ExtensionModule* m) { return g_under_load->add_extension(m); }

int windows() {
  const char* asked = std::getenv("ARM_STRESS_WINDOWS");
  return asked == nullptr ? 10'000 : std::atoi(asked);
}

template <class Function>
Function* symbol(void* library, const char* name) {
  auto* f = reinterpret_cast<Function*>(::dlsym(library, name));
  REQUIRE(f != nullptr);
  return f;
}

// What was written: every kernel whole, every range of its domain, no loss.
void check_rows(const std::string& path, const Names& names) {
  size_t kernels = 0, ranges = 0;
  for (const auto& chunk : ws::test::chunks_of(path)) {
    CHECK(chunk.losses_size() == 0);
    for (const int64_t length : chunk.kernels().duration())
      if (length != static_cast<int64_t>(kKernelNs)) FAIL("a torn kernel");
    kernels += static_cast<size_t>(chunk.kernels().duration_size());
    const auto& r = chunk.ranges();
    ranges += static_cast<size_t>(r.name_size());
    for (int i = 0; i < r.name_size(); ++i) {
      const auto domain = r.domain().empty() ? 0 : r.domain(i);
      const bool inner = names.text_of(r.name(i)) == "inner";
      if (!inner && names.text_of(r.name(i)) != "outer") FAIL("a range of no name");
      if (inner != (domain != 0)) FAIL("a range of the wrong domain");
      if (r.duration(i) < 0) FAIL("a range that ends before it begins");
    }
  }
  CHECK(kernels > 100);
  CHECK(ranges > 100);
}

}  // namespace

TEST_CASE("windows come and go under the load of 64 threads") {
  const ws::test::ScratchFolder folder;
  const std::string path = folder.path() + "/a.wst";
  void* const simulator = ::dlopen(WS_CUPTI_SIM, RTLD_NOW | RTLD_GLOBAL);
  REQUIRE(simulator != nullptr);
  auto* const kernel = symbol<decltype(cuptisim_kernel)>(simulator, "cuptisim_kernel");
  auto* const call = symbol<decltype(cuptisim_call)>(simulator, "cuptisim_call");
  auto* const subscribed = symbol<decltype(cuptisim_subscribed)>(simulator, "cuptisim_subscribed");

  Names names;
  Recording out(names);
  REQUIRE(out.open(path, UINT64_MAX, {}) == 0);
  NvtxSource ranges(names, [] {});
  CuptiSource gpu(names, out, 2 * kThreads);
  g_under_load = &ranges;
  set_nvtx_source(&ranges);
  NvtxClient client;
  REQUIRE(client.attach(init, init_extension));

  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto domain = client.domain("d");
      for (uint32_t n = 1; !stop; ++n) {
        client.push("outer");
        client.push(domain, NvtxClient::text("inner"));
        const auto now = static_cast<uint64_t>(monotonic_ns());
        const SimCall launch{"cudaLaunchKernel_v7000", now, now + 10, t, n};
        call(&launch);
        const SimKernel k{"gemm", now + 20, now + 20 + kKernelNs, 0, 1, t, n, 0, 0};
        kernel(&k);
        client.pop(domain);
        client.pop();
        ::usleep(3'000);
      }
    });
  }
  bool all_began = true;
  for (int i = 0; i < windows(); ++i) {
    ranges.start();
    all_began = gpu.start(Tier::host, WS_CUPTI_SIM) && all_began;
    if (i % 16 == 0) ::usleep(2'000);
    gpu.take_full_buffers();
    ranges.take_ranges(out);
    ranges.stop();
    gpu.stop();
  }
  CHECK(all_began);
  CHECK(subscribed() == 0);
  stop = true;
  for (std::thread& t : threads) t.join();
  ranges.take_ranges(out);
  out.finish({});
  set_nvtx_source(nullptr);
  check_rows(path, names);
}
