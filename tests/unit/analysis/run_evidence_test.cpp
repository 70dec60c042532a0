// Too little to judge: every rule, one case that trips it and its nearest case that does not.
#include "analysis/run_evidence.h"

#include <functional>

#include "analysis/how_to_record.h"
#include "support/catch.h"
#include "unit/analysis/made_rank.h"

namespace ws {
namespace {

const made::Leaves kBusy = {{Leaf::gemm, 950'000}, {Leaf::idle_launch, 50'000}};

RankAnalysis busy(int steady = 6) { return made::rank(made::device(made::leaves(kBusy), steady)); }

void stretch(DeviceAnalysis& device, size_t step, TimeNs ns) {
  device.breakdowns[step][Leaf::gemm] += ns;
  device.steps[step].window.end_ns += ns;
}

struct Row {
  const char* name;
  RankAnalysis rank;
  std::optional<Cause> cause;
};

RankAnalysis with(RankAnalysis rank, const std::function<void(DeviceAnalysis&)>& change) {
  change(rank.devices[0]);
  return rank;
}

std::vector<Row> rows() {
  std::vector<Row> out;
  out.push_back({"enough", busy(), std::nullopt});
  RankAnalysis cpu = busy();
  cpu.devices.clear();
  out.push_back({"no device record", cpu, Cause::no_gpu_events});
  RankAnalysis cut = cpu;
  cut.notes.add(NoteCode::truncated_file);
  out.push_back({"no device record before the cut", cut, Cause::records_lost});
  RankAnalysis damaged = cpu;
  damaged.notes.add(NoteCode::damaged_file);
  out.push_back({"no device record in a damaged file", damaged, Cause::records_lost});
  RankAnalysis changed = busy();
  changed.notes.add(NoteCode::damaged_file);
  out.push_back({"a damaged file", changed, Cause::records_lost});
  RankAnalysis far = cpu;
  far.notes.add(NoteCode::time_out_of_range, {}, 9);
  out.push_back({"no device record but of impossible times", far, Cause::records_lost});
  RankAnalysis whole = busy(0);
  whole.step_origin = StepOrigin::whole;
  whole.devices[0].steps[0].steady = true;
  out.push_back({"no step found", whole, Cause::too_few_steps});
  out.push_back({"all steps cut",
                 with(busy(0), [](DeviceAnalysis& d) { d.steps[0].complete = false; }),
                 Cause::too_few_steps});
  out.push_back({"one step, the first", busy(0), Cause::only_warmup});
  out.push_back({"one step, a later one",
                 with(busy(0), [](DeviceAnalysis& d) { d.steps[0].index = 7; }),
                 Cause::too_few_steps});
  out.push_back({"two equal steps",
                 with(busy(1), [](DeviceAnalysis& d) { d.steps[0].steady = true; }), std::nullopt});
  out.push_back({"two steps, the second shorter: no trend",
                 with(busy(2), [](DeviceAnalysis& d) { stretch(d, 1, 300'000); }),
                 Cause::too_few_steps});
  out.push_back({"three steps that still fall",
                 with(busy(3),
                      [](DeviceAnalysis& d) {
                        stretch(d, 1, 300'000);
                        stretch(d, 2, 200'000);
                      }),
                 Cause::only_warmup});
  RankAnalysis graphs = whole;
  graphs.devices[0].evidence.opaque_ns = 500'000;
  out.push_back(
      {"no step found, half of it inside whole graphs", graphs, Cause::graph_level_trace});
  RankAnalysis one_graph = busy(0);
  one_graph.devices[0].steps[0].steady = true;
  one_graph.devices[0].evidence.opaque_ns = 500'000;
  out.push_back({"one step, half of it inside whole graphs", one_graph, Cause::graph_level_trace});
  out.push_back({"two steps that differ",
                 with(busy(2), [](DeviceAnalysis& d) { stretch(d, 2, 300'000); }),
                 Cause::too_few_steps});
  out.push_back({"two steps of which one counts", busy(1), Cause::too_few_steps});
  out.push_back({"four steps that still fall",
                 with(busy(4),
                      [](DeviceAnalysis& d) {
                        stretch(d, 1, 300'000);
                        stretch(d, 2, 200'000);
                        stretch(d, 3, 100'000);
                      }),
                 Cause::only_warmup});
  out.push_back({"five steps may differ",
                 with(busy(5), [](DeviceAnalysis& d) { stretch(d, 2, 300'000); }), std::nullopt});
  out.push_back({"within 10 %", with(busy(2), [](DeviceAnalysis& d) { stretch(d, 2, 90'000); }),
                 std::nullopt});
  const auto load_code = [](int steps) {
    return [steps](DeviceAnalysis& d) {
      for (int i = 0; i < steps; ++i) {
        d.breakdowns[static_cast<size_t>(i)][Leaf::gemm] -= 80'000;
        d.breakdowns[static_cast<size_t>(i)][Leaf::idle_jit] += 80'000;
      }
    };
  };
  out.push_back({"code loading in most steps", with(busy(), load_code(4)), Cause::only_warmup});
  out.push_back({"code loading in some steps", with(busy(), load_code(3)), std::nullopt});
  out.push_back({"records lost",
                 with(busy(), [](DeviceAnalysis& d) { d.launches_without_op = 46; }),
                 Cause::records_lost});
  out.push_back({"few records lost",
                 with(busy(), [](DeviceAnalysis& d) { d.launches_without_op = 45; }),
                 std::nullopt});
  out.push_back({"launches missing",
                 with(busy(), [](DeviceAnalysis& d) { d.evidence.step_ops_with_launch = 854; }),
                 Cause::unknown});
  out.push_back({"few launches missing",
                 with(busy(), [](DeviceAnalysis& d) { d.evidence.step_ops_with_launch = 855; }),
                 std::nullopt});
  out.push_back({"a record over several steps",
                 with(busy(), [](DeviceAnalysis& d) { d.evidence.ops_over_steps = 1; }),
                 Cause::too_few_steps});
  out.push_back({"a graph over several steps",
                 with(busy(),
                      [](DeviceAnalysis& d) {
                        d.evidence.ops_over_steps = 1;
                        d.evidence.opaque_ns = 400'000;
                      }),
                 Cause::graph_level_trace});
  out.push_back({"half the step is opaque",
                 with(busy(), [](DeviceAnalysis& d) { d.evidence.opaque_ns = 500'000; }),
                 Cause::graph_level_trace});
  out.push_back({"a little is opaque",
                 with(busy(), [](DeviceAnalysis& d) { d.evidence.opaque_ns = 90'000; }),
                 std::nullopt});
  out.push_back({"enough is opaque to hide a wall",
                 with(busy(), [](DeviceAnalysis& d) { d.evidence.opaque_ns = 300'000; }),
                 Cause::graph_level_trace});
  return out;
}

TEST_CASE("too little to judge") {
  for (const Row& row : rows()) {
    const RunVerdict v = made::verdict(row.rank);
    INFO(row.name);
    CHECK((v.kind == VerdictKind::insufficient) == row.cause.has_value());
    if (!row.cause) continue;
    CHECK(v.cause == *row.cause);
    CHECK_FALSE(v.loss);
    CHECK_FALSE(v.wall);
    CHECK(v.confidence == Confidence::low);
    REQUIRE_FALSE(v.why.empty());
    REQUIRE_FALSE(v.missing.empty());
    CHECK(v.missing[0].size() > 20);
  }
}

TEST_CASE("one rule for few steps, in the same words whether they are enough or not") {
  const auto said = [](const RankAnalysis& rank) {
    std::string out;
    for (const std::string& why : made::verdict(rank).why) out += why + "\n";
    return out;
  };
  const RankAnalysis differ = with(busy(4), [](DeviceAnalysis& d) { stretch(d, 2, 300'000); });
  CHECK(said(differ).find(rule_for_few_steps()) != std::string::npos);
  CHECK(said(busy(4)).find("only 4 steps count: " + rule_for_few_steps()) != std::string::npos);
  CHECK(made::verdict(busy(4)).confidence < Confidence::high);
  CHECK(said(busy(5)).find(rule_for_few_steps()) == std::string::npos);
}

TEST_CASE("what whole graphs hide lowers the confidence") {
  const auto sure = [](TimeNs opaque) {
    return made::verdict(with(busy(), [&](DeviceAnalysis& d) { d.evidence.opaque_ns = opaque; }))
        .confidence;
  };
  CHECK(sure(0) == Confidence::high);
  CHECK(sure(19'000) == Confidence::high);
  CHECK(sure(30'000) == Confidence::medium);
}

TEST_CASE("a job is parallel by its world size, its groups or its collectives") {
  const auto parallel = [](const RankAnalysis& rank) {
    return evidence_of({rank}, means_of({rank})).single_rank;
  };
  CHECK_FALSE(parallel(busy()));
  RankAnalysis world = busy();
  world.world_size = 2;
  CHECK(parallel(world));
  RankAnalysis group = busy();
  group.communicators.push_back(
      {"TENSOR_MODEL_PARALLEL_GROUP", "1|0|1", {0, 1}, 2, CommKind::tp, true, false});
  CHECK(parallel(group));
  RankAnalysis collective = busy();
  collective.devices[0].collectives.push_back(
      made::collective(CommKind::other, CollectiveOp::all_reduce, 6));
  CHECK(parallel(collective));
  // One process that drives both members needs no peer.
  group.devices.push_back(group.devices[0]);
  CHECK_FALSE(parallel(group));
}

TEST_CASE("a missing link is no lost record, and the sentence says which it is") {
  RankAnalysis rank = busy();
  rank.devices[0].evidence.step_ops_with_launch = 100;
  const RunVerdict missing = made::verdict(rank);
  REQUIRE(missing.why.size() == 1);
  CHECK(missing.why[0] ==
        "800 of 900 device records in the steps have no launch call in the recording: why the GPU "
        "was idle can not be told");
  rank.notes.add(NoteCode::ambiguous_correlation);
  CHECK(made::verdict(rank).why[0].find("share their correlation id with unrelated calls") !=
        std::string::npos);
}

TEST_CASE("what to record names no tool that the GPU has not") {
  std::vector<RankAnalysis> ranks = {busy()};
  const auto all = [&] {
    return how_to_record_peers(ranks) + how_to_record_steps(ranks) + how_to_record_host(ranks) +
           how_to_record_waits(ranks) + how_to_record_gpu(ranks) + how_to_record_graphs(ranks);
  };
  for (const char* gpu : {"NVIDIA H100 80GB HBM3", ""}) {
    ranks[0].devices[0].gpu = gpu;
    CHECK(all().find("nsys profile --trace=cuda,nvtx -o") != std::string::npos);
    CHECK(all().find("--cuda-graph-trace=node") != std::string::npos);
  }
  ranks[0].devices[0].gpu = "AMD Instinct MI300X";
  INFO(all());
  for (const char* tool : {"nsys", "nvtx", "CUPTI", "enable_cuda_sync_events"})
    CHECK(all().find(tool) == std::string::npos);
  CHECK(all().find("torch.profiler on every rank") != std::string::npos);
  CHECK(all().find("prof.step() every iteration") != std::string::npos);
}

TEST_CASE("what to record leads with the profiler of the recording") {
  std::vector<RankAnalysis> ranks = {busy(), busy()};
  const auto all = [&] {
    return std::vector<std::string>{how_to_record_peers(ranks), how_to_record_steps(ranks),
                                    how_to_record_host(ranks), how_to_record_waits(ranks),
                                    how_to_record_gpu(ranks)};
  };
  const auto torch_first = [](const std::string& text) {
    return text.find("torch.profiler") < text.find("nsys");
  };
  const auto formats = [&](const char* first, const char* second) {
    ranks[0].format = first, ranks[1].format = second;
  };
  formats("kineto-json", "kineto-json");
  for (const std::string& text : all()) {
    INFO(text);
    CHECK(torch_first(text));
  }
  for (const char* other : {"nsys-sqlite", "wallsight-recording"}) {
    formats("kineto-json", other);
    for (const std::string& text : all()) {
      INFO(text);
      CHECK_FALSE(torch_first(text));
    }
  }
}

TEST_CASE("work of another accelerator is no missing CUDA activity") {
  RankAnalysis rank = busy();
  rank.devices.clear();
  CHECK(made::verdict(rank).missing[0].find("ProfilerActivity.CUDA") != std::string::npos);
  rank.notes.add(NoteCode::other_accelerator);
  const RunVerdict v = made::verdict(rank);
  CHECK(v.cause == Cause::no_gpu_events);
  CHECK(v.missing[0].find("ProfilerActivity.CUDA") == std::string::npos);
  CHECK(v.why[0].find("no GPU") != std::string::npos);
}

}  // namespace
}  // namespace ws
