#include "analysis/host_states.h"

#include "support/catch.h"
#include "support/scenario_trace.h"

using namespace ws;
using namespace ws::test;

namespace {

struct NamedState {
  const char* name;
  HostState state;
};

struct RangeState {
  const char* name;
  RangeSource source;
  HostState state;
};

ScenarioCall call(const char* name, TimeNs s, TimeNs e, int64_t tid = 1) {
  return {tid, 0, s, e, name, std::nullopt};
}

std::vector<HostStates::Segment> list(HostStates::Segments segments) {
  std::vector<HostStates::Segment> out;
  for (const HostStates::Segment& s : segments) out.push_back(s);
  return out;
}

std::string text(HostStates::Segments segments) {
  static const char* const kNames[] = {"alloc",    "sync",  "jit",    "gc",    "profiler",
                                       "dataload", "build", "launch", "other", "graph"};
  std::string out;
  for (const HostStates::Segment& s : list(segments))
    out += (out.empty() ? "" : " ") + std::string(kNames[static_cast<size_t>(s.state)]) + ":" +
           std::to_string(s.span.begin_ns) + "-" + std::to_string(s.span.end_ns);
  return out;
}

ThreadId thread_of(const ScenarioTrace& t, int64_t tid) {
  for (size_t i = 0; i < t.trace.threads.size(); ++i) {
    if (t.trace.threads[i].tid == tid) return static_cast<ThreadId>(i);
  }
  FAIL("no such thread");
  return kNoThread;
}

}  // namespace

TEST_CASE("calls have the state their name says, whatever the vendor") {
  const NamedState rows[] = {
      {"cudaLaunchKernel", HostState::launch},
      {"cudaLaunchKernelExC", HostState::launch},
      {"cudaLaunchCooperativeKernel", HostState::launch},
      {"cuLaunchKernelEx", HostState::launch},
      {"hipLaunchKernel", HostState::launch},
      {"hipModuleLaunchKernel", HostState::launch},
      {"hipExtLaunchKernel", HostState::launch},
      {"hipExtModuleLaunchKernel", HostState::launch},
      {"cudaGraphLaunch", HostState::graph_launch},
      {"cuGraphLaunch", HostState::graph_launch},
      {"hipGraphLaunch", HostState::graph_launch},
      {"cudaMemcpyAsync", HostState::launch},
      {"cudaMemcpyAsync_ptsz_v7000", HostState::launch},
      {"cuMemcpyHtoDAsync_v2", HostState::launch},
      {"cudaMemsetAsync", HostState::launch},
      {"hipMemcpyAsync", HostState::launch},
      {"hipMemsetAsync", HostState::launch},
      {"cudaMemcpy", HostState::sync},
      {"cudaMemcpy2D", HostState::sync},
      {"cudaMemcpyToSymbol", HostState::sync},
      {"cudaMemset", HostState::sync},
      {"cuMemcpyHtoD_v2", HostState::sync},
      {"cuMemcpyDtoH", HostState::sync},
      {"hipMemcpy", HostState::sync},
      {"hipMemcpyWithStream", HostState::sync},
      {"cudaStreamSynchronize", HostState::sync},
      {"cudaDeviceSynchronize", HostState::sync},
      {"cudaEventSynchronize", HostState::sync},
      {"cuCtxSynchronize", HostState::sync},
      {"hipStreamSynchronize", HostState::sync},
      {"hipDeviceSynchronize", HostState::sync},
      {"cudaMalloc", HostState::alloc},
      {"cudaMallocAsync", HostState::alloc},
      {"cudaMallocManaged", HostState::alloc},
      {"cudaFree", HostState::alloc},
      {"cudaFreeHost", HostState::alloc},
      {"cudaHostAlloc", HostState::alloc},
      {"cuMemAlloc_v2", HostState::alloc},
      {"cuMemFree", HostState::alloc},
      {"cuMemCreate", HostState::alloc},
      {"cuMemAddressReserve", HostState::alloc},
      {"hipMalloc", HostState::alloc},
      {"hipFree", HostState::alloc},
      {"hipHostMalloc", HostState::alloc},
      {"cuModuleLoadData", HostState::jit},
      {"cuLibraryLoadData", HostState::jit},
      {"cuModuleGetFunction", HostState::jit},
      {"cudaFuncGetAttributes", HostState::jit},
      {"hipModuleLoadData", HostState::jit},
      {"cudaGraphInstantiate", HostState::graph_build},
      {"cudaGraphExecUpdate", HostState::graph_build},
      {"cudaStreamBeginCapture", HostState::graph_build},
      {"hipStreamEndCapture", HostState::graph_build},
      {"cudaEventRecord", HostState::other},
      {"cudaStreamWaitEvent", HostState::other},
      {"cudaGetDevice", HostState::other},
      {"cudaStreamIsCapturing", HostState::other},
      {"cudaFuncSetAttribute", HostState::other},
      {"hipPointerGetAttribute", HostState::other},
      {"cuModuleGetLoadingMode", HostState::other},
      {"INVALID", HostState::other},
      {"", HostState::other},
  };
  for (const NamedState& r : rows) {
    INFO(r.name);
    CHECK(state_of_call(r.name) == r.state);
  }
}

TEST_CASE("ranges have the state their name and source say") {
  constexpr auto kUser = RangeSource::user_annotation;
  constexpr auto kOver = RangeSource::overhead;
  constexpr auto kPython = RangeSource::python;
  const RangeState rows[] = {
      {"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", kUser, HostState::dataload},
      {"[pl][profile]train_dataloader_next", RangeSource::cpu_op, HostState::dataload},
      {"torch/utils/data/dataloader.py(630): __next__", kPython, HostState::dataload},
      {"get_batch", RangeSource::nvtx, HostState::dataload},
      {"## wait_for_batch ##", kUser, HostState::dataload},
      {"aten::batch_norm", RangeSource::cpu_op, HostState::none},
      {"gc", RangeSource::nvtx, HostState::gc},
      {"gc.collect, op_id = 5", RangeSource::nvtx, HostState::gc},
      {"GC.collect", kUser, HostState::gc},
      {"gc.py: collect generation 2", kPython, HostState::gc},
      {"<built-in function collect>", kPython, HostState::gc},
      {"garbage collection", RangeSource::nvtx, HostState::gc},
      {"gcd", RangeSource::nvtx, HostState::none},
      {"cuModuleLoadData", RangeSource::nvtx, HostState::jit},
      {"autotune_fused_softmax", RangeSource::nvtx, HostState::jit},
      {"torch._dynamo: compile", kPython, HostState::jit},
      {"torch/_inductor/compile_fx.py(920): compile_fx", kPython, HostState::jit},
      {"Torch-Compiled Region: 0/0", RangeSource::cpu_op, HostState::none},
      {"## Call CompiledFxGraph fal4xp ##", kUser, HostState::none},
      {"triton/compiler/compiler.py(476): run", kPython, HostState::none},
      {"torch/_inductor/compile_fx.py(12): forward", kPython, HostState::none},
      {"torch/jit/__init__.py(129): annotate", kPython, HostState::none},
      {"Lazy Function Loading", kOver, HostState::jit},
      {"Runtime Triggered Module Loading", kOver, HostState::jit},
      {"Driver Compiler", kOver, HostState::jit},
      {"Activity Buffer Request", kOver, HostState::profiler},
      {"CUPTI: Buffer flush", kOver, HostState::profiler},
      {"CUDA profiling data flush on process exit", kOver, HostState::profiler},
      {"", kOver, HostState::profiler},
      {"Command Buffer Full", kOver, HostState::none},
      {"Activity Buffer Request", kUser, HostState::none},
      {"ProfilerStep#7", kUser, HostState::none},
      {"forward", RangeSource::nvtx, HostState::none},
      {"get_batch", RangeSource::nvtx_start_end, HostState::none},
      {"get_batch", RangeSource::gpu_annotation, HostState::none},
      {"gc", RangeSource::mark, HostState::none},
      {"dataload", RangeSource::os_runtime, HostState::none},
  };
  for (const RangeState& r : rows) {
    INFO(r.name << " source " << static_cast<int>(r.source));
    CHECK(state_of_range(r.name, r.source) == r.state);
  }
}

TEST_CASE("the innermost, most urgent event names each moment") {
  ScenarioInput in;
  in.calls = {call("cudaEventRecord", 100, 200), call("cudaLaunchKernel", 120, 150),
              call("cudaMalloc", 130, 140),      call("cudaStreamSynchronize", 190, 230),
              call("cudaGraphLaunch", 300, 320), call("cudaEventRecord", 305, 310)};
  in.ranges = {
      {1, 0, 90, 195, "other"}, {1, 0, 225, 250, "dataload"}, {1, 0, 250, 260, "dataload"}};
  const ScenarioTrace t(in);
  const HostStates host(t.trace, t.labels);
  const ThreadId thread = thread_of(t, 1);
  CHECK(text(host.states(thread, 0, 1000)) ==
        "other:100-120 launch:120-130 alloc:130-140 launch:140-150 other:150-190 sync:190-230 "
        "dataload:230-260 graph:300-305 other:305-310 graph:310-320");
  CHECK(text(host.states(thread, 135, 145)) == "alloc:135-140 launch:140-145");
  CHECK(text(host.states(thread, 260, 300)).empty());
  CHECK(text(host.interruptions(thread, 0, 1000)) == "alloc:130-140");
  CHECK(host.busy_at(thread, 100));
  CHECK_FALSE(host.busy_at(thread, 99));
  CHECK_FALSE(host.busy_at(thread, 260));
  CHECK(host.next_call(thread, 100) == 100);
  CHECK(host.next_call(thread, 191) == 300);
  CHECK(host.next_call(thread, 306) == std::nullopt);
  CHECK(host.first_event_ns() == 100);
}

TEST_CASE("any hint gives the same answer") {
  ScenarioInput in;
  for (TimeNs i = 1; i <= 100; ++i)
    in.calls.push_back(call(i % 2 ? "cudaMalloc" : "cudaLaunchKernel", 10 * i, 10 * i + 7));
  const ScenarioTrace t(in);
  const HostStates host(t.trace, t.labels);
  const ThreadId thread = thread_of(t, 1);
  for (TimeNs lo = 0; lo < 1020; lo += 3) {
    const std::string want = text(host.states(thread, lo, lo + 25));
    for (size_t hint = 0; hint <= 101; hint += 7)
      REQUIRE(text(host.states(thread, lo, lo + 25, hint)) == want);
  }
}

TEST_CASE("straddling: the earliest begin of the most urgent state that still ran") {
  ScenarioInput in;
  in.calls = {call("cudaStreamSynchronize", 10, 60), call("cudaStreamSynchronize", 20, 30),
              call("cudaStreamSynchronize", 40, 100), call("cudaLaunchKernel", 50, 120)};
  in.ranges = {{1, 0, 5, 95, "gc"}, {1, 0, 6, 200, "profiler"}};
  const ScenarioTrace t(in);
  const HostStates host(t.trace, t.labels);
  const ThreadId thread = thread_of(t, 1);
  const auto begin_at = [&](TimeNs at, TimeNs slack) {
    const auto s = host.straddling(thread, at, slack);
    return s ? std::pair{s->state, s->begin_ns} : std::pair{HostState::none, TimeNs{-1}};
  };
  CHECK(begin_at(55, 0) == std::pair{HostState::sync, TimeNs{10}});
  CHECK(begin_at(80, 0) == std::pair{HostState::sync, TimeNs{40}});
  CHECK(begin_at(100, 0) == std::pair{HostState::sync, TimeNs{40}});
  CHECK(begin_at(101, 1) == std::pair{HostState::sync, TimeNs{40}});
  CHECK(begin_at(101, 0) == std::pair{HostState::none, TimeNs{-1}});
  CHECK(begin_at(10, 0) == std::pair{HostState::gc, TimeNs{5}});
  CHECK(begin_at(5, 0) == std::pair{HostState::none, TimeNs{-1}});
}

TEST_CASE("a copy call that outlasts its own copy blocked the host; another did not") {
  ScenarioInput in;
  const auto copy = [](int64_t id, TimeNs s, TimeNs e, const char* cls, uint32_t corr) {
    ScenarioOp o;
    o.id = id, o.s = s, o.e = e, o.cls = cls, o.corr = corr;
    return o;
  };
  in.ops = {copy(0, 20, 30, "h2d", 1), copy(1, 60, 70, "d2h", 2), copy(2, 80, 90, "d2d", 3),
            copy(3, 95, 95, "h2d", 4)};
  for (uint32_t i = 0; i < 4; ++i) {
    const TimeNs ends[] = {30, 69, 100, 100};
    in.calls.push_back({1, 0, 10 + 20 * static_cast<TimeNs>(i), ends[i], "cudaMemcpyAsync", i + 1});
  }
  const ScenarioTrace t(in);
  const HostStates host(t.trace, t.labels);
  CHECK(host.class_of_call(0) == HostState::sync);
  CHECK(host.class_of_call(1) == HostState::launch);
  CHECK(host.class_of_call(2) == HostState::launch);
  CHECK(host.class_of_call(3) == HostState::launch);
}

TEST_CASE("overhead of a thread without calls counts for the calling threads of its process") {
  ScenarioInput in;
  in.calls = {call("cudaLaunchKernel", 100, 200), call("cudaMalloc", 150, 160, 2)};
  in.calls.push_back({3, 9, 50, 60, "cudaLaunchKernel", std::nullopt});  // of another process
  in.ranges = {
      {-1, 0, 90, 155, "profiler"}, {-1, 0, 180, 190, "profiler"}, {-1, 5, 0, 9, "profiler"}};
  const ScenarioTrace t(in);
  const HostStates host(t.trace, t.labels);
  CHECK(text(host.states(thread_of(t, 1), 0, 300)) ==
        "profiler:90-100 profiler:100-155 launch:155-180 profiler:180-190 launch:190-200");
  CHECK(text(host.states(thread_of(t, 2), 0, 300)) ==
        "profiler:90-150 alloc:150-155 alloc:155-160 profiler:180-190");
  CHECK(text(host.interruptions(thread_of(t, 1), 0, 300)) == "profiler:90-155 profiler:180-190");
  CHECK(text(host.states(thread_of(t, 3), 0, 300)) == "launch:50-60");
  CHECK(host.first_event_ns() == 50);  // process 5 makes no calls: its overhead says nothing
}

TEST_CASE("a state of 100 years keeps its length") {
  ScenarioInput in;
  const TimeNs century = 3'153'600'000'000'000'000;
  in.calls = {call("cudaMalloc", 1, century)};
  const ScenarioTrace t(in);
  const HostStates host(t.trace, t.labels);
  TimeNs total = 0, at = 1;
  for (const HostStates::Segment& s : list(host.states(thread_of(t, 1), 0, century + 5))) {
    CHECK(s.span.begin_ns == at);
    at = s.span.end_ns;
    total += s.span.length();
  }
  CHECK(total == century - 1);
}

TEST_CASE("code loading that the driver reports counts like the thread's own") {
  TraceBuilder b;
  const ProcessId process = b.process(1);
  const ThreadId thread = b.thread(process, 1), pseudo = b.thread(process, -1);
  b.add(CallRow{100, 200, b.intern("cuModuleLoadData"), thread, kNoCorrelation}, {});
  b.add(CallRow{300, 310, b.intern("cudaLaunchKernel"), thread, kNoCorrelation}, {});
  for (const TimeNs begin : {80, 150, 290}) {
    b.add(RangeRow{begin, begin + 70, b.intern("Lazy Function Loading"), pseudo,
                   RangeSource::overhead, kNoRow, -1},
          {});
  }
  b.add(
      RangeRow{90, 400, b.intern("Command Buffer Full"), pseudo, RangeSource::overhead, kNoRow, -1},
      {});
  const Trace trace = b.seal();
  const HostStates host(trace, OpLabels{});
  CHECK(text(host.states(thread, 0, 500)) ==
        "jit:80-100 jit:100-200 jit:200-220 jit:290-300 "
        "jit:300-310 jit:310-360");
  CHECK(host.straddling(thread, 120, 0)->begin_ns == 80);
  CHECK(host.straddling(thread, 160, 0)->begin_ns == 100);
  CHECK(host.straddling(thread, 215, 0)->begin_ns == 150);
  CHECK(host.straddling(thread, 305, 0)->begin_ns == 290);
  CHECK_FALSE(host.straddling(thread, 250, 0));
}
