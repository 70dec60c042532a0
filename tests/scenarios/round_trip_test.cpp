// The scenarios once more, through files: written as an Nsight Systems export, as a Kineto trace
// and as a recording of our own, read, classified by name, partitioned - the same integers, as far
// as the format can say it.
#include <fstream>
#include <set>

#include "analysis/label_ops.h"
#include "import/importer.h"
#include "support/catch.h"
#include "support/kineto_file.h"
#include "support/nsys_file.h"
#include "support/recording_file.h"
#include "support/scenario_trace.h"

using namespace ws;
using namespace ws::test;

namespace {

constexpr TimeNs kBase = 1'000'000;  // files have no negative times

const nlohmann::json& scenarios() {
  static const nlohmann::json all = nlohmann::json::parse(
      std::ifstream(std::string(WS_SOURCE_DIR) + "/tests/scenarios/scenarios.json"));
  return all;
}

// Kernel names whose classes are those of the scenario.
std::string kernel_name(const ScenarioOp& o) {
  if (o.cls == "gemm") return "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64";
  if (o.cls == "attention") return "flash_fwd_kernel";
  if (o.cls == "membound") return "void at::native::vectorized_elementwise_kernel<4, float>()";
  if (o.cls == "comm") return "ncclDevKernel_AllReduce_Sum_bf16_RING_LL";
  return "my_own_kernel";
}

bool is_copy_kind(const ScenarioOp& o) {
  return o.cls == "h2d" || o.cls == "d2h" || o.cls == "d2d" || o.cls == "p2p";
}

std::string range_name(const std::string& kind) {
  if (kind == "dataload") return "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
  if (kind == "gc") return "gc.collect";
  if (kind == "jit") return "cuModuleLoadData";
  return kind;
}

// Flags come from ranges around launches or from sizes; the scenarios state them as such.
bool has_flags(const ScenarioInput& in) {
  return std::any_of(in.ops.begin(), in.ops.end(),
                     [](const ScenarioOp& o) { return o.recompute || o.offload; });
}
bool has_kinds(const ScenarioInput& in) {
  return std::any_of(in.ops.begin(), in.ops.end(),
                     [](const ScenarioOp& o) { return o.kind != "other"; });
}
bool has_class(const ScenarioInput& in, const char* cls) {
  return std::any_of(in.ops.begin(), in.ops.end(),
                     [&](const ScenarioOp& o) { return o.cls == cls; });
}
bool has_processes(const ScenarioInput& in) {
  return std::any_of(in.ops.begin(), in.ops.end(), [](const ScenarioOp& o) { return o.pid != 0; });
}

// An export without payloads does not name communicators: no kinds.
bool nsys_can_say(const ScenarioInput& in) {
  return !in.ops.empty() && !has_flags(in) && !has_kinds(in);
}
// One process per file, and no record of a graph as a whole.
bool kineto_can_say(const ScenarioInput& in) {
  return !in.ops.empty() && !has_flags(in) && !has_processes(in) && !has_class(in, "graph");
}

void write_nsys_op(NsysFile& file, const ScenarioOp& o) {
  const int64_t correlation = o.corr.value_or(0), pid = 1000 + o.pid;
  const TimeNs s = o.s + kBase, e = o.e + kBase;
  if (is_copy_kind(o)) {
    NsysCopy c;
    c.begin_ns = s, c.end_ns = e, c.bytes = 4096, c.correlation = correlation;
    c.kind = o.cls == "h2d" ? 1 : o.cls == "d2h" ? 2 : o.cls == "d2d" ? 8 : 10;
    c.pid = pid, c.device = o.dev, c.stream = o.stream;
    file.add(c);
  } else if (o.cls == "memset") {
    NsysFill f;
    f.begin_ns = s, f.end_ns = e, f.bytes = 4096, f.correlation = correlation;
    f.pid = pid, f.device = o.dev, f.stream = o.stream;
    file.add(f);
  } else if (o.cls == "graph") {
    NsysGraphRun g;
    g.begin_ns = s, g.end_ns = e, g.graph = o.graph, g.correlation = correlation;
    g.pid = pid, g.device = o.dev, g.stream = o.stream;
    file.add(g);
  } else {
    NsysKernel k;
    k.begin_ns = s, k.end_ns = e, k.name = kernel_name(o), k.correlation = correlation;
    k.pid = pid, k.device = o.dev, k.stream = o.stream;
    k.graph = o.graph, k.node = o.graph == 0 ? 0 : o.id;
    file.add(k);
  }
}

void write_nsys(NsysFile& file, const ScenarioInput& in) {
  std::set<std::pair<int64_t, int32_t>> seen;  // whose processes see which GPU
  for (const ScenarioOp& o : in.ops) {
    write_nsys_op(file, o);
    if (seen.insert({1000 + o.pid, o.dev}).second)
      file.add_visible_gpu(1000 + o.pid, o.dev, o.dev,
                           "aaaaaaaa-0000-0000-0000-00000000000" + std::to_string(1 + o.dev));
  }
  for (const ScenarioCall& c : in.calls)
    file.add(NsysCall{c.s + kBase, c.e + kBase, c.name + "_v7000",
                      static_cast<int64_t>(c.corr.value_or(0)), 1000 + c.pid, 2000 + c.tid});
  for (const ScenarioRange& r : in.ranges) {
    if (r.kind == "profiler") {
      NsysOverhead o;
      o.begin_ns = r.s + kBase, o.end_ns = r.e + kBase, o.name = "CUPTI Buffer flush";
      o.pid = 1000 + r.pid, o.tid = r.tid < 0 ? 0 : 2000 + r.tid;
      file.add(o);
    } else {
      NsysRange range;
      range.begin_ns = r.s + kBase, range.end_ns = r.e + kBase, range.name = range_name(r.kind);
      range.pid = 1000 + r.pid, range.tid = 2000 + r.tid;
      file.add(range);
    }
  }
}

const char* group_of(const std::string& kind) {
  if (kind == "ep") return "EXPERT_MODEL_PARALLEL_GROUP";
  if (kind == "tp") return "TENSOR_MODEL_PARALLEL_GROUP";
  if (kind == "cp") return "CONTEXT_PARALLEL_GROUP";
  if (kind == "pp") return "PIPELINE_MODEL_PARALLEL_GROUP";
  return kind == "dp" ? "DATA_PARALLEL_GROUP" : "";
}

void write_kineto_op(KinetoFile& file, const ScenarioOp& o) {
  std::string args = "\"device\": " + std::to_string(o.dev) +
                     ", \"context\": 1, \"stream\": " + std::to_string(o.stream);
  if (o.corr) args += ", \"correlation\": " + std::to_string(*o.corr);
  if (o.graph != 0)
    args += ", \"graph id\": " + std::to_string(o.graph) +
            ", \"graph node id\": " + std::to_string(o.id);
  std::string cat = "kernel", name = kernel_name(o);
  if (is_copy_kind(o)) {
    cat = "gpu_memcpy";
    name = o.cls == "h2d"   ? "Memcpy HtoD (Pinned -> Device)"
           : o.cls == "d2h" ? "Memcpy DtoH (Device -> Pinned)"
           : o.cls == "d2d" ? "Memcpy DtoD (Device -> Device)"
                            : "Memcpy PtoP (Device -> Device)";
    args += ", \"bytes\": 4096";
  } else if (o.cls == "memset") {
    cat = "gpu_memset";
    name = "Memset (Device)";
  } else if (o.cls == "comm") {
    args += ", \"Collective name\": \"allreduce\", \"Process Group Name\": \"" + o.kind +
            "\", \"Process Group Description\": \"" + group_of(o.kind) + "\"";
  }
  file.complete(cat, name, o.s + kBase, o.e + kBase, {o.dev, o.stream}, args);
}

std::string kineto_text(const ScenarioInput& in) {
  KinetoFile file;
  for (const ScenarioOp& o : in.ops) write_kineto_op(file, o);
  for (const ScenarioCall& c : in.calls) {
    const bool driver = c.name.substr(0, 4) != "cuda";
    file.complete(driver ? "cuda_driver" : "cuda_runtime", c.name, c.s + kBase, c.e + kBase,
                  {4100, 4100 + c.tid},
                  c.corr ? "\"correlation\": " + std::to_string(*c.corr) : "");
  }
  for (const ScenarioRange& r : in.ranges) {
    const KinetoThread at{4100, 4100 + r.tid};
    if (r.kind == "profiler") {
      file.overhead("Activity Buffer Request", r.s + kBase, r.e + kBase,
                    r.tid < 0 ? KinetoThread{-1, 0} : at);
    } else {
      file.annotation(range_name(r.kind), r.s + kBase, r.e + kBase, at);
    }
  }
  return file.text();
}

void write_recorded_op(RecordingFile& file, const ScenarioOp& o) {
  const uint32_t correlation = o.corr.value_or(0), stream = static_cast<uint32_t>(o.stream);
  const auto device = static_cast<uint32_t>(o.dev);
  const uint64_t node = o.graph == 0 ? 0 : static_cast<uint64_t>(o.id);
  const TimeNs s = o.s + kBase, e = o.e + kBase;
  if (is_copy_kind(o)) {
    const uint32_t kind = o.cls == "h2d" ? 1 : o.cls == "d2h" ? 2 : o.cls == "d2d" ? 8 : 10;
    file.out.add(collector::CopyRow{s, e, 4096, kind, 0, 0, device, 1, stream, correlation, 0, 0});
  } else if (o.cls == "memset") {
    file.out.add(collector::FillRow{s, e, 4096, device, 1, stream, correlation, 0, 0});
  } else if (o.cls == "graph") {
    file.out.add(collector::GraphRunRow{s, e, o.graph, device, 1, stream, correlation});
  } else {
    file.out.add(collector::KernelRow{s, e, file.shape(kernel_name(o)), device, 1, stream,
                                      correlation, o.graph, node});
  }
}

void write_recording(RecordingFile& file, const ScenarioInput& in) {
  for (const ScenarioOp& o : in.ops) write_recorded_op(file, o);
  for (const ScenarioCall& c : in.calls)
    file.out.add(collector::CallRow{c.s + kBase, c.e + kBase, file.name(c.name + "_v7000"),
                                    static_cast<uint64_t>(2000 + c.tid), c.corr.value_or(0)});
  for (const ScenarioRange& r : in.ranges) {
    const uint64_t tid = r.tid < 0 ? 0 : static_cast<uint64_t>(2000 + r.tid);
    if (r.kind == "profiler") {
      file.out.add(collector::OverheadRow{r.s + kBase, r.e + kBase, 1u << 16, tid});
    } else {
      file.out.add(collector::RangeRow{r.s + kBase, r.e + kBase, file.name(range_name(r.kind)), 0,
                                       tid, collector::RangeKind::push_pop},
                   nullptr);
    }
  }
}

const KernelClasses& classes() {
  static const KernelClasses table =
      KernelClasses::load(std::string(WS_SOURCE_DIR) + "/rules/kernel_classes.json").value();
  return table;
}

// Last arrivals are no part of a file: they are given to the op that begins and ends as stated.
std::vector<TimeNs> arrivals_of(const ScenarioInput& in, const Trace& trace) {
  std::vector<TimeNs> out(trace.ops.size(), kNoArrival);
  for (const ScenarioOp& o : in.ops) {
    const auto arrival = in.arrivals.find(o.id);
    if (arrival == in.arrivals.end()) continue;
    for (size_t i = 0; i < trace.ops.size(); ++i) {
      if (trace.ops.begin_ns[i] == o.s + kBase && trace.ops.end_ns[i] == o.e + kBase)
        out[i] = arrival->second + kBase;
    }
  }
  return out;
}

void check_file(const nlohmann::json& scenario, const ScenarioInput& in, const std::string& path) {
  const Result<std::vector<Trace>> read = read_file(path);
  REQUIRE(read);
  REQUIRE(read.value().size() == 1);
  const Trace& trace = read.value().front();
  const Labels labels = label_ops(trace, classes());
  const HostStates host(trace, labels.ops);
  const TimeNs w0 = scenario.at("window").at(0), w1 = scenario.at("window").at(1);
  const Interval window{w0 + kBase, w1 + kBase};
  const int32_t ordinal = scenario.at("dev");
  size_t device = 0;
  while (trace.devices.at(device).ordinal != ordinal) ++device;
  const Timeline t =
      build_timeline(trace, labels.ops, host, DeviceId{static_cast<uint32_t>(device)}, Constants{},
                     window, arrivals_of(in, trace));
  CHECK(nonzero(partition(t, std::span<const Interval>(&window, 1)).front()) ==
        scenario.at("expect").get<std::map<std::string, TimeNs>>());
}

}  // namespace

TEST_CASE("scenarios through Nsight Systems exports give the same integers") {
  int carried = 0;
  for (const nlohmann::json& s : scenarios().at("partition")) {
    const ScenarioInput in = scenario_from_json(s);
    carried += nsys_can_say(in) ? 1 : 0;
  }
  CHECK(carried == 39);
  for (const nlohmann::json& s : scenarios().at("partition")) {
    const ScenarioInput in = scenario_from_json(s);
    if (!nsys_can_say(in)) continue;
    DYNAMIC_SECTION(s.at("id").get<std::string>() << " " << s.at("title").get<std::string>()) {
      NsysFile file;
      write_nsys(file, in);
      check_file(s, in, file.finish());
    }
  }
}

TEST_CASE("scenarios through recordings give the same integers") {
  int carried = 0;
  for (const nlohmann::json& s : scenarios().at("partition")) {
    const ScenarioInput in = scenario_from_json(s);
    if (!nsys_can_say(in) || has_processes(in)) continue;  // one process per file
    ++carried;
    DYNAMIC_SECTION(s.at("id").get<std::string>() << " " << s.at("title").get<std::string>()) {
      RecordingFile file;
      write_recording(file, in);
      check_file(s, in, file.finish());
    }
  }
  CHECK(carried == 38);
}

TEST_CASE("scenarios through Kineto files give the same integers") {
  int carried = 0;
  for (const nlohmann::json& s : scenarios().at("partition")) {
    const ScenarioInput in = scenario_from_json(s);
    carried += kineto_can_say(in) ? 1 : 0;
  }
  CHECK(carried == 46);
  for (const nlohmann::json& s : scenarios().at("partition")) {
    const ScenarioInput in = scenario_from_json(s);
    if (!kineto_can_say(in)) continue;
    DYNAMIC_SECTION(s.at("id").get<std::string>() << " " << s.at("title").get<std::string>()) {
      const ScratchFile file("scenario.json", kineto_text(in));
      check_file(s, in, file.path());
    }
  }
}
