// Tested by: report_test (json_test.cpp), tests/cli/report_schema.py.
#include "report/json_parts.h"

namespace ws {

Json across_json(const std::optional<ReportAcross>& across) {
  if (!across) return nullptr;
  const ReportAcross& a = *across;
  Json causes = Json::array();
  for (const ReportLateCause& c : a.causes) {
    causes.push_back({{"rank", c.rank},
                      {"category", c.category},
                      {"cause", c.cause},
                      {"ns", c.ns},
                      {"share", c.share},
                      {"collectives", c.collectives},
                      {"steps", c.steps}});
  }
  return {{"ranks", a.ranks},
          {"instances", a.instances},
          {"split", a.split},
          {"inconsistent", a.inconsistent},
          {"incomplete", a.incomplete},
          {"clock_method", a.clock_method},
          {"clock_error_ns", a.clock_error_ns},
          {"clock_samples", a.clock_samples},
          {"straggler", a.straggler},
          {"straggler_rank", maybe(a.straggler_rank)},
          {"straggler_step", maybe_words(a.straggler_step)},
          {"steps", a.steps},
          {"late_steps", a.late_steps},
          {"late_ranks", maybe(a.late_ranks)},
          {"late_causes", causes},
          {"slower_kernels_share", maybe(a.slower_kernels_share)},
          {"expert_max_over_mean", maybe(a.expert_max_over_mean)},
          {"expert_max_over_min", maybe(a.expert_max_over_min)},
          {"expert_hot_ranks", maybe(a.expert_hot_ranks)},
          {"stages", maybe(a.stages)},
          {"stage_max_over_mean", maybe(a.stage_max_over_mean)},
          {"bubble_micro_batches", maybe(a.bubble_micro_batches)},
          {"stage_idle_share", maybe(a.stage_idle_share)},
          {"load_balance", maybe(a.load_balance)},
          {"communication_efficiency", maybe(a.communication_efficiency)},
          {"parallel_efficiency", maybe(a.parallel_efficiency)},
          {"host_efficiency", maybe(a.host_efficiency)}};
}

Json what_if_json(const Report& report) {
  Json out = Json::array();
  for (const ReportWhatIf& w : report.what_if) {
    Json next = nullptr;
    if (w.next_loss) next = {{"loss", *w.next_loss}, {"cause", maybe(w.next_cause)}};
    out.push_back({{"id", w.id},
                   {"step_lo_ns", w.step_lo_ns},
                   {"step_hi_ns", w.step_hi_ns},
                   {"saved_lo_share", w.saved_lo_share},
                   {"saved_hi_share", w.saved_hi_share},
                   {"next", next}});
  }
  return out;
}

Json replay_json(const Report& report) {
  const ReportReplay& r = report.replay;
  Json path = Json::array();
  for (const ReportPathPart& p : report.path)
    path.push_back({{"rank", p.rank}, {"leaf", p.leaf}, {"ns", p.ns}, {"share", p.share}});
  return {{"steps", r.steps},
          {"unexplained_share", maybe(r.unexplained_share)},
          {"recorded_edges", maybe(r.recorded_edges)},
          {"inferred_edges", maybe(r.inferred_edges)},
          {"dropped_edges", maybe(r.dropped_edges)},
          {"prices_used", r.prices_used},
          {"why_no_gains", maybe(r.why_no_gains)},
          {"why_no_prices", maybe(r.why_no_prices)},
          {"critical_path", path}};
}

}  // namespace ws
