// Tested by: across_ranks_test.cpp
#include "analysis/balance.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/late_causes.h"
#include "analysis/losses.h"
#include "analysis/phrases.h"

namespace ws {
namespace {

const DeviceComms& comms_of(const CrossRank& cross, const std::vector<RankAnalysis>& ranks,
                            uint32_t participant) {
  const Participant at = cross.participants[participant];
  return ranks[at.rank_row].devices[at.device_row].comms;
}

TimeNs useful_of(const Breakdown& p) { return at(losses_of(p, 0), LossGroup::useful).lo_ns; }

}  // namespace

std::optional<ExpertBalance> expert_balance(const CrossRank& cross,
                                            const std::vector<RankAnalysis>& ranks) {
  ExpertBalance out;
  double over_mean = 0, over_min = 0;
  std::set<uint32_t> hot;
  for (const Instance& x : cross.clocks.instances) {
    const std::vector<Arrival> members = by_arrival(cross, x);
    if (members.size() < 2) continue;
    const Member& first = members.front().member;
    if (cross.set.ranks[first.rank].records[first.record].kind != CommKind::ep) continue;
    TimeNs most = 0, least = INT64_MAX, sum = 0;
    uint32_t hottest = 0;
    bool known = true;
    for (const Arrival& a : members) {
      const BeforeRecord& before = comms_of(cross, ranks, a.member.rank).before[a.member.record];
      known &= before.known;
      const auto ns =
          static_cast<TimeNs>(before.ns[static_cast<size_t>(LateCategory::expert_gemm)]);
      if (ns > most) most = ns, hottest = a.member.rank;
      least = std::min(least, ns);
      sum += ns;
    }
    if (!known || least <= 0) continue;  // dispatch: no expert work between this and the last
    const auto count = static_cast<TimeNs>(members.size());
    ++out.layers;
    over_mean += ratio(most * count, sum);
    over_min += ratio(most, least);
    out.lost_ns += most - sum / count;
    if (most * count > sum + sum / 10) hot.insert(hottest);  // clearly hot
  }
  if (out.layers == 0) return std::nullopt;
  out.max_over_mean = over_mean / static_cast<double>(out.layers);
  out.max_over_min = over_min / static_cast<double>(out.layers);
  out.hot_ranks = static_cast<int64_t>(hot.size());
  return out;
}

std::optional<PipelineShape> pipeline_shape(const CrossRank& cross,
                                            const std::vector<RankAnalysis>& ranks) {
  const std::vector<uint32_t> root = replicas_of(cross);
  std::vector<int64_t> size(root.size(), 0);
  for (uint32_t r : root) ++size[r];
  const auto largest = std::max_element(size.begin(), size.end());
  if (largest == size.end() || *largest < 2) return std::nullopt;
  PipelineShape out;
  out.stages = *largest;
  const RunMeans means = means_of(ranks);
  const LossNs bubble =
      at(losses_of(means.mean, means.offload_idle_ns, means.stage), LossGroup::bubble);
  out.bubble_share = ratio(bubble.lo_ns, means.step_ns());
  out.bubble_hi_share = ratio(bubble.hi_ns, means.step_ns());
  TimeNs most = 0, sum = 0;
  for (const DeviceMeans& row : means.devices) {
    most = std::max(most, useful_of(row.mean));
    sum += useful_of(row.mean);
  }
  if (sum > 0)
    out.stage_max_over_mean = ratio(most * static_cast<TimeNs>(means.devices.size()), sum);
  if (out.bubble_hi_share > 0) {
    const auto p1 = static_cast<double>(out.stages - 1);
    const double whole = std::round(p1 / out.bubble_hi_share - p1);
    if (whole >= 1 && std::fabs(p1 / (whole + p1) - out.bubble_hi_share) < 0.005)
      out.micro_batches_like = static_cast<int64_t>(whole);
  }
  return out;
}

std::optional<Efficiency> efficiency_of(const std::vector<RankAnalysis>& ranks) {
  const RunMeans means = means_of(ranks);
  TimeNs most = 0, sum = 0;
  for (const DeviceMeans& row : means.devices) {
    most = std::max(most, useful_of(row.mean));
    sum += useful_of(row.mean);
  }
  if (means.devices.size() < 2 || most == 0 || means.step_ns() == 0) return std::nullopt;
  Efficiency out;
  out.load_balance = ratio(sum, most * static_cast<TimeNs>(means.devices.size()));
  out.communication = ratio(most, means.step_ns());
  out.parallel = out.load_balance * out.communication;
  const PerGroup<LossNs> losses = losses_of(means.mean, means.offload_idle_ns, means.stage);
  out.host = 1 - ratio(at(losses, LossGroup::host).hi_ns, means.step_ns());
  return out;
}

}  // namespace ws
