#pragma once
// Small recordings as graphs to re-simulate: ops and calls by number, ranks that meet in order.
#include <functional>
#include <optional>
#include <vector>

#include "analysis/what_if.h"
#include "analysis/what_if_changes.h"
#include "support/scenario_trace.h"

namespace ws::test {

inline ScenarioCall call(TimeNs s, TimeNs e, std::optional<uint32_t> corr = {}, int64_t tid = 1,
                         const char* name = "cudaLaunchKernel") {
  ScenarioCall c;
  c.s = s, c.e = e, c.corr = corr, c.tid = tid, c.name = name;
  return c;
}
inline ScenarioOp op(uint32_t id, TimeNs s, TimeNs e, int64_t stream = 7, const char* cls = "gemm",
                     const char* kind = "other", bool launched = true) {
  ScenarioOp o;
  o.id = id, o.s = s, o.e = e, o.stream = stream, o.cls = cls, o.kind = kind;
  if (launched) o.corr = id;
  return o;
}

struct Built {
  std::vector<ReplayRank> ranks;
  std::vector<Instance> instances;
  std::vector<CommIdentity> communicators;
  ReplayGraph graph(GraphOptions options = {}) {
    return ReplayGraph(ranks, Offsets(ranks.size(), 0), instances, communicators, options);
  }
};

// One rank per input. With several, the comm ops of all ranks meet in order.
inline Built build(const std::vector<ScenarioInput>& inputs) {
  Built out;
  out.communicators.push_back({"c", true, 0});
  for (uint32_t r = 0; r < inputs.size(); ++r) {
    const ScenarioTrace t(inputs[r]);
    Labels labels;
    labels.ops = t.labels;
    std::vector<uint32_t> record_of_op(t.trace.ops.size(), kNoRow);
    uint32_t record = 0;
    for (size_t i = 0; i < record_of_op.size(); ++i) {
      if (labels.ops.cls[i] != OpClass::comm) continue;
      if (out.instances.size() <= record) out.instances.push_back({});
      out.instances[record].members.push_back({r, record});
      record_of_op[i] = record++;
    }
    out.ranks.push_back(
        make_replay_rank(t.trace, labels, Constants{}, {-1'000'000, 1'000'000'000}, record_of_op));
    out.ranks.back().rank = static_cast<int32_t>(r);
  }
  return out;
}

inline TimeNs price(const ReplayGraph& g, bool keep, const std::function<void(Scenario&)>& change) {
  Scenario s = g.recorded(keep);
  change(s);
  return g.makespan(g.run(s));
}
inline TimeNs baseline(const ReplayGraph& g) {
  return price(g, true, [](Scenario&) {});
}

}  // namespace ws::test
