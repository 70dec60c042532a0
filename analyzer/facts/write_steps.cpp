// Tested by: write_facts_test.cpp
#include "analysis/counted_steps.h"
#include "analysis/phrases.h"
#include "analysis/steps.h"
#include "base/check.h"
#include "base/text.h"
#include "facts/fact_writers.h"

namespace ws {
namespace {

std::optional<std::string> why_left_out(const Step& step) {
  return step.why_left_out.empty() ? std::nullopt : std::optional(one_line(step.why_left_out));
}

void write_leaves(FactTable& table, int32_t rank, int32_t device, int64_t step,
                  const Breakdown& p) {
  for (size_t i = 0; i < kLeafCount; ++i)
    if (p.ns[i] != 0) table.row(rank, device, step, name_of(leaf_at(i)), p.ns[i]);
}

// Mean over the counted steps.
std::optional<TimeNs> stage_idle(const DeviceAnalysis& device) {
  if (device.stage_idle.empty()) return std::nullopt;
  TimeNs sum = 0;
  const std::vector<size_t> counted = counted_steps(device.steps);
  for (size_t step : counted)
    sum += device.stage_idle[step].known_ns + device.stage_idle[step].open_ns;
  return rounded(sum, std::max<int64_t>(1, static_cast<int64_t>(counted.size())));
}

}  // namespace

Result<void> write_ranks(const Database& db, const FactInput& in) {
  FactTable ranks(db, "fact_rank"), leaves(db, "fact_rank_leaf");
  for_each_device(in.run, [&](const RankAnalysis& rank, const DeviceAnalysis& device,
                              const DeviceMeans& means) {
    ranks.row(rank.rank, device.device, shown_host(in, rank), name_of(rank.rank_source),
              device.gpu.empty() ? std::nullopt : std::optional(device.gpu), device.clock_offset_ns,
              device.clock_error_ns, device.constants.launch_latency_ns,
              device.constants.kernel_gap_ns, means.mean.total(), stage_idle(device),
              device.late_ns, device.ops, device.ops_with_launch);
    for (size_t i = 0; i < kLeafCount; ++i)
      if (means.mean.ns[i] != 0)
        leaves.row(rank.rank, device.device, name_of(leaf_at(i)), means.mean.ns[i]);
  });
  if (auto ok = ranks.result(); !ok) return ok;
  return leaves.result();
}

Result<void> write_steps(const Database& db, const FactInput& in) {
  FactTable steps(db, "fact_step"), leaves(db, "fact_step_leaf");
  for_each_device(in.run, [&](const RankAnalysis& rank, const DeviceAnalysis& device,
                              const DeviceMeans&) {
    const std::optional<size_t> typical = typical_step(device.steps);
    for (size_t i = 0; i < device.steps.size(); ++i) {
      const Step& step = device.steps[i];
      WS_CHECK(device.breakdowns[i].total() == step.window.length());
      const bool counted = step.complete && step.steady && rank.step_origin != StepOrigin::whole;
      const Breakdown& p = device.breakdowns[i];
      std::optional<Leaf> most;  // where an outlier differs most from what is usual
      if (step.outlier && typical) most = largest_excess(p, device.breakdowns[*typical]);
      steps.row(rank.rank, device.device, step.index, one_line(step.name), step.window.begin_ns,
                step.window.end_ns, counted, step.complete, step.outlier, why_left_out(step),
                most ? std::optional(name_of(*most)) : std::nullopt,
                most ? std::optional(p[*most] - device.breakdowns[*typical][*most]) : std::nullopt);
      write_leaves(leaves, rank.rank, device.device, step.index, device.breakdowns[i]);
    }
  });
  if (auto ok = steps.result(); !ok) return ok;
  return leaves.result();
}

Result<void> write_losses(const Database& db, const FactInput& in) {
  const RunMeans& means = in.run.means;
  const TimeNs step = means.step_ns();
  FactTable leaves(db, "fact_leaf"), losses(db, "fact_loss"), texts(db, "fact_verdict_text");
  for (size_t i = 0; i < kLeafCount; ++i)
    leaves.row(name_of(leaf_at(i)), means.mean.ns[i], means.total.ns[i],
               ratio(means.mean.ns[i], step));
  for (size_t g = 0; g < kLossGroupCount; ++g) {
    const LossRow& row = in.run.verdict.losses[g];
    losses.row(name_of(static_cast<LossGroup>(g)), row.ns.lo_ns, row.ns.hi_ns, row.lo_share,
               row.hi_share, row.price ? std::optional(row.price->lo) : std::nullopt,
               row.price ? std::optional(row.price->hi) : std::nullopt, name_of(row.cause));
  }
  int64_t position = 0;
  for (const std::string& text : in.run.verdict.why) texts.row("why", position++, one_line(text));
  position = 0;
  for (const std::string& text : in.run.verdict.missing)
    texts.row("missing", position++, one_line(text));
  for (const FactTable* table : {&leaves, &losses, &texts})
    if (auto ok = table->result(); !ok) return ok;
  return {};
}

}  // namespace ws
