// Tested by: across_ranks_test.cpp
#include "analysis/across_ranks.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analysis/balance.h"
#include "analysis/causes.h"
#include "analysis/counted_steps.h"
#include "analysis/late_causes.h"
#include "analysis/median.h"

namespace ws {
namespace {

const DeviceAnalysis& device_of(const CrossRank& cross, const std::vector<RankAnalysis>& ranks,
                                uint32_t participant) {
  const Participant at = cross.participants[participant];
  return ranks[at.rank_row].devices[at.device_row];
}

std::vector<std::vector<bool>> counted_of(const CrossRank& cross,
                                          const std::vector<RankAnalysis>& ranks) {
  std::vector<std::vector<bool>> out;
  for (uint32_t p = 0; p < cross.participants.size(); ++p) {
    const DeviceAnalysis& device = device_of(cross, ranks, p);
    out.emplace_back(device.steps.size(), false);
    for (size_t step : counted_steps(device.steps)) out.back()[step] = true;
  }
  return out;
}

// Step a record belongs to if that step is counted.
const Step* counted_step(const CrossRank& cross, const std::vector<RankAnalysis>& ranks,
                         const std::vector<std::vector<bool>>& counted, const Member& m) {
  const DeviceAnalysis& device = device_of(cross, ranks, m.rank);
  const uint32_t step = device.comms.step[m.record];
  if (step == kNoStep || !counted[m.rank][step]) return nullptr;
  return &device.steps[step];
}

// met: kind of the collectives that were delayed most by it.
Cause cause_of(const LateCause& late, CommKind met, StragglerKind straggler) {
  if (late.transfer) return cause_of_traffic(*late.transfer, CollectiveOp::unknown);
  switch (late.category) {
    case LateCategory::expert_gemm:
      return Cause::expert_imbalance;
    case LateCategory::gc:
      return Cause::gc_pause;
    case LateCategory::alloc:
      return Cause::allocator;
    case LateCategory::dataload:
    case LateCategory::copy:
      return Cause::input_pipeline;
    case LateCategory::offload:
      return Cause::offload;
    case LateCategory::recompute:
      return Cause::recompute;
    default:
      break;
  }
  // What the records do not show is nobody's fault yet.
  if (late.category == LateCategory::unknown) return Cause::unknown;
  if (!is_compute(late.category)) return Cause::straggler_host;
  if (straggler != StragglerKind::rotating) return Cause::straggler_gpu;
  // Work that wanders from rank to rank is no fault of a GPU.
  return met == CommKind::ep ? Cause::expert_imbalance : Cause::unknown;
}

struct Reason {
  TimeNs ns = 0;
  int64_t instances = 0;
  std::set<int64_t> steps;
  std::map<CommKind, TimeNs> met;
};
using ReasonKey = std::tuple<uint32_t, LateCategory, int>;  // participant, category, transfer kind

struct Gathered {
  std::map<ReasonKey, Reason> reasons;
  std::map<int64_t, std::map<int32_t, TimeNs>> per_step;  // step index: rank, marginal
  std::map<int64_t, std::string> step_names;
  Lateness lateness;
};

Gathered gather(const CrossRank& cross, const std::vector<RankAnalysis>& ranks,
                const std::vector<std::vector<bool>>& counted) {
  Gathered out;
  const size_t n = cross.participants.size();
  Lateness& lateness = out.lateness;
  lateness = {std::vector<TimeNs>(n, 0), std::vector<int64_t>(n, 0), std::vector<TimeNs>(n, 0)};
  for (uint32_t i = 0; i < cross.clocks.instances.size(); ++i) {
    const std::vector<Arrival> order = by_arrival(cross, cross.clocks.instances[i]);
    if (order.size() < 2) continue;
    const Member late = order.front().member;
    const Step* step = counted_step(cross, ranks, counted, late);
    if (step == nullptr) continue;
    for (const Arrival& a : order) {
      const CommRecord& record = cross.set.ranks[a.member.rank].records[a.member.record];
      const TimeNs wait = order.front().begin_ns - a.begin_ns;
      lateness.wait_ns[a.member.rank] += std::min(wait, record.end_ns - record.begin_ns);
    }
    const TimeNs marginal = order[0].begin_ns - order[1].begin_ns;
    auto& in_step = out.per_step[step->index];
    out.step_names[step->index] = step->name;
    TimeNs error = 0;
    for (const Arrival& a : order) error = std::max(error, cross.clocks.residual_ns[a.member.rank]);
    if (marginal <= 3 * error) continue;
    ++lateness.times_last[late.rank];
    lateness.marginal_ns[late.rank] += marginal;
    const Participant at = cross.participants[late.rank];
    in_step[ranks[at.rank_row].rank] += marginal;
    const LateRoot root = root_of(cross, ranks, i);
    Reason& reason = out.reasons[{root.participant, root.category,
                                  root.transfer ? static_cast<int>(*root.transfer) : -1}];
    reason.ns += marginal;
    ++reason.instances;
    reason.steps.insert(step->index);
    reason.met[cross.set.ranks[late.rank].records[late.record].kind] += marginal;
  }
  return out;
}

CommKind met_most(const Reason& reason) {
  CommKind out = CommKind::other;
  TimeNs most = -1;
  for (const auto& [kind, ns] : reason.met)
    if (ns > most) most = ns, out = kind;
  return out;
}

void add_causes(const CrossRank& cross, const std::vector<RankAnalysis>& ranks,
                const Gathered& gathered, AcrossRanks& out) {
  for (const auto& [key, reason] : gathered.reasons) {
    const auto [participant, category, transfer] = key;
    LateCause late;
    late.rank = ranks[cross.participants[participant].rank_row].rank;
    late.category = category;
    if (transfer >= 0) late.transfer = static_cast<CommKind>(transfer);
    late.marginal_ns = reason.ns;
    late.instances = reason.instances;
    late.steps = static_cast<int64_t>(reason.steps.size());
    late.cause = cause_of(late, met_most(reason), out.straggler.kind);
    out.causes.push_back(late);
  }
  std::stable_sort(
      out.causes.begin(), out.causes.end(),
      [](const LateCause& a, const LateCause& b) { return a.marginal_ns > b.marginal_ns; });
}

// The same kernels of the other ranks that run them as often, by name.
void compare_kernels(const CrossRank& cross, const std::vector<RankAnalysis>& ranks,
                     uint32_t participant, LateRank& out) {
  std::map<std::pair<std::string_view, int64_t>, std::vector<TimeNs>> others;
  for (uint32_t p = 0; p < cross.participants.size(); ++p) {
    if (p == participant) continue;
    for (const KernelRow& k : device_of(cross, ranks, p).kernels)
      others[{k.name, k.count}].push_back(k.total_ns);
  }
  std::vector<std::pair<double, TimeNs>> ratios;
  TimeNs weight = 0;
  for (const KernelRow& k : device_of(cross, ranks, participant).kernels) {
    if (k.cls == name_of(OpClass::comm) || k.cls == name_of(OpClass::p2p)) continue;
    const auto at = others.find({k.name, k.count});
    if (at == others.end()) continue;
    const TimeNs median = median_of(at->second);
    if (median <= 0) continue;
    ratios.emplace_back(static_cast<double>(k.total_ns) / static_cast<double>(median), k.total_ns);
    weight += k.total_ns;
  }
  std::sort(ratios.begin(), ratios.end());
  TimeNs so_far = 0;
  for (const auto& [ratio, ns] : ratios) {
    so_far += ns;
    if (2 * so_far < weight) continue;
    out.slower_kernels = ratio - 1;
    break;
  }
  out.equal_kernels = static_cast<int64_t>(ratios.size());
}

void add_late(const CrossRank& cross, const std::vector<RankAnalysis>& ranks,
              const Gathered& gathered, AcrossRanks& out) {
  const std::vector<uint32_t> late = late_rank_rows(gathered.lateness);
  for (uint32_t p = 0; p < cross.participants.size(); ++p) {
    const Participant at = cross.participants[p];
    LateRank row;
    row.rank = ranks[at.rank_row].rank;
    row.device = device_of(cross, ranks, p).device;
    row.marginal_ns = gathered.lateness.marginal_ns[p];
    row.times_last = gathered.lateness.times_last[p];
    row.wait_ns = gathered.lateness.wait_ns[p];
    if (std::find(late.begin(), late.end(), p) != late.end()) {
      out.late_ranks.push_back(row.rank);
      compare_kernels(cross, ranks, p, row);
    }
    out.late.push_back(row);
  }
}

void add_straggler(const Gathered& gathered, AcrossRanks& out) {
  std::vector<std::map<int32_t, TimeNs>> steps;
  std::vector<std::string> names;
  for (const auto& [index, marginal] : gathered.per_step) {
    steps.push_back(marginal);
    names.push_back(gathered.step_names.at(index));
    out.late_steps += marginal.empty() ? 0 : 1;
  }
  out.straggler = straggler_kind(steps);
  if (out.straggler.kind == StragglerKind::transient)
    out.straggler_step = names[out.straggler.step];
}

void add_matching(const CrossRank& cross, AcrossRanks& out) {
  for (const Instance& x : cross.clocks.instances) {
    if (x.members.size() < 2) continue;
    ++out.instances;
    const Member& m = x.members.front();
    out.split += cross.arrivals[m.rank][m.record] != kNotMatched ? 1 : 0;
  }
  out.inconsistent = cross.inconsistent;
  out.incomplete = cross.incomplete;
  out.clock_method = cross.clocks.method;
  out.clock_violations = cross.clocks.violations;
  out.clock_unknown = cross.clock_unknown;
  for (size_t p = 0; p < cross.participants.size(); ++p) {
    out.ranks += cross.set.ranks[p].records.empty() ? 0 : 1;
    out.clock_error_ns = std::max(out.clock_error_ns, cross.clocks.residual_ns[p]);
    out.clock_samples = std::max(out.clock_samples, cross.clocks.samples[p]);
  }
}

}  // namespace

AcrossRanks look_across(const CrossRank& cross, const std::vector<RankAnalysis>& ranks) {
  AcrossRanks out;
  add_matching(cross, out);
  for (uint32_t p = 0; p < cross.participants.size(); ++p)
    out.steps = std::max(
        out.steps, static_cast<int64_t>(counted_steps(device_of(cross, ranks, p).steps).size()));
  if (cross.participants.size() < 2) return out;
  out.pipeline = pipeline_shape(cross, ranks);
  out.efficiency = efficiency_of(ranks);
  if (out.split == 0) return out;
  const Gathered gathered = gather(cross, ranks, counted_of(cross, ranks));
  add_straggler(gathered, out);
  add_late(cross, ranks, gathered, out);
  add_causes(cross, ranks, gathered, out);
  out.experts = expert_balance(cross, ranks);
  return out;
}

Cause imbalance_cause(const AcrossRanks& across) {
  std::map<Cause, TimeNs> sums;
  for (const LateCause& late : across.causes) sums[late.cause] += late.marginal_ns;
  Cause out = Cause::unknown;
  TimeNs most = 0, all = 0;
  for (const auto& [cause, ns] : sums) {
    all += ns;
    if (cause != Cause::unknown && ns > most) most = ns, out = cause;
  }
  return 4 * most >= all ? out : Cause::unknown;  // the rest began before the recording
}

}  // namespace ws
