// Tested by: write_facts_test.cpp, across_ranks_test.cpp
#include "analysis/phrases.h"
#include "facts/fact_writers.h"

namespace ws {
namespace {

std::string_view name_of(ClockMethod method) {
  switch (method) {
    case ClockMethod::shared:
      return "shared";
    case ClockMethod::medians:
      return "medians";
    case ClockMethod::densest:
      break;
  }
  return "densest";
}

std::string_view name_of(StragglerKind kind) {
  switch (kind) {
    case StragglerKind::none:
      return "none";
    case StragglerKind::persistent:
      return "persistent";
    case StragglerKind::transient:
      return "transient";
    case StragglerKind::seldom:
      return "seldom";
    case StragglerKind::rotating:
      break;
  }
  return "rotating";
}

template <class T, class F>
auto maybe(const std::optional<T>& value, F get) -> std::optional<decltype(get(*value))> {
  if (!value) return std::nullopt;
  return get(*value);
}

std::optional<std::string> list_of(const std::vector<int32_t>& ranks) {
  if (ranks.empty()) return std::nullopt;
  std::string out;
  for (int32_t rank : ranks) out += fmt::format("{}{}", out.empty() ? "" : ",", rank);
  return out;
}

std::optional<double> slower_kernels(const AcrossRanks& across) {
  for (const LateRank& late : across.late)
    if (late.rank == across.straggler.rank && late.equal_kernels > 0) return late.slower_kernels;
  return std::nullopt;
}

}  // namespace

Result<void> write_across(const Database& db, const FactInput& in) {
  const AcrossRanks& a = in.run.across;
  FactTable across(db, "fact_across"), causes(db, "fact_late_cause");
  if (in.run.means.devices.size() > 1) {
    const bool named = a.straggler.rank >= 0;
    const StageIdle& stage = in.run.means.stage;
    across.row(a.ranks, a.instances, a.split, a.inconsistent, a.incomplete, name_of(a.clock_method),
               a.clock_error_ns, a.clock_samples, name_of(a.straggler.kind),
               named ? std::optional(a.straggler.rank) : std::nullopt,
               a.straggler_step.empty() ? std::nullopt : std::optional(a.straggler_step), a.steps,
               a.late_steps, list_of(a.late_ranks), named ? slower_kernels(a) : std::nullopt,
               maybe(a.experts, [](const ExpertBalance& e) { return e.max_over_mean; }),
               maybe(a.experts, [](const ExpertBalance& e) { return e.max_over_min; }),
               maybe(a.experts, [](const ExpertBalance& e) { return e.hot_ranks; }),
               maybe(a.pipeline, [](const PipelineShape& p) { return p.stages; }),
               maybe(a.pipeline, [](const PipelineShape& p) { return p.stage_max_over_mean; }),
               a.pipeline && a.pipeline->micro_batches_like > 0
                   ? std::optional(a.pipeline->micro_batches_like)
                   : std::nullopt,
               maybe(a.pipeline,
                     [&](const PipelineShape&) {
                       return ratio(stage.known_ns + stage.open_ns, in.run.means.step_ns());
                     }),
               maybe(a.efficiency, [](const Efficiency& e) { return e.load_balance; }),
               maybe(a.efficiency, [](const Efficiency& e) { return e.communication; }),
               maybe(a.efficiency, [](const Efficiency& e) { return e.parallel; }),
               maybe(a.efficiency, [](const Efficiency& e) { return e.host; }));
  }
  TimeNs all = 0;
  for (const LateCause& late : a.causes) all += late.marginal_ns;
  for (const LateCause& late : a.causes) {
    causes.row(late.rank, late.transfer ? std::string_view("transfer") : ws::name_of(late.category),
               ws::name_of(late.cause), late.marginal_ns / std::max<int64_t>(1, a.steps),
               ratio(late.marginal_ns, all), late.instances, late.steps);
  }
  if (auto ok = across.result(); !ok) return ok;
  return causes.result();
}

}  // namespace ws
