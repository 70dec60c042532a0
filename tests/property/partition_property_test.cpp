// Random traces on a short time line: the partition equals the naive count, tiles, adds up, and
// depends neither on the clock's zero nor on the order of the input.
#include <algorithm>
#include <random>

#include "property/naive_partition.h"
#include "support/catch.h"

using namespace ws;
using namespace ws::test;

namespace {

constexpr uint32_t kSeed = 20240607;
constexpr int kTraces = 10000;
constexpr TimeNs kEnd = 70;

Constants tick_constants() {
  const NaiveConstants n;
  Constants c;
  c.launch_latency_ns = n.launch_latency;
  c.kernel_gap_ns = n.kernel_gap;
  c.straddle_eps_ns = n.straddle_eps;
  return c;
}

class Dice {
 public:
  explicit Dice(uint32_t seed) : engine_(seed) {}
  int64_t in(int64_t lo, int64_t hi) {  // inclusive; the same numbers from every library
    return lo + static_cast<int64_t>(engine_() % static_cast<uint32_t>(hi - lo + 1));
  }
  bool chance(int percent) { return in(1, 100) <= percent; }
  template <class T, size_t N>
  T pick(const T (&values)[N]) {
    return values[in(0, static_cast<int64_t>(N) - 1)];
  }

 private:
  std::mt19937 engine_;
};

ScenarioInput random_input(Dice& d) {
  static const char* const kClasses[] = {"gemm", "attention", "membound", "compute_other", "comm",
                                         "comm", "p2p",       "h2d",      "d2h",           "d2d"};
  static const char* const kKinds[] = {"ep", "tp", "cp", "pp", "dp", "other"};
  static const char* const kCalls[] = {
      "cudaLaunchKernel",      "cudaMemcpyAsync", "cudaGraphLaunch", "cudaMemcpy",
      "cudaStreamSynchronize", "cudaMalloc",      "cudaEventRecord", "cudaLaunchKernel"};
  static const char* const kLoose[] = {"cudaStreamSynchronize", "cudaMalloc", "cudaEventRecord",
                                       "cuModuleLoadData", "cudaGraphInstantiate"};
  static const char* const kRanges[] = {"dataload", "gc", "jit", "profiler", "other"};
  ScenarioInput in;
  const auto ops = d.in(1, 11);
  for (int64_t i = 0; i < ops; ++i) {
    ScenarioOp o;
    o.s = d.in(0, kEnd);
    o.e = o.s + (d.chance(10) ? 0 : d.in(1, 14));
    o.cls = d.pick(kClasses);
    o.kind = o.cls == "comm" ? d.pick(kKinds) : "other";
    o.stream = d.in(1, 3);
    o.dev = d.chance(8) ? 1 : 0;
    o.pid = d.chance(15) ? 1 : 0;
    o.recompute = d.chance(12);
    o.offload = d.chance(25);
    o.graph = d.chance(25) ? 9 : 0;
    in.ops.push_back(o);
  }
  std::sort(in.ops.begin(), in.ops.end(),
            [](const ScenarioOp& a, const ScenarioOp& b) { return a.s < b.s; });
  for (int64_t i = 0; i < ops; ++i) {
    ScenarioOp& o = in.ops[static_cast<size_t>(i)];
    o.id = i;
    if (d.chance(40)) in.arrivals[i] = o.s + d.in(-3, 12);
    if (d.chance(15)) continue;
    const bool shares = i > 0 && d.chance(20) && in.ops[static_cast<size_t>(i - 1)].corr &&
                        in.ops[static_cast<size_t>(i - 1)].pid == o.pid;
    o.corr = shares ? in.ops[static_cast<size_t>(i - 1)].corr
                    : std::optional<uint32_t>(static_cast<uint32_t>(i + 1));
    if (shares || d.chance(8)) continue;  // 8 %: the call was not recorded
    const TimeNs s = o.s - d.in(-2, 25);
    in.calls.push_back({d.in(1, 2), o.pid, s, s + d.in(0, 9), d.pick(kCalls), o.corr});
    if (in.calls.back().e > s && d.chance(15)) {  // the driver's record inside the same call
      ScenarioCall inner = in.calls.back();
      inner.s += d.in(0, 1);
      inner.e = std::max(inner.s, inner.e - d.in(1, 2));
      inner.name = "cuLaunchKernel";
      in.calls.push_back(inner);
    }
  }
  for (int64_t i = d.in(0, 5); i > 0; --i) {
    const TimeNs s = d.in(-10, kEnd);
    in.calls.push_back({d.in(1, 2), d.chance(10) ? 1 : 0, s, s + d.in(0, 25), d.pick(kLoose), {}});
  }
  for (int64_t i = d.in(0, 4); i > 0; --i) {
    const TimeNs s = d.in(-10, kEnd);
    in.ranges.push_back({d.chance(20) ? -1 : d.in(1, 2), 0, s, s + d.in(0, 25), d.pick(kRanges)});
  }
  return in;
}

ScenarioInput shuffled(const ScenarioInput& input, Dice& d) {
  ScenarioInput out = input;
  const auto shuffle = [&](auto& rows) {
    for (size_t i = rows.size(); i > 1; --i)
      std::swap(rows[i - 1], rows[static_cast<size_t>(d.in(0, static_cast<int64_t>(i) - 1))]);
  };
  shuffle(out.ops);
  shuffle(out.calls);
  shuffle(out.ranges);
  return out;
}

Breakdown naive(const ScenarioInput& input, Interval window) {
  const NaivePartition reference(input, 0, {});
  Breakdown b;
  for (TimeNs t = window.begin_ns; t < window.end_ns; ++t)
    ++b[reference.leaf_at_tick(t, window.end_ns)];
  return b;
}

constexpr TimeNs kZero = 1000;  // records at time 0 of length 0 count as not recorded

// In order, without holes, with a leaf that fits the op.
bool tiles(const ScenarioTrace& t, const Timeline& timeline, Interval window) {
  TimeNs at = window.begin_ns;
  for (size_t b = 0, i = 0; b < timeline.busy.size() || i < timeline.idle.size();) {
    const bool busy = b < timeline.busy.size() && timeline.busy[b].span.begin_ns == at;
    if (!busy && (i == timeline.idle.size() || timeline.idle[i].span.begin_ns != at)) return false;
    const Interval span = busy ? timeline.busy[b].span : timeline.idle[i].span;
    if (span.length() <= 0) return false;
    if (busy) {
      const uint32_t op = timeline.busy[b].op;
      if (is_idle(timeline.busy[b].leaf) || t.trace.ops.begin_ns[op] > span.begin_ns ||
          t.trace.ops.end_ns[op] < span.end_ns)
        return false;
    } else if (!is_idle(timeline.idle[i].leaf)) {
      return false;
    }
    at = span.end_ns;
    busy ? ++b : ++i;
  }
  return at == window.end_ns;
}

}  // namespace

TEST_CASE("random traces: the partition equals the naive count and tiles") {
  Dice d(kSeed);
  for (int i = 0; i < kTraces; ++i) {
    const ScenarioInput input = random_input(d);
    const ScenarioTrace t(input, kZero);
    const Interval window{d.in(-5, 20), kEnd + d.in(-20, 20)};
    const Interval shifted{window.begin_ns + kZero, window.end_ns + kZero};
    const Breakdown got = partition_of(t, 0, tick_constants(), shifted);
    INFO("trace " << i << " of seed " << kSeed);
    REQUIRE(nonzero(got) == nonzero(naive(input, window)));
    const HostStates host(t.trace, t.labels);
    REQUIRE(tiles(
        t,
        build_timeline(t.trace, t.labels, host, t.device(0), tick_constants(), shifted, t.arrivals),
        shifted));
  }
}

TEST_CASE("random traces: cutting, shifting and shuffling change nothing") {
  Dice d(kSeed + 1);
  for (int i = 0; i < kTraces; ++i) {
    const ScenarioInput input = random_input(d);
    const ScenarioTrace t(input, kZero);
    const Interval window{kZero - 5, kZero + kEnd + 10};
    const Breakdown whole = partition_of(t, 0, tick_constants(), window);
    INFO("trace " << i << " of seed " << kSeed + 1);
    const TimeNs a = kZero + d.in(0, 30), b = a + d.in(1, 30);
    const Interval cuts[] = {{window.begin_ns, a}, {a, b}, {b, window.end_ns}};
    Breakdown sum;
    for (const Interval& cut : cuts) sum.add(partition_of(t, 0, tick_constants(), cut));
    REQUIRE(sum.ns == whole.ns);
    for (const TimeNs shift : {TimeNs{-987654321}, TimeNs{1700000000000000000}}) {
      const ScenarioTrace moved(input, shift);
      const Interval w{window.begin_ns - kZero + shift, window.end_ns - kZero + shift};
      REQUIRE(partition_of(moved, 0, tick_constants(), w).ns == whole.ns);
    }
    const ScenarioTrace mixed(shuffled(input, d), kZero);
    REQUIRE(partition_of(mixed, 0, tick_constants(), window).ns == whole.ns);
  }
}
