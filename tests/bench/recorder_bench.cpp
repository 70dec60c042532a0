// What the recorder costs, without a GPU: an NVTX push and pop without a tool, in standby and
// armed; CPU of the writer's thread and bytes on disk for one record of CUPTI, from buffers to the
// file.
//
//   recorder_bench FOLDER     prints: what, value, budget
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "collector/activity_decoder.h"
#include "collector/nvtx_handlers.h"
#include "support/nvtx_client.h"

using namespace ws::collector;

namespace {

double cpu_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// The median of nine stretches: the machine may have others to serve.
template <class Work>
double median_ns(size_t calls, Work work) {
  std::vector<double> runs;
  for (int i = 0; i < 9; ++i) {
    const double begin = cpu_ns();
    for (size_t k = 0; k < calls; ++k) work();
    runs.push_back((cpu_ns() - begin) / static_cast<double>(calls));
  }
  std::sort(runs.begin(), runs.end());
  return runs[4];
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): C functions know no object
NvtxSource* g_source = nullptr;
int init(nvtx::GetExportTable get) { return g_source->add_client(get); }
int init_extension(nvtx::ExtensionModule* m) { return g_source->add_extension(m); }

// While a step is waited for: a range, and an operation of NCCL that is looked at for the pattern.
std::pair<double, double> cost_of_waiting_for_a_step() {
  constexpr size_t kCalls = 20'000;
  Names names;
  NvtxSource source(names, [] {});
  StepPattern pattern;
  source.watch("iteration", [](uint64_t, int64_t) {});
  source.watch_calls([&](const NcclCall& call, int64_t now_ns) { pattern.add(call, now_ns); });
  NvtxSource* const before = g_source;
  g_source = &source;
  set_nvtx_source(&source);
  ws::test::NvtxClient client;
  client.attach(init, init_extension);
  const auto nccl = client.domain("NCCL");
  nvtx::SchemaEntry entries[2] = {};
  entries[0] = {0, nvtx::kUint64, "NCCL communicator ID", nullptr, 0, 0, nullptr, nullptr};
  entries[1] = {0, nvtx::kSize, "Message size [bytes]", nullptr, 0, 8, nullptr, nullptr};
  nvtx::SchemaAttributes schema{};
  schema.entries = entries;
  schema.entry_count = 2;
  const auto id = client.payload<uint64_t>(nvtx::kSchemaRegister, nccl,
                                           static_cast<const nvtx::SchemaAttributes*>(&schema));
  auto a = ws::test::NvtxClient::text(nullptr);
  a.message_type = nvtx::kRegistered;
  a.message.registered = client.string(nccl, "ncclAllReduce");
  size_t n = 0;
  const auto ask = [&] {  // 64 layers and the gradients
    const uint64_t large = 1 << 22;
    uint64_t values[2] = {1, ++n % 65 == 0 ? large : large / 4};
    nvtx::PayloadData data{id, sizeof values, values};
    a.payload_type = nvtx::kPayloadExtended;
    a.payload_count = 1;
    a.payload = reinterpret_cast<uint64_t>(&data);
    client.push(nccl, a);
    client.pop(nccl);
  };
  const double range = median_ns(kCalls, [&] {
    client.push("forward: layer 12, attention");
    client.pop();
  });
  const double operation = median_ns(kCalls, ask);
  g_source = before;
  set_nvtx_source(before);
  return {range, operation};
}

void bench_nvtx(const std::string& folder) {
  constexpr size_t kCalls = 4'000;  // fewer than a ring holds
  Names names;
  NvtxSource source(names, [] {});
  Recording out(names);
  out.open(folder + "/nvtx.wst", UINT64_MAX, {});
  g_source = &source;
  set_nvtx_source(&source);
  ws::test::NvtxClient client;
  const auto pair = [&] {
    client.push("forward: layer 12, attention");
    client.pop();
  };
  const double none = median_ns(kCalls, pair);
  client.attach(init, init_extension);
  const double standby = median_ns(kCalls, pair);
  const auto [waiting, asked] = cost_of_waiting_for_a_step();
  source.start();
  std::vector<double> runs;
  for (int i = 0; i < 9; ++i) {
    const double begin = cpu_ns();
    for (size_t k = 0; k < kCalls; ++k) pair();
    runs.push_back((cpu_ns() - begin) / kCalls);
    source.take_ranges(out);
  }
  std::sort(runs.begin(), runs.end());
  source.stop();
  set_nvtx_source(nullptr);
  std::printf("NVTX push and pop, no tool, ns\t%.1f\t-\n", none);
  std::printf("NVTX push and pop, standby, ns over no tool\t%.1f\t6\n",
              std::max(0.0, standby - none));
  std::printf("NVTX push and pop, a step waited for, ns over no tool\t%.0f\t60\n",
              std::max(0.0, waiting - none));
  std::printf("NCCL's push and pop, a step waited for, ns over no tool\t%.0f\t200\n",
              std::max(0.0, asked - none));
  std::printf("NVTX push and pop, armed, ns\t%.0f\t200\n", runs[4]);
}

constexpr size_t kKernelBytes = 216, kCallBytes = 40;

cupti::Result next_record(uint8_t* buffer, size_t valid, uint8_t** record) {
  uint8_t* next = buffer;
  if (*record != nullptr)
    next = *record +
           (cupti::Kind32::of(*record) == cupti::kConcurrentKernel ? kKernelBytes : kCallBytes);
  if (next >= buffer + valid) return 12;
  *record = next;
  return cupti::kSuccess;
}
cupti::Result call_name(uint32_t, uint32_t, const char** name) {
  *name = "cudaLaunchKernel_v7000";
  return cupti::kSuccess;
}

template <class Field, class T>
void put(uint8_t* record, T value) {
  using Type = decltype(Field::of(nullptr));
  const auto v = static_cast<Type>(value);
  std::memcpy(record + Field::kEnd - sizeof v, &v, sizeof v);
}

// Steps of 240 kernels with their launches; durations and gaps vary as on a real device.
class Records {
 public:
  Records() {
    for (int i = 0; i < 180; ++i) {
      names_.push_back(
          "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEE" +
          std::to_string(i) + "EvT0_T1_");
    }
  }
  size_t fill(std::vector<uint8_t>& buffer) {
    size_t at = 0, count = 0;
    for (; at + kKernelBytes + kCallBytes <= buffer.size(); count += 2) {
      random_ = random_ * 1664525u + 1013904223u;
      const uint32_t op = n_ % 240, h = op * 2654435761u;
      const uint64_t duration = 2000 + (h >> 16) * 8 + (random_ >> 22);
      uint8_t* call = buffer.data() + at;
      std::memset(call, 0, kCallBytes + kKernelBytes);
      put<cupti::Kind32>(call, uint32_t{cupti::kRuntime});
      put<cupti::ApiRecord::Cbid>(call, 211);
      put<cupti::ApiRecord::Start>(call, time_ - 9000);
      put<cupti::ApiRecord::End>(call, time_ - 4500 + (random_ >> 20));
      put<cupti::ApiRecord::Thread>(call, 4242);
      put<cupti::ApiRecord::Correlation>(call, 1000 + n_);
      uint8_t* k = call + kCallBytes;
      using K = cupti::KernelRecord;
      put<cupti::Kind32>(k, uint32_t{cupti::kConcurrentKernel});
      put<K::Start>(k, time_);
      put<K::End>(k, time_ + duration);
      put<K::Context>(k, 1);
      put<K::Stream>(k, op % 9 == 0 ? 20 : 7);
      put<K::Correlation>(k, 1000 + n_);
      put<K::Name>(k, names_[h % 180].c_str());
      const uint32_t grid[3] = {132 + (h >> 5) % 64, 1, 1}, block[3] = {128, 1, 1};
      std::memcpy(k + K::kGrid, grid, sizeof grid);
      std::memcpy(k + K::kBlock, block, sizeof block);
      time_ += duration + 600 + (random_ >> 24);
      ++n_;
      at += kKernelBytes + kCallBytes;
    }
    valid_ = at;
    return count;
  }
  size_t valid() const { return valid_; }

 private:
  std::vector<std::string> names_;
  uint32_t n_ = 0, random_ = 1;
  uint64_t time_ = 1'000'000'000;
  size_t valid_ = 0;
};

void bench_writer(const std::string& folder) {
  constexpr int kBuffers = 250;  // 2 million records
  Names names;
  Recording out(names);
  out.open(folder + "/records.wst", UINT64_MAX, {});
  ActivityDecoder decoder(names, out);
  cupti::Library library;
  library.GetNextRecord = next_record;
  library.GetCallbackName = call_name;
  library.record_bytes[cupti::kConcurrentKernel] = kKernelBytes;
  library.record_bytes[cupti::kRuntime] = kCallBytes;
  decoder.use(library);
  Records records;
  std::vector<uint8_t> buffer(size_t{1} << 20);
  double spent = 0;
  size_t count = 0;
  for (int i = 0; i < kBuffers; ++i) {
    count += records.fill(buffer);
    const double begin = cpu_ns();
    decoder.decode(buffer.data(), records.valid());
    spent += cpu_ns() - begin;
  }
  const double begin = cpu_ns();
  out.flush();
  spent += cpu_ns() - begin;
  const auto n = static_cast<double>(count);
  std::printf("writer CPU per CUPTI record, ns\t%.0f\t150\n", spent / n);
  std::printf("bytes on disk per CUPTI record\t%.1f\t12\n",
              static_cast<double>(out.bytes_written()) / n);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 3;
  bench_nvtx(argv[1]);
  bench_writer(argv[1]);
  return 0;
}
