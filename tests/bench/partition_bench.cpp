// Time and memory of the partition alone on made traces of the size of a big recording: kernels on
// one stream, collectives beside them, 1.7 calls per kernel.  usage: partition_bench [KERNELS]
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "analysis/partition.h"
#include "model/trace_builder.h"

using namespace ws;

namespace {

struct Made {
  Trace trace;
  OpLabels labels;
};

// pace: host time per kernel. Below the kernels' 2 us the queue is full, above it runs empty.
Made make(int64_t kernels, TimeNs pace_ns) {
  TraceBuilder b;
  Made out;
  const auto n = static_cast<size_t>(kernels);
  b.reserve(n, n * 12 / 7, 0);
  const ProcessId process = b.process(1);
  const ThreadId threads[] = {b.thread(process, 1), b.thread(process, 2)};
  const StreamId compute = b.stream(process, b.device(0), 0, 7);
  const StreamId network = b.stream(process, b.device(0), 0, 20);
  const StringId launch = b.intern("cudaLaunchKernel"), other = b.intern("cudaEventRecord"),
                 sync = b.intern("cudaStreamSynchronize"), name = b.intern("kernel");
  TimeNs host = 1000, device = 0, link = 0;
  for (int64_t i = 0; i < kernels; ++i) {
    const ThreadId thread = threads[i / 5000 % 2];  // forward and autograd take turns
    const auto correlation = static_cast<uint32_t>(i);
    b.add(CallRow{host, host + 900, launch, thread, correlation}, {});
    const TimeNs launched = host + 4500;
    host += pace_ns;
    if (i % 10 < 7) b.add(CallRow{host - 400, host - 100, other, thread, kNoCorrelation}, {});
    const bool is_comm = i % 16 == 5;
    TimeNs& free = is_comm ? link : device;
    const TimeNs begin = std::max(launched, free + (is_comm ? 0 : 700));
    free = begin + (is_comm ? 15'000 : 1'300 + i % 7 * 100);
    b.add(OpRow{begin, free, name, is_comm ? network : compute, OpKind::kernel, correlation, 0, 0,
                kNoRow, kNoRow},
          {});
    if (i % 20'000 == 19'999) {  // a loss is read now and then
      b.add(CallRow{host, std::max(host, device), sync, thread, kNoCorrelation}, {});
      host = std::max(host, device) + 10'000;
    }
  }
  out.trace = b.seal();
  for (size_t i = 0; i < out.trace.ops.size(); ++i) {
    const bool is_comm = out.trace.ops.stream[i] == network;
    out.labels.cls.push_back(is_comm      ? OpClass::comm
                             : i % 3 == 0 ? OpClass::gemm
                                          : OpClass::membound);
    out.labels.kind.push_back(CommKind::dp);
    out.labels.coll.push_back(CollectiveOp::unknown);
    out.labels.flags.push_back(0);
    out.labels.communicator.push_back(kNoRow);
  }
  return out;
}

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

class Watch {  // processor time, so that a busy machine does not matter
 public:
  double lap() {
    const double now = static_cast<double>(std::clock()) / CLOCKS_PER_SEC, d = now - last_;
    last_ = now;
    return d;
  }

 private:
  double last_ = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
};

void measure(const char* title, int64_t kernels, TimeNs pace_ns) {
  const Made made = make(kernels, pace_ns);
  const double before_mb = peak_mb();
  Watch watch;
  const HostStates host(made.trace, made.labels);
  const double host_s = watch.lap();
  const Constants c = calibrate(made.trace, made.labels, host, DeviceId{0});
  const double calibrate_s = watch.lap();
  const Interval window = made.trace.capture;
  const Timeline t = build_timeline(made.trace, made.labels, host, DeviceId{0}, c, window);
  const double timeline_s = watch.lap();
  const auto parts = partition(t, std::span<const Interval>(&window, 1));
  const double partition_s = watch.lap();
  std::printf(
      "%s: %zu ops, %zu calls, %zu busy and %zu idle parts, idle %.0f %%\n  host states %.2f s, "
      "constants %.2f s, timeline %.2f s, sum %.2f s; %.0f MB over the trace's %.0f MB\n",
      title, made.trace.ops.size(), made.trace.calls.size(), t.busy.size(), t.idle.size(),
      [&] {
        TimeNs idle = 0;
        for (const IdlePart& p : t.idle) idle += p.span.length();
        return 100.0 * static_cast<double>(idle) / static_cast<double>(parts.front().total());
      }(),
      host_s, calibrate_s, timeline_s, partition_s, peak_mb() - before_mb, before_mb);
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t kernels = argc > 1 ? std::atoll(argv[1]) : 5'000'000;
  const bool starved_only = argc > 2;
  if (!starved_only) measure("queue full", kernels, 1900);
  measure("queue empty", kernels, 6500);
  return 0;
}
