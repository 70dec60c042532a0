// Tested by: config_denials_test.cpp, denied_off_test.cpp
#include "facts/config_shown.h"

#include <algorithm>
#include <optional>

namespace ws {
namespace {

constexpr int64_t kLargeBytes = 1 << 20;

void add_row(const CollectiveRow& row, KindTraffic& to) {
  const auto count = static_cast<double>(row.count);
  const auto ns = static_cast<double>(row.total_ns), hidden = static_cast<double>(row.hidden_ns);
  to.records += count;
  to.ns += ns;
  to.hidden_ns += hidden;
  switch (row.op) {
    case CollectiveOp::all_reduce:
      to.unclear = to.unclear || row.bytes < 0;
      to.all_reduces += row.bytes >= kLargeBytes ? count : 0;
      to.reduce_ns += ns;
      to.reduce_hidden_ns += hidden;
      break;
    case CollectiveOp::reduce_scatter:
      to.reduce_scatters += count;
      to.reduce_ns += ns;
      to.reduce_hidden_ns += hidden;
      break;
    case CollectiveOp::all_gather:
      to.gathers += count;
      to.gather_ns += ns;
      to.gather_hidden_ns += hidden;
      break;
    case CollectiveOp::all_to_all:
      to.all_to_alls += count;
      break;
    case CollectiveOp::send:
    case CollectiveOp::recv:
    case CollectiveOp::send_recv:
      to.sends += count;
      break;
    case CollectiveOp::unknown:
      to.unclear = true;
      break;
    default:
      break;
  }
}

void per_step(KindTraffic& t, double steps) {
  for (double* v :
       {&t.all_reduces, &t.gathers, &t.reduce_scatters, &t.all_to_alls, &t.sends, &t.records, &t.ns,
        &t.hidden_ns, &t.gather_ns, &t.gather_hidden_ns, &t.reduce_ns, &t.reduce_hidden_ns})
    *v /= steps;
}

KindTraffic* of_kind(ConfigShown& shown, CommKind kind) {
  switch (kind) {
    case CommKind::tp:
      return &shown.tp;
    case CommKind::dp:
      return &shown.dp;
    case CommKind::cp:
      return &shown.cp;
    default:
      return nullptr;
  }
}

// Of a pipeline, per step of the device that has fewest; 0: not every device has some.
double stage_transfers(const RunAnalysis& run) {
  const double devices = static_cast<double>(run.means.devices.size());
  if (!run.across.pipeline || devices == 0 || run.means.counted == 0) return 0;
  const double steps = static_cast<double>(run.means.counted) / devices;
  std::optional<double> out;
  for (const RankAnalysis& rank : run.ranks) {
    for (const DeviceAnalysis& device : rank.devices) {
      double count = 0;
      for (const CollectiveRow& row : device.collectives) {
        const bool transfer = row.op == CollectiveOp::send || row.op == CollectiveOp::recv ||
                              row.op == CollectiveOp::send_recv;
        if (row.kind == CommKind::pp && transfer) count += static_cast<double>(row.count);
      }
      out = std::min(out.value_or(count), count);
    }
  }
  return out.value_or(0) / steps;
}

bool says(const RankAnalysis& rank, std::string_view setting) {
  const auto& settings = rank.config.settings;
  return std::any_of(settings.begin(), settings.end(),
                     [&](const auto& s) { return s.first == setting; });
}

// A rank where recompute would not show says nothing, and one that shows some says all.
bool no_recompute(const RunAnalysis& run, std::string_view where_it_would_show) {
  bool would_show = !run.ranks.empty();
  for (const RankAnalysis& rank : run.ranks) {
    would_show = would_show && says(rank, where_it_would_show);
    for (const DeviceAnalysis& device : rank.devices)
      if (device.memory.recompute_ns > 0) return false;
  }
  return would_show;
}

// A whole forward pass again is a fourth of a step and more; what takes four fifths of that is no
// small part of its layers.
constexpr double kRecomputeMatters = 0.05, kRecomputeOfLayers = 0.2;

// Bounds by counting are not asked: recompute_ns has flags alone.
bool recompute_everywhere(const RunAnalysis& run, double step_ns, double least) {
  for (const RankAnalysis& rank : run.ranks)
    for (const DeviceAnalysis& device : rank.devices)
      if (static_cast<double>(device.memory.recompute_ns) < least * step_ns) return false;
  return step_ns > 0;
}

bool complete(const RunAnalysis& run, const RunEvidence& evidence) {
  if (evidence.steady_steps < 1 || run.means.counted < 1 || lost_records(run.ranks)) return false;
  return std::none_of(run.ranks.begin(), run.ranks.end(), [](const RankAnalysis& rank) {
    return rank.graphs_as_a_whole || rank.step_origin == StepOrigin::whole;
  });
}

// Ranges of a user and of the profiler may be around micro-batches, but for those of Megatron's
// own loop, and what repeats may be less.
bool steps_are_updates(const RunAnalysis& run) {
  return std::all_of(run.ranks.begin(), run.ranks.end(), [](const RankAnalysis& r) {
    const bool own_loop = r.framework == "megatron_lm" || r.framework == "megatron_bridge";
    return r.step_origin == StepOrigin::optimizer_burst ||
           (own_loop && r.step_origin == StepOrigin::profiler_step);
  });
}

// One rank with a name of Megatron is enough.
void look_for_program(const RunAnalysis& run, ConfigShown& out) {
  using Program = ConfigShown::Program;
  for (const RankAnalysis& rank : run.ranks) {
    const Program told = rank.framework == "megatron_bridge" ? Program::megatron_bridge
                         : rank.framework == "megatron_lm"   ? Program::megatron_lm
                         : rank.framework == "megatron_core" ? Program::megatron_core
                                                             : Program::unknown;
    out.program = std::max(out.program, told);
    for (const auto& [name, value] : rank.config.settings)
      if (name == "no_megatron" && out.sign.empty()) out.sign = value;
  }
  if (out.program != Program::unknown)
    out.sign.clear();
  else if (!out.sign.empty())
    out.program = Program::no_megatron;
}

}  // namespace

bool lone_gpu(const RunAnalysis& run, const RunEvidence& evidence) {
  if (!complete(run, evidence) || run.ranks.size() != 1 || run.ranks[0].devices.size() != 1)
    return false;
  const RankAnalysis& rank = run.ranks[0];
  // A rank that is known has peers somewhere.
  const bool one_of_many =
      rank.world_size > 1 || (rank.world_size == 0 && rank.rank_source != RankSource::order);
  return !one_of_many && rank.communicators.empty() && rank.devices[0].collectives.empty() &&
         rank.devices[0].comm.total_ns == 0;
}

ConfigShown config_shown(const RunAnalysis& run, const RunEvidence& evidence) {
  ConfigShown out;
  out.whole = complete(run, evidence);
  out.step_ns = static_cast<double>(run.means.step_ns());
  out.steps_are_updates = steps_are_updates(run);
  out.lone = lone_gpu(run, evidence);
  out.stage_transfers = out.whole ? stage_transfers(run) : 0;
  out.no_recompute = out.whole && no_recompute(run, "recompute_would_show");
  out.no_checkpoint = out.whole && no_recompute(run, "recompute_ranges_would_show");
  out.recompute = recompute_everywhere(run, out.step_ns, kRecomputeMatters);
  out.recompute_of_layers = recompute_everywhere(run, out.step_ns, kRecomputeOfLayers);
  out.no_experts = out.whole && !run.ranks.empty();
  look_for_program(run, out);
  for (const RankAnalysis& rank : run.ranks) {
    out.gemm_types_told = out.gemm_types_told && !says(rank, "gemm_types_seldom_told");
    out.user_buffers = out.user_buffers || says(rank, "user_buffers_seen");
    out.experts = out.experts || says(rank, "experts_seen") || rank.config.collectives_on_ep ||
                  rank.config.deepep || rank.config.hybridep;
    out.no_experts = out.no_experts && says(rank, "no_experts_seen");
    out.precisions.insert(rank.config.precisions.begin(), rank.config.precisions.end());
    for (const Communicator& c : rank.communicators) {
      KindTraffic* traffic = of_kind(out, c.kind);
      out.experts = out.experts || c.kind == CommKind::ep;
      if (traffic != nullptr && (c.guessed || !c.named)) traffic->unclear = true;
    }
    for (const DeviceAnalysis& device : rank.devices) {
      for (const CollectiveRow& row : device.collectives)
        if (KindTraffic* to = row.peer_copy ? nullptr : of_kind(out, row.kind)) add_row(row, *to);
    }
  }
  out.no_experts = out.no_experts && !out.experts;
  for (KindTraffic* t : {&out.tp, &out.dp, &out.cp})
    per_step(*t, std::max(1.0, static_cast<double>(run.means.counted)));
  return out;
}

}  // namespace ws
