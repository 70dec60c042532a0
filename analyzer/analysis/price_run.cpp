// Tested by: price_run_test.cpp
#include "analysis/price_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/counted_steps.h"
#include "analysis/next_wall.h"
#include "analysis/phrases.h"
#include "analysis/pipeline_schedule.h"
#include "analysis/what_if.h"
#include "base/in_parallel.h"

namespace ws {
namespace {

constexpr double kMostUnknown = 0.5;       // replay would keep it as it was, as a lag of the device
constexpr double kMostUnexplained = 0.05;  // above it no price is given (ALGORITHMS 6)
constexpr double kMostOffloadIdle = 0.05;  // above it shares decide (ALGORITHMS 4)
constexpr size_t kLargeGraph = 100'000;    // nodes from which on only larger gains are looked at
constexpr size_t kSimulationBytes = 200u << 20;  // of all changes simulated at once (D)
constexpr double kWorthALook = 0.01;             // smaller gains expose no other wall
constexpr double kOneLoss = 0.05;  // both seen from here on: perhaps one loss seen twice

constexpr std::string_view kHostAndImbalance = "host_zero+straggler_fixed";
constexpr std::string_view kBubbleHalved = "bubble_halved";

// Ranks may have chosen other steps: only those that all of them have are priced.
void align_steps(std::vector<ReplayRank>& ranks) {
  std::set<int64_t> common(ranks.front().step_index.begin(), ranks.front().step_index.end());
  for (const ReplayRank& r : ranks) {
    std::set<int64_t> both;
    for (int64_t i : r.step_index)
      if (common.count(i) > 0) both.insert(i);
    common = std::move(both);
  }
  // Only the first stretch without holes: differences of step ends need neighbours.
  std::vector<int64_t> kept;
  for (int64_t i : common) {
    if (!kept.empty() && i != kept.back() + 1) break;
    kept.push_back(i);
  }
  for (ReplayRank& r : ranks) {
    const auto first = kept.empty() ? r.step_index.end()
                                    : std::find(r.step_index.begin(), r.step_index.end(), kept[0]);
    const auto from = first - r.step_index.begin();
    const auto count = static_cast<std::ptrdiff_t>(kept.size());
    r.step_index.assign(kept.begin(), kept.end());
    r.host_steps = {r.host_steps.begin() + from, r.host_steps.begin() + from + count};
    for (ReplayCuts& c : r.cuts)
      c.at_ns = {c.at_ns.begin() + from, c.at_ns.begin() + from + count + (count > 0 ? 1 : 0)};
  }
}

int64_t notes_of(const std::vector<RankAnalysis>& ranks, NoteCode code) {
  int64_t n = 0;
  for (const RankAnalysis& rank : ranks) n += rank.notes.count(code);
  return n;
}

// Where a gain would rest on what is missing.
std::string no_gains(const std::vector<RankAnalysis>& ranks, const RunMeans& means,
                     const PriceOptions& options) {
  if (!options.wanted) return "switched off by --no-what-if";
  if (notes_of(ranks, NoteCode::records_lost) + notes_of(ranks, NoteCode::truncated_file) +
          notes_of(ranks, NoteCode::damaged_file) + notes_of(ranks, NoteCode::time_out_of_range) +
          notes_of(ranks, NoteCode::missing_gpu_records) >
      0)
    return "records were lost";
  for (const RankAnalysis& rank : ranks)
    if (!rank.has_api_records) return fmt::format("rank {} has no launch calls", rank.rank);
  if (means.step_ns() > 0 && ratio(means.opaque_ns, means.step_ns()) > kMostUnexplained)
    return "CUDA graphs were recorded as a whole";
  if (means.step_ns() > 0 && ratio(means.offload_idle_ns, means.step_ns()) > kMostOffloadIdle)
    return "the host works on offloaded state while the GPU waits, and what it needs for that is "
           "not recorded";
  if (means.step_ns() > 0 && ratio(means.mean[Leaf::idle_unknown], means.step_ns()) > kMostUnknown)
    return "most of the step is idle for no cause that was recorded";
  for (const RankAnalysis& rank : ranks) {
    if (!rank.replay) {
      return fmt::format(
          "rank {} has no two neighbouring steady steps, or they are too large to re-simulate",
          rank.rank);
    }
  }
  return "";
}

// A graph without the meetings of its collectives can not say what a whole group costs.
std::string no_prices(const RunMeans& means) {
  const bool open = means.step_ns() > 0 &&
                    ratio(unsplit_communication(means.mean), means.step_ns()) > kMostUnexplained;
  return open ? "the peers of its collectives are not known" : "";
}

uint8_t removed_covers(std::string_view id) {
  const auto bit = [](CoverKind k) { return 1u << static_cast<unsigned>(k); };
  unsigned out = 0;
  for (const auto& [part, kinds] :
       {std::pair<std::string_view, unsigned>{"dataload_zero", bit(CoverKind::dataload)},
        {"gc_zero", bit(CoverKind::gc)},
        {"host_zero", bit(CoverKind::dataload) | bit(CoverKind::gc)}})
    if (id.find(part) != std::string_view::npos) out |= kinds;
  return static_cast<uint8_t>(out);
}

std::optional<Price> price_of(const std::vector<WhatIfRow>& rows, std::string_view id) {
  for (const WhatIfRow& row : rows)
    if (row.id == id) return Price{row.saved_lo_share, row.saved_hi_share};
  return std::nullopt;
}

class Pricing {
 public:
  Pricing(const std::vector<RankAnalysis>& ranks, const RunMeans& means, const MatchedRanks& known,
          const PriceOptions& options, std::vector<ReplayRank> replays)
      : options_(options),
        means_(means),
        matched_(!known.instances.empty()),
        late_(!known.late_ranks.empty()),
        graph_(std::move(replays),
               known.offsets.empty() ? Offsets(ranks.size(), TimeNs{0}) : known.offsets,
               known.instances, known.communicators),
        what_if_(graph_, {known.late_ranks}) {
    for (const RankAnalysis& rank : ranks) ranks_.push_back(&rank);
  }

  void table(PricedRun& out) const {
    out.steps = static_cast<int64_t>(graph_.step_count()) - 1;
    out.unexplained_share = std::max(0.0, what_if_.unexplained_share());
    out.replay_error_ns = what_if_.replay_error_ns();
    out.meetings = graph_.meetings();
    out.recorded_edges = graph_.recorded_waits();
    out.inferred_edges = graph_.inferred_edges();
    out.violated_edges = graph_.violated_edges();
    out.path = critical_path(graph_);
    if (out.unexplained_share > kMostUnexplained) {
      out.why_not = fmt::format("the dependency graph can not explain {} of the step",
                                percent(out.unexplained_share));
      out.path = {};
      return;
    }
    std::vector<std::string> ids;
    for (const std::string_view id : what_if_ids()) ids.emplace_back(id);
    for (const std::string& id : options_.combinations)
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    // Single changes first: of a group all but one part may be absent, and then it is that part.
    std::vector<std::optional<WhatIfRow>> rows(ids.size());
    for (const bool single : {true, false}) {
      std::vector<size_t> now;
      for (size_t i = 0; i < ids.size(); ++i)
        if ((parts_of(ids[i]).size() == 1) == single) now.push_back(i);
      auto simulated = in_parallel(now.size(), at_once(), [&](size_t k) {
        const auto same = single ? std::nullopt : only_part(ids[now[k]], ids, rows);
        return same ? same : row_of(ids[now[k]]);
      });
      for (size_t k = 0; k < now.size(); ++k) rows[now[k]] = std::move(simulated[k]);
    }
    for (auto& row : rows)
      if (row) out.rows.push_back(std::move(*row));
  }

  // The row of a combination of which one part alone can be changed.
  std::optional<WhatIfRow> only_part(const std::string& id, const std::vector<std::string>& ids,
                                     const std::vector<std::optional<WhatIfRow>>& rows) const {
    std::optional<WhatIfRow> found;
    for (const std::string_view part : parts_of(id)) {
      if (!what_if_.has_part(part)) continue;
      const auto at = std::find(ids.begin(), ids.end(), part);
      if (at == ids.end()) return std::nullopt;  // other_zero has no row of its own
      const auto& row = rows[static_cast<size_t>(at - ids.begin())];
      if (!row) continue;
      if (found) return std::nullopt;
      found = row;
    }
    if (found) found->id = id;
    return found;
  }

  // Price of each group: everything of it removed in one run. Bubble keeps its share, and so does
  // what communication and imbalance share as long as the peers are not known.
  Prices prices(const std::vector<WhatIfRow>& rows) const {
    Prices out;
    const Price nothing{0, 0};
    const auto set = [&](LossGroup g, std::string_view id) {
      at(out.group, g) = price_of(rows, id).value_or(nothing);
    };
    set(LossGroup::memory, "memory_zero");
    set(LossGroup::host, "host_zero");
    if (unsplit_communication(means_.mean) * 200 > means_.step_ns()) return out;
    set(LossGroup::communication, "communication_zero");
    if (!matched_) return out;
    Price imbalance = price_of(rows, "straggler_fixed").value_or(nothing);
    const Price experts = price_of(rows, "experts_balanced").value_or(nothing);
    if (std::make_pair(experts.lo, experts.hi) > std::make_pair(imbalance.lo, imbalance.hi))
      imbalance = experts;
    at(out.group, LossGroup::imbalance) = imbalance;
    const Price& host = *at(out.group, LossGroup::host);
    const auto straggler = price_of(rows, "straggler_fixed");
    if (late_ && straggler && std::min(host.hi, straggler->hi) >= kOneLoss) {
      if (const auto both = what_if_.gain(kHostAndImbalance))
        out.host_and_imbalance = Price{both->lo_share, both->hi_share};
    }
    return out;
  }

 private:
  // Every simulated change holds its own times of the whole graph.
  unsigned at_once() const {
    const size_t each =
        graph_.nodes().size() * (3 * sizeof(TimeNs) + 1) + graph_.edges().size() * sizeof(TimeNs);
    const size_t fit = kSimulationBytes / std::max<size_t>(1, each);
    return static_cast<unsigned>(std::clamp<size_t>(fit, 1, std::max(1u, options_.threads)));
  }

  std::optional<WhatIfRow> row_of(const std::string& id) const {
    if (id == kBubbleHalved) return bubble_halved();
    std::vector<TimeNs> events;
    const auto gain = what_if_.gain(id, &events);
    if (!gain) return std::nullopt;
    WhatIfRow row;
    row.id = id;
    set_gain(gain->lo_share, gain->hi_share, row);
    const bool large = graph_.nodes().size() > kLargeGraph;
    if (gain->hi_share < (large ? 5 * kWorthALook : kWorthALook)) return row;
    const LeadingLoss next = next_wall(graph_, ranks_, means_, events, removed_covers(id));
    row.next = NextWall{next.loss, next.cause};
    return row;
  }

  void set_gain(double lo, double hi, WhatIfRow& row) const {
    const auto step = static_cast<double>(means_.step_ns());
    row.saved_lo_share = lo;
    row.saved_hi_share = hi;
    row.step_lo_ns = std::llround(std::max(0.0, step * (1 - hi)));
    row.step_hi_ns = std::llround(std::max(0.0, step * (1 - lo)));
  }

  // By the formula of the schedule (ALGORITHMS 5.5) twice the micro-batches, or twice the chunks
  // per stage, halve its bubble; nothing is simulated. The most: all that stages wait for each
  // other halves.
  std::optional<WhatIfRow> bubble_halved() const {
    const LossNs bubble =
        at(losses_of(means_.mean, means_.offload_idle_ns, means_.stage), LossGroup::bubble);
    if (bubble.hi_ns <= 0) return std::nullopt;
    const LossNs useful = at(losses_of(means_.mean, means_.offload_idle_ns), LossGroup::useful);
    WhatIfRow row;
    row.id = kBubbleHalved;
    set_gain(least_of_half(pipeline_schedule(graph_), bubble, useful.lo_ns, means_.step_ns()),
             ratio(bubble.hi_ns, means_.step_ns()) / 2, row);
    return row;
  }

  const PriceOptions& options_;
  const RunMeans& means_;
  const bool matched_, late_;
  std::vector<const RankAnalysis*> ranks_;
  const ReplayGraph graph_;
  const WhatIf what_if_;
};

}  // namespace

PricedRun price_run(std::vector<RankAnalysis>& ranks, const RunMeans& means,
                    const MatchedRanks& known, const PriceOptions& options) {
  PricedRun out;
  out.why_not = no_gains(ranks, means, options);
  std::vector<ReplayRank> replays;
  for (RankAnalysis& rank : ranks) {
    if (!rank.replay) continue;
    rank.replay->rank = rank.rank;
    replays.push_back(std::move(*rank.replay));
    rank.replay.reset();
  }
  if (!out.why_not.empty() || replays.empty()) return out;
  align_steps(replays);
  if (replays.front().host_steps.size() < 2) {
    out.why_not = "the ranks have no two steady steps in common";
    return out;
  }
  const Pricing pricing(ranks, means, known, options, std::move(replays));
  pricing.table(out);
  if (!out.why_not.empty()) return out;
  out.why_no_prices = no_prices(means);
  // Nor who was waited for: ranks that are not joined look as if each host had held itself up.
  if (!out.why_no_prices.empty() && ranks.size() > 1) out.path = {};
  if (out.why_no_prices.empty()) out.prices = pricing.prices(out.rows);
  return out;
}

std::vector<std::string_view> what_if_ids() {
  std::vector<std::string_view> out = replayed_ids();
  out.insert(std::find(out.begin(), out.end(), "gemm_x2"), kBubbleHalved);
  return out;
}

bool is_what_if(std::string_view id) {
  const std::vector<std::string_view> known = what_if_ids();
  while (true) {
    const size_t plus = id.find('+');
    if (std::find(known.begin(), known.end(), id.substr(0, plus)) == known.end()) return false;
    if (plus == std::string_view::npos) return true;
    id = id.substr(plus + 1);
  }
}

}  // namespace ws
