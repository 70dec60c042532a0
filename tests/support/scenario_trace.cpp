#include "support/scenario_trace.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace ws::test {
namespace {

struct Kind {
  const char* scenario;
  OpKind kind;
  OpClass cls;
};
constexpr Kind kKinds[] = {{"gemm", OpKind::kernel, OpClass::gemm},
                           {"attention", OpKind::kernel, OpClass::attention},
                           {"membound", OpKind::kernel, OpClass::membound},
                           {"compute_other", OpKind::kernel, OpClass::compute_other},
                           {"comm", OpKind::kernel, OpClass::comm},
                           {"h2d", OpKind::h2d, OpClass::h2d},
                           {"d2h", OpKind::d2h, OpClass::d2h},
                           {"d2d", OpKind::d2d, OpClass::membound},
                           {"memset", OpKind::memset, OpClass::membound},
                           {"p2p", OpKind::p2p, OpClass::p2p},
                           {"graph", OpKind::graph, OpClass::compute_other}};

const Kind& kind_of(const std::string& cls) {
  const auto it = std::find_if(std::begin(kKinds), std::end(kKinds),
                               [&](const Kind& k) { return cls == k.scenario; });
  WS_CHECK(it != std::end(kKinds));
  return *it;
}

// A name and source that the state table maps to the scenario's kind of range.
std::pair<const char*, RangeSource> range_of(const std::string& kind) {
  if (kind == "dataload") return {"enumerate(DataLoader)", RangeSource::user_annotation};
  if (kind == "gc") return {"gc.collect", RangeSource::nvtx};
  if (kind == "jit") return {"cuModuleLoadData", RangeSource::nvtx};
  if (kind == "profiler") return {"Activity Buffer Request", RangeSource::overhead};
  return {"forward", RangeSource::nvtx};
}

template <class T>
T value_or(const nlohmann::json& j, const char* key, T fallback) {
  const auto it = j.find(key);
  return it == j.end() || it->is_null() ? fallback : it->get<T>();
}

std::optional<uint32_t> correlation(const nlohmann::json& j) {
  const auto v = value_or<int64_t>(j, "corr", -1);
  return v < 0 ? std::nullopt : std::optional<uint32_t>(static_cast<uint32_t>(v));
}

}  // namespace

ScenarioInput scenario_from_json(const nlohmann::json& j) {
  ScenarioInput in;
  for (const auto& o : j.at("ops")) {
    in.ops.push_back({o.at("id"), value_or<int32_t>(o, "dev", 0), o.at("stream"), o.at("s"),
                      o.at("e"), o.at("cls"), value_or<int64_t>(o, "pid", 0), correlation(o),
                      value_or(o, "recompute", false), value_or(o, "offload", false),
                      value_or<std::string>(o, "kind", "other"),
                      value_or<uint32_t>(o, "graph", 0)});
  }
  for (const auto& a : j.at("apis"))
    in.calls.push_back({a.at("tid"), value_or<int64_t>(a, "pid", 0), a.at("s"), a.at("e"),
                        a.at("name"), correlation(a)});
  for (const auto& r : j.at("ranges"))
    in.ranges.push_back(
        {r.at("tid"), value_or<int64_t>(r, "pid", 0), r.at("s"), r.at("e"), r.at("kind")});
  for (const auto& [id, t] : j.at("arrivals").items()) in.arrivals[std::stoll(id)] = t;
  return in;
}

ScenarioTrace::ScenarioTrace(const ScenarioInput& input, TimeNs shift_ns, TimeNs tick_ns) {
  TraceBuilder b;
  b.trace.tick_ns = tick_ns;
  b.device(0);                              // named by the file even if nothing ran
  std::vector<ScenarioOp> ops = input.ops;  // in the order of the rows: by begin, then id
  std::sort(ops.begin(), ops.end(), [](const ScenarioOp& a, const ScenarioOp& o) {
    return a.s != o.s ? a.s < o.s : a.id < o.id;
  });
  for (const ScenarioOp& o : ops) {
    const Kind& kind = kind_of(o.cls);
    OpRow r;
    r.begin_ns = o.s + shift_ns;
    r.end_ns = o.e + shift_ns;
    r.name = b.intern(o.cls);
    r.stream = b.stream(b.process(o.pid), b.device(o.dev), 0, o.stream);
    r.kind = kind.kind;
    r.correlation = o.corr.value_or(kNoCorrelation);
    r.graph = o.graph;
    if (!b.add(r, {})) continue;
    labels.cls.push_back(kind.cls);
    labels.kind.push_back(kind.cls == OpClass::comm ? comm_kind_from(o.kind).value()
                                                    : CommKind::other);
    labels.coll.push_back(CollectiveOp::unknown);
    labels.flags.push_back(
        static_cast<uint8_t>((o.recompute ? kFlagRecompute : 0) | (o.offload ? kFlagOffload : 0)));
    labels.communicator.push_back(kNoRow);
    const auto arrival = input.arrivals.find(o.id);
    arrivals.push_back(arrival == input.arrivals.end() ? kNoArrival : arrival->second + shift_ns);
  }
  for (const ScenarioCall& c : input.calls) {
    b.add(CallRow{c.s + shift_ns, c.e + shift_ns, b.intern(c.name),
                  b.thread(b.process(c.pid), c.tid), c.corr.value_or(kNoCorrelation)},
          {});
  }
  for (const ScenarioRange& r : input.ranges) {
    const auto [name, source] = range_of(r.kind);
    b.add(RangeRow{r.s + shift_ns, r.e + shift_ns, b.intern(name),
                   b.thread(b.process(r.pid), r.tid), source, kNoRow, -1},
          {});
  }
  trace = b.seal({.clip_outlasting = false, .drop_duplicates = false});
}

DeviceId ScenarioTrace::device(int32_t ordinal) const {
  const auto it = std::find_if(trace.devices.begin(), trace.devices.end(),
                               [&](const Device& d) { return d.ordinal == ordinal; });
  WS_CHECK(it != trace.devices.end());
  return static_cast<DeviceId>(it - trace.devices.begin());
}

std::map<std::string, TimeNs> nonzero(const Breakdown& b) {
  std::map<std::string, TimeNs> out;
  for (size_t i = 0; i < kLeafCount; ++i) {
    if (b.ns[i] != 0) out[std::string(name_of(leaf_at(i)))] = b.ns[i];
  }
  return out;
}

Breakdown partition_of(const ScenarioTrace& t, int32_t ordinal, const Constants& constants,
                       Interval window) {
  const HostStates host(t.trace, t.labels);
  const Timeline timeline =
      build_timeline(t.trace, t.labels, host, t.device(ordinal), constants, window, t.arrivals);
  return partition(timeline, std::span<const Interval>(&window, 1)).front();
}

}  // namespace ws::test
