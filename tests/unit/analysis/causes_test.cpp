// Every cause: what makes it win inside its group, and that every one is reachable.
#include "analysis/causes.h"

#include <functional>
#include <set>

#include "support/catch.h"
#include "unit/analysis/made_rank.h"

namespace ws {
namespace {

struct Row {
  Cause cause;
  made::Leaves leaves;
  std::function<void(DeviceAnalysis&)> change = [](DeviceAnalysis&) {};
};

std::function<void(DeviceAnalysis&)> collective(CommKind kind, CollectiveOp op) {
  return [=](DeviceAnalysis& d) {
    CollectiveRow row = made::collective(kind, op, TimeNs{6} * 300'000);
    row.transfer_ns = row.unsplit_ns;
    row.unsplit_ns = 0;
    d.collectives.push_back(row);
  };
}

std::vector<Row> rows() {
  const auto short_kernels = [](DeviceAnalysis& d) {
    d.counts.mean_kernel_ns = 3'000;
    d.counts.launch_spacing_ns = 8'000;
  };
  return {
      {Cause::launch_bound,
       {{Leaf::gemm, 400'000}, {Leaf::idle_launch, 500'000}, {Leaf::idle_kernel_gap, 100'000}}},
      {Cause::launch_bound, {{Leaf::gemm, 400'000}, {Leaf::idle_graph_launch, 600'000}}},
      {Cause::launch_bound, {{Leaf::gemm, 400'000}, {Leaf::idle_host, 600'000}}, short_kernels},
      {Cause::unknown, {{Leaf::gemm, 400'000}, {Leaf::idle_host, 600'000}}},  // long kernels
      {Cause::host_sync,
       {{Leaf::gemm, 700'000}, {Leaf::idle_sync, 200'000}, {Leaf::idle_launch, 100'000}}},
      {Cause::host_sync,
       {{Leaf::gemm, 700'000}, {Leaf::copy_d2h, 300'000}},
       [](DeviceAnalysis& d) { d.counts.small_d2h = d.counts.copies = 32; }},
      {Cause::input_pipeline, {{Leaf::gemm, 500'000}, {Leaf::idle_dataload, 500'000}}},
      {Cause::input_pipeline,
       {{Leaf::gemm, 500'000}, {Leaf::copy_h2d, 500'000}},  // pinned
       [](DeviceAnalysis& d) {
         d.memory.h2d_ns = 500'000;
         d.counts.copies = 1;
       }},
      {Cause::pageable_copy,
       {{Leaf::gemm, 500'000}, {Leaf::copy_h2d, 300'000}, {Leaf::idle_sync, 200'000}},
       [](DeviceAnalysis& d) {
         d.memory.h2d_ns = d.memory.pageable_ns = 300'000;
         d.memory.pageable_bytes = 1 << 20;
         d.counts.pageable_copies = d.counts.copies = 2;
         d.evidence.staging_ns = 200'000;
       }},
      {Cause::gc_pause, {{Leaf::gemm, 500'000}, {Leaf::idle_gc, 500'000}}},
      {Cause::gc_pause,
       {{Leaf::gemm, 6'000'000}, {Leaf::idle_host, 3'000'000}},  // in 2 of 6 steps
       [](DeviceAnalysis& d) { d.evidence.pause_ns[2] = d.evidence.pause_ns[3] = 9'000'000; }},
      {Cause::unknown,
       {{Leaf::gemm, 6'000'000}, {Leaf::idle_host, 3'000'000}},  // in every step
       [](DeviceAnalysis& d) {
         for (TimeNs& ns : d.evidence.pause_ns) ns = 3'000'000;
       }},
      {Cause::unknown,
       {{Leaf::gemm, 960'000}, {Leaf::idle_jit, 40'000}, {Leaf::idle_host, 100'000}}},
      {Cause::recompute, {{Leaf::gemm, 700'000}, {Leaf::recompute, 300'000}}},
      {Cause::offload, {{Leaf::gemm, 700'000}, {Leaf::copy_offload, 300'000}}},
      {Cause::offload,
       {{Leaf::gemm, 500'000}, {Leaf::copy_offload, 100'000}, {Leaf::idle_sync, 400'000}},
       [](DeviceAnalysis& d) {
         d.memory.offload_idle_ns = 390'000;
         for (TimeNs& ns : d.offload_idle_ns) ns = 390'000;
       }},
      {Cause::allocator, {{Leaf::gemm, 700'000}, {Leaf::idle_alloc, 300'000}}},
      {Cause::ep_all_to_all,
       {{Leaf::gemm, 700'000}, {Leaf::comm_ep_transfer, 300'000}},
       collective(CommKind::ep, CollectiveOp::all_to_all)},
      {Cause::tp_collective,
       {{Leaf::gemm, 700'000}, {Leaf::comm_tp_transfer, 300'000}},
       collective(CommKind::tp, CollectiveOp::all_reduce)},
      {Cause::dp_gradient,
       {{Leaf::gemm, 700'000}, {Leaf::comm_dp_transfer, 300'000}},
       collective(CommKind::dp, CollectiveOp::reduce_scatter)},
      {Cause::dp_gradient,
       {{Leaf::gemm, 700'000}, {Leaf::comm_dp_transfer, 300'000}},
       collective(CommKind::dp, CollectiveOp::all_reduce)},
      {Cause::dp_parameter,
       {{Leaf::gemm, 700'000}, {Leaf::comm_dp_transfer, 300'000}},
       collective(CommKind::dp, CollectiveOp::all_gather)},
      {Cause::cp_exchange,
       {{Leaf::gemm, 700'000}, {Leaf::comm_cp_transfer, 300'000}},
       collective(CommKind::cp, CollectiveOp::send_recv)},
      {Cause::pp_transfer,
       {{Leaf::gemm, 700'000}, {Leaf::comm_pp_transfer, 300'000}},
       collective(CommKind::pp, CollectiveOp::send_recv)},
      {Cause::unknown,
       {{Leaf::gemm, 700'000}, {Leaf::comm_other_transfer, 300'000}},
       collective(CommKind::other, CollectiveOp::all_reduce)},
      {Cause::pipeline_bubble, {{Leaf::gemm, 700'000}, {Leaf::comm_pp_wait, 300'000}}},
      {Cause::gemm_bound, {{Leaf::gemm, 700'000}, {Leaf::attention, 300'000}}},
      {Cause::attention_bound, {{Leaf::gemm, 300'000}, {Leaf::attention, 700'000}}},
      {Cause::membound_kernels, {{Leaf::gemm, 400'000}, {Leaf::membound, 600'000}}},
      {Cause::compute_bound,
       {{Leaf::gemm, 400'000}, {Leaf::attention, 300'000}, {Leaf::membound, 300'000}}},
      {Cause::compute_bound, {{Leaf::gemm, 300'000}, {Leaf::compute_other, 700'000}}},
  };
}

TEST_CASE("the largest part of the winning group is the cause") {
  int row_number = 0;
  for (const Row& row : rows()) {
    DeviceAnalysis device = made::device(made::leaves(row.leaves));
    row.change(device);
    const RunVerdict v = made::verdict(made::rank(std::move(device)));
    INFO("row " << row_number++ << ", " << name_of(row.cause));
    CHECK(v.kind != VerdictKind::insufficient);
    CHECK(v.cause == row.cause);
    REQUIRE_FALSE(v.why.empty());
  }
}

TEST_CASE("host parts sum to the host group") {
  DeviceAnalysis device = made::device(made::leaves({{Leaf::gemm, 100},
                                                     {Leaf::idle_launch, 10},
                                                     {Leaf::idle_graph_launch, 11},
                                                     {Leaf::idle_host, 12},
                                                     {Leaf::idle_sync, 13},
                                                     {Leaf::idle_dataload, 14},
                                                     {Leaf::idle_gc, 15},
                                                     {Leaf::idle_jit, 16},
                                                     {Leaf::idle_kernel_gap, 17},
                                                     {Leaf::copy_h2d, 18},
                                                     {Leaf::copy_d2h, 19}}));
  const std::vector<RankAnalysis> ranks = {made::rank(device)};
  const RunMeans means = means_of(ranks);
  TimeNs sum = 0;
  for (const CauseShare& part : causes_of(LossGroup::host, ranks, means)) sum += part.ns;
  CHECK(sum == at(losses_of(means.mean, 0), LossGroup::host).lo_ns);
}

// Causes that need matched collectives or a replay of the dependency graph. Nothing gives them
// until then; the rest is reached by this file, run_evidence_test.cpp or verdict_test.cpp.
const std::set<Cause> kNeedMatchedRanks = {Cause::straggler_gpu, Cause::straggler_host,
                                           Cause::expert_imbalance};
const std::set<Cause> kElsewhere = {
    Cause::only_warmup,   Cause::too_few_steps, Cause::records_lost,   Cause::graph_level_trace,
    Cause::peers_missing, Cause::no_gpu_events, Cause::comm_contention};

TEST_CASE("every cause is reached by a test") {
  std::set<Cause> seen = kElsewhere;
  seen.insert(kNeedMatchedRanks.begin(), kNeedMatchedRanks.end());
  for (const Row& row : rows()) seen.insert(row.cause);
  CHECK(seen.size() == kCauseCount);
}

}  // namespace
}  // namespace ws
