// Order of judgement: is there enough to judge at all; intervals of the groups; the arithmetic of
// decide(); then what one rank can not tell. Communication that is exposed but blocks nothing
// (blocking.h) stays in the losses as the clock saw it, and leaves the interval that decides.
// Tested by: verdict_test.cpp
#include "analysis/verdict.h"

#include <algorithm>
#include <map>

#include "analysis/causes.h"
#include "analysis/counted_steps.h"
#include "analysis/decide.h"
#include "analysis/explain.h"
#include "analysis/phrases.h"
#include "analysis/run_evidence.h"

namespace ws {
namespace {

constexpr double kMostOfIt = 0.8;

PerGroup<LossRow> loss_rows(const std::vector<RankAnalysis>& ranks, const RunMeans& means,
                            const std::optional<Prices>& prices) {
  const PerGroup<LossNs> ns = losses_of(means.mean, means.offload_idle_ns, means.stage);
  PerGroup<LossRow> out;
  for (size_t g = 0; g < kLossGroupCount; ++g) {
    out[g].ns = ns[g];
    out[g].lo_share = ratio(ns[g].lo_ns, means.step_ns());
    out[g].hi_share = ratio(ns[g].hi_ns, means.step_ns());
    if (prices) out[g].price = prices->group[g];
    out[g].cause = main_cause(static_cast<LossGroup>(g), ranks, means);
  }
  return out;
}

// Intervals that decide: without what blocks nothing, and with what hides inside whole graphs.
PerGroup<LossShare> deciding_shares(const Breakdown& leaves, const RunMeans& means,
                                    const std::optional<Prices>& prices) {
  PerGroup<LossNs> ns = losses_of(leaves, means.offload_idle_ns, means.stage);
  for (LossGroup g : {LossGroup::communication, LossGroup::imbalance, LossGroup::bubble}) {
    LossNs& loss = at(ns, g);
    loss.hi_ns = std::max<TimeNs>(0, loss.hi_ns - means.not_blocking_ns);
    loss.lo_ns = std::min(loss.lo_ns, loss.hi_ns);
  }
  at(ns, LossGroup::communication).hi_ns += means.opaque_ns;
  return shares_of(ns, leaves.total(), leaves[Leaf::idle_unknown], prices);
}

// Exposed communication is certain to be communication, waiting or bubble, whatever its parts.
PerGroup<LossShare> with_one_communication(PerGroup<LossShare> shares, const Breakdown& leaves,
                                           const RunMeans& means) {
  const double all = ratio(
      std::max<TimeNs>(0, exposed_communication(leaves) - means.not_blocking_ns), leaves.total());
  const double opaque = ratio(means.opaque_ns, leaves.total());
  at(shares, LossGroup::communication) = {all, all + opaque, opaque};
  at(shares, LossGroup::imbalance) = {};
  at(shares, LossGroup::bubble) = {};
  return shares;
}

struct Outcome {
  Decision decision;
  bool unsplit = false;  // peers were not recorded (or not matched): communication or waiting
};

Outcome outcome_of(const Breakdown& leaves, const RunMeans& means,
                   const std::optional<Prices>& prices) {
  const PerGroup<LossShare> shares = deciding_shares(leaves, means, prices);
  Outcome out{decide(shares, prices)};
  if (out.decision.kind != Decision::Kind::undecided || unsplit_communication(leaves) == 0)
    return out;
  const Decision joint = decide(with_one_communication(shares, leaves, means));
  const bool found = joint.kind == Decision::Kind::dominant ||
                     joint.kind == Decision::Kind::mixed || joint.kind == Decision::Kind::best;
  if (found && joint.best == LossGroup::communication)
    out.unsplit = true;
  else
    out.decision = joint;
  return out;
}

// The winner with the launch constants halved and doubled (ALGORITHMS 3.4).
bool stable_constants(const std::vector<RankAnalysis>& ranks, const RunMeans& means,
                      const std::optional<Prices>& prices, const Outcome& outcome) {
  for (bool twice : {false, true}) {
    Breakdown sum;
    for (const DeviceMeans& row : means.devices) {
      const Evidence& evidence = ranks[row.rank_row].devices[row.device_row].evidence;
      sum.add(mean_of(twice ? evidence.double_constants : evidence.half_constants, row.steps));
    }
    if (sum.total() == 0) continue;  // not computed
    const Breakdown mean = mean_of(sum, static_cast<int64_t>(means.devices.size()));
    const Outcome other = outcome_of(mean, means, prices);
    const bool same = other.decision.best == outcome.decision.best &&
                      other.decision.kind == outcome.decision.kind &&
                      other.unsplit == outcome.unsplit;
    if (!same) return false;
  }
  return true;
}

Cause undecided_cause(const RunMeans& means) {
  const TimeNs unsplit = unsplit_communication(means.mean);
  const PerGroup<LossNs> ns = losses_of(means.mean, means.offload_idle_ns, means.stage);
  const TimeNs unknown = at(ns, LossGroup::host).hi_ns - at(ns, LossGroup::host).lo_ns;
  if (means.opaque_ns > std::max(unsplit, unknown)) return Cause::graph_level_trace;
  if (unsplit >= unknown) return Cause::peers_missing;
  return Cause::unknown;
}

TimeNs loss_in_step(LossGroup loss, const DeviceAnalysis& device, size_t step) {
  const TimeNs offload = step < device.offload_idle_ns.size() ? device.offload_idle_ns[step] : 0;
  const StageIdle stage = step < device.stage_idle.size() ? device.stage_idle[step] : StageIdle{};
  const LossNs ns = at(losses_of(device.breakdowns[step], offload, stage), loss);
  return loss == LossGroup::communication ? ns.hi_ns : ns.lo_ns;
}

// The fewest keys that hold most of the sum, empty when these are more than one in `few`.
template <class Key>
std::vector<Key> guilty(const std::map<Key, TimeNs>& sums, size_t few) {
  TimeNs total = 0;
  std::vector<std::pair<Key, TimeNs>> order(sums.begin(), sums.end());
  for (const auto& [key, ns] : order) total += ns;
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<Key> out;
  TimeNs held = 0;
  for (const auto& [key, ns] : order) {
    if (static_cast<double>(held) >= kMostOfIt * static_cast<double>(total)) break;
    held += ns;
    out.push_back(key);
  }
  if (total == 0 || out.size() * few > sums.size()) out.clear();
  std::sort(out.begin(), out.end());
  return out;
}

// Imbalance is where the late rank is, not where the others wait.
void find_late(const AcrossRanks& across, RunVerdict& verdict) {
  if (across.straggler.rank >= 0) verdict.where_ranks = {across.straggler.rank};
  if (across.straggler.kind == StragglerKind::transient)
    verdict.where_steps = {across.straggler_step};
}

// One or two late arrivals of one rank may be an accident.
bool seen_too_seldom(const RunVerdict& verdict, const AcrossRanks& across) {
  return verdict.loss == LossGroup::imbalance && across.straggler.kind == StragglerKind::seldom;
}

void find_where(const std::vector<RankAnalysis>& ranks, RunVerdict& verdict) {
  std::map<std::pair<int64_t, std::string>, TimeNs> steps;
  std::map<int32_t, TimeNs> by_rank;
  for (const RankAnalysis& rank : ranks) {
    for (const DeviceAnalysis& device : rank.devices) {
      for (size_t row : counted_steps(device.steps)) {
        const TimeNs ns = loss_in_step(*verdict.loss, device, row);
        steps[{device.steps[row].index, device.steps[row].name}] += ns;
        by_rank[rank.rank] += ns;
      }
    }
  }
  for (const auto& [index, name] : guilty(steps, 3)) verdict.where_steps.push_back(name);
  // Long collectives show on the ranks that wait, not on the one they wait for.
  if (*verdict.loss != LossGroup::communication && *verdict.loss != LossGroup::imbalance)
    verdict.where_ranks = guilty(by_rank, 2);
}

// Steps that were left out because the profiler itself took their time.
void find_profiler_steps(const std::vector<RankAnalysis>& ranks, RunVerdict& verdict) {
  for (const RankAnalysis& rank : ranks) {
    for (const DeviceAnalysis& device : rank.devices) {
      for (size_t i = 0; i < device.steps.size(); ++i) {
        const Step& step = device.steps[i];
        const bool left_out = step.outlier && !step.steady;
        if (!left_out || device.breakdowns[i][Leaf::idle_profiler] == 0) continue;
        auto& names = verdict.where_steps;
        if (std::find(names.begin(), names.end(), step.name) == names.end())
          names.push_back(step.name);
      }
    }
  }
}

std::optional<bool> latent_memory_wall(const std::vector<RankAnalysis>& ranks,
                                       const RunMeans& means) {
  if (20 * means.mean[Leaf::recompute] > means.step_ns()) return true;
  // Full recompute with a full memory would be the other sign; the share above covers it. Without
  // host ranges repeated forward work can not be seen.
  for (const RankAnalysis& rank : ranks)
    if (rank.has_host_ranges) return false;
  return std::nullopt;
}

void settle(RunVerdict& verdict, const Outcome& outcome, const RunMeans& means) {
  const Decision& d = outcome.decision;
  const auto cause_in = [&](LossGroup g) { return at(verdict.losses, g).cause; };
  if (outcome.unsplit) {
    verdict.kind = VerdictKind::mixed;
    verdict.loss = LossGroup::communication;
    const TimeNs pp = means.mean[Leaf::comm_pp_unsplit];
    const bool mostly_pp = 2 * pp > unsplit_communication(means.mean);
    verdict.also = mostly_pp ? LossGroup::bubble : LossGroup::imbalance;
    verdict.also_cause = cause_in(*verdict.also);
  } else if (d.kind == Decision::Kind::none || d.kind == Decision::Kind::only_hi) {
    verdict.kind = VerdictKind::none;
    verdict.loss = LossGroup::useful;
  } else {
    verdict.kind = d.kind == Decision::Kind::mixed ? VerdictKind::mixed : VerdictKind::dominant;
    verdict.loss = d.best;
    if (d.kind == Decision::Kind::mixed) {
      verdict.also = d.second;
      verdict.also_cause = cause_in(d.second);
    }
  }
  verdict.cause = d.kind == Decision::Kind::only_hi && !outcome.unsplit ? Cause::comm_contention
                                                                        : cause_in(*verdict.loss);
  verdict.wall = wall_of(*verdict.loss);
  const LossRow& row = at(verdict.losses, *verdict.loss);
  verdict.share_lo = row.lo_share;
  verdict.share_hi = row.hi_share;
  verdict.price = row.price;
}

}  // namespace

Wall wall_of(LossGroup loss) {
  switch (loss) {
    case LossGroup::memory:
      return Wall::memory;
    case LossGroup::communication:
    case LossGroup::bubble:
      return Wall::communication;
    case LossGroup::useful:
    case LossGroup::imbalance:
    case LossGroup::host:
      break;
  }
  return Wall::compute_host;
}

LeadingLoss leading_loss(const std::vector<RankAnalysis>& ranks, const RunMeans& means) {
  const Outcome outcome = outcome_of(means.mean, means, {});
  const bool none = outcome.decision.kind == Decision::Kind::none ||
                    outcome.decision.kind == Decision::Kind::only_hi;
  const LossGroup loss = outcome.unsplit ? LossGroup::communication
                         : none          ? LossGroup::useful
                                         : outcome.decision.best;
  return {loss, main_cause(loss, ranks, means)};
}

RunVerdict judge(const std::vector<RankAnalysis>& ranks, const RunMeans& means,
                 const std::optional<Prices>& prices, const AcrossRanks& across, bool some_chosen) {
  RunVerdict verdict;
  RunEvidence evidence = evidence_of(ranks, means);
  evidence.some_chosen = some_chosen;
  verdict.single_rank_of_job = evidence.single_rank && !some_chosen;
  verdict.losses = loss_rows(ranks, means, prices);
  verdict.latent_memory_wall = latent_memory_wall(ranks, means);
  if (const auto reason = not_enough(ranks, means, evidence)) {
    verdict.cause = reason->cause;
    verdict.why.push_back(reason->why);
    verdict.missing.push_back(reason->missing);
    return verdict;
  }
  const Outcome outcome = outcome_of(means.mean, means, prices);
  if (outcome.decision.kind == Decision::Kind::undecided && !outcome.unsplit) {
    verdict.cause = undecided_cause(means);
    explain_undecided(ranks, means, outcome.decision.second, verdict);
    return verdict;
  }
  settle(verdict, outcome, means);
  const bool sure = outcome.decision.kind == Decision::Kind::dominant ||
                    outcome.decision.kind == Decision::Kind::none ||
                    outcome.decision.kind == Decision::Kind::mixed;
  verdict.confidence =
      outcome.unsplit || seen_too_seldom(verdict, across)
          ? Confidence::low
          : confidence_of(evidence, sure, stable_constants(ranks, means, prices, outcome));
  if (verdict.kind == VerdictKind::none)
    find_profiler_steps(ranks, verdict);
  else if (verdict.loss == LossGroup::imbalance)
    find_late(across, verdict);
  else
    find_where(ranks, verdict);
  explain(ranks, means, evidence, across, verdict);
  return verdict;
}

}  // namespace ws
