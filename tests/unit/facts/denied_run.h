#pragma once
// A made run of one kind of communication, and the settings that it denies.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "facts/config_denials.h"
#include "unit/analysis/made_rank.h"

namespace ws::made {

constexpr TimeNs kMs = 1'000'000;

using Change = std::function<void(RankAnalysis&)>;

// Two ranks alike: six counted steps of 1 ms, a fifth of it communication of the kind.
inline RunAnalysis run_with(CommKind kind, const std::vector<CollectiveRow>& rows,
                            const Change& change = {}) {
  DeviceAnalysis device = made::device(made::leaves(
      {{Leaf::gemm, 800'000}, {comm_leaf(OpClass::comm, kind, CommPart::unsplit), 200'000}}));
  device.collectives = rows;
  std::vector<RankAnalysis> ranks = {made::rank(device, 0, 2), made::rank(device, 1, 2)};
  for (RankAnalysis& r : ranks) {
    r.communicators.push_back({"GROUP", "1|0|1", {0, 1}, 2, kind, true, false});
    if (change) change(r);
  }
  RunAnalysis run;
  run.ranks = std::move(ranks);
  run.means = means_of(run.ranks);
  return run;
}

inline CollectiveRow row(CommKind kind, CollectiveOp op, int64_t per_step, int64_t bytes = 96 << 20,
                         TimeNs hidden_ns = 0) {
  CollectiveRow out = made::collective(kind, op, 6 * 200'000, 6 * per_step);
  out.bytes = bytes;
  out.hidden_ns = hidden_ns;
  return out;
}

inline std::string denied_keys(const RunAnalysis& run, const FactRowValues& asked,
                               const FactRowValues& seen = {}) {
  const ConfigShown shown = config_shown(run, evidence_of(run.ranks, run.means));
  std::string out;
  for (const Denial& d : denials(asked, seen, shown)) out += (out.empty() ? "" : " ") + d.key;
  return out;
}

inline FactRowValues on(const char* key) { return {{key, int64_t{1}}}; }

}  // namespace ws::made
