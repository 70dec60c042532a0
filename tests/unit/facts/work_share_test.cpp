// Whether the recorded kernels had the time for the work of the file, and whether a GPU that never
// communicates can be one of its ranks.
#include "facts/work_share.h"

#include <functional>

#include "support/catch.h"
#include "unit/facts/run_facts.h"

namespace ws {
namespace {

constexpr TimeNs kMs = 1'000'000;

// 6.74e9 parameters: 0.17 PFLOP for each sample of 4096 tokens, of which 0.11 are sure.
std::string model(const std::string& more) {
  return "framework: megatron_lm\nnum_layers: 32\nhidden_size: 4096\nffn_hidden_size: 11008\n"
         "attention_heads: 32\nvocab_size: 32000\nseq_len: 4096\nmicro_batch: 1\nbf16: true\n" +
         more;
}
const char* const kFour = "gpus: 1\nglobal_batch: 4\n";  // 0.70 PFLOP: 710 ms at the peak of H100

using Change = std::function<void(RankAnalysis&)>;

// Six steps of 1 s on one GPU, in each of which GEMMs run for math_ms.
FactDb facts_of(const std::string& yaml, TimeNs math_ms, const Change& change = {},
                StepOrigin origin = StepOrigin::optimizer_burst) {
  const bool none = origin == StepOrigin::whole;
  DeviceAnalysis device = made::device(
      made::leaves({{Leaf::gemm, math_ms * kMs}, {Leaf::idle_host, 1000 * kMs - math_ms * kMs}}));
  KernelRow gemm;
  gemm.name = "sm90_xmma_gemm_bf16bf16";
  gemm.cls = "gemm";
  gemm.count = 6;
  gemm.total_ns = 6 * math_ms * kMs;
  device.kernels = {gemm};
  if (none)
    for (Step& step : device.steps) step.complete = false;
  RunAnalysis run;
  run.ranks = {made::rank(device)};
  run.ranks[0].rank_source = RankSource::order;
  run.ranks[0].step_origin = origin;
  run.ranks[0].config.precisions = {"bf16"};
  if (change) change(run.ranks[0]);
  return made::run_facts(std::move(run), yaml);
}

using made::value;

std::string withheld(const FactDb& facts) {
  CHECK((value(facts, "SELECT withheld FROM fact_throughput") == "NULL") ==
        (value(facts, "SELECT tokens_per_s_per_gpu FROM fact_throughput") != "NULL"));
  return value(facts, "SELECT coalesce(withheld, '') FROM fact_throughput");
}

std::string against(const FactDb& facts) {
  const std::string told = value(facts, "SELECT coalesce(contradicted, '') FROM fact_config");
  const bool other = value(facts, "SELECT sizes_contradicted FROM fact_config") == "1";
  return other ? told : "";
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("work share: rates where the kernels had the time") {
  const FactDb facts = facts_of(model(kFour), 900);
  CHECK(withheld(facts).empty());
  CHECK(against(facts).empty());
  CHECK(std::stod(value(facts, "SELECT mfu FROM fact_throughput")) == Approx(0.71).epsilon(0.01));
}

TEST_CASE("work share: more than the peak in the time of the kernels leaves the rates out") {
  // Less than the peak of the whole step, and more than that of its GEMMs.
  const FactDb facts = facts_of(model(kFour), 600);
  CHECK(has(withheld(facts), "needs 702 TFLOP per GPU and step"));
  CHECK(has(withheld(facts), "600.0 ms of GEMM and attention kernels"));
  CHECK(has(withheld(facts), "118 % of the dense peak of h100, 989 TFLOPS in 16 bits"));
  CHECK(against(facts).empty());  // frozen weights would do
}

TEST_CASE("work share: the peak that is printed bounds, whether names tell the types or not") {
  const auto of = [](std::vector<std::string> seen, TimeNs math_ms, const char* told = "1",
                     const std::string& file = model(kFour)) {
    return facts_of(file, math_ms, [&](RankAnalysis& r) {
      r.config.precisions = std::move(seen);
      r.config.settings.emplace_back("gemm_types_seldom_told", told);
    });
  };
  const FactDb untold = of({}, 600);
  CHECK(has(withheld(untold), "118 % of the dense peak of h100, 989 TFLOPS in 16 bits"));
  CHECK(against(untold).empty());  // the kernels may be of another type than the file says
  CHECK_FALSE(withheld(of({"bf16"}, 600)).empty());
  CHECK_FALSE(withheld(of({"bf16", "fp8"}, 600, "0")).empty());
  CHECK(withheld(of({}, 900)).empty());
  // FP8 in the file: its peak is printed, and is the bound.
  const std::string fp8 = model(std::string(kFour) + "fp8_format: hybrid\n");
  CHECK(withheld(of({}, 600, "1", fp8)).empty());
  CHECK(value(of({}, 600, "1", fp8), "SELECT peak_precision FROM fact_throughput") == "fp8");
  CHECK(has(withheld(of({}, 300, "1", fp8)), "1979 TFLOPS in FP8"));
}

TEST_CASE("work share: what no run of the file can be is another run's") {
  const FactDb facts = facts_of(model(kFour), 300);
  CHECK(has(against(facts), "work of a step 702 TFLOP per GPU against 300.0 ms of GEMM"));
  CHECK(has(withheld(facts), "another run"));
  CHECK(value(facts, "SELECT num_layers FROM fact_config") == "NULL");
  // Precisions with a higher peak, graphs as a whole, unknown boards, steps that may be parts.
  const auto told = [](const Change& change, StepOrigin origin = StepOrigin::optimizer_burst,
                       const std::string& yaml = model(kFour)) {
    return against(facts_of(yaml, 300, change, origin));
  };
  CHECK_FALSE(told({}).empty());
  CHECK(told([](RankAnalysis& r) { r.config.precisions = {"bf16", "fp8"}; }).empty());
  CHECK(told([](RankAnalysis& r) {
          r.config.settings.emplace_back("gemm_types_seldom_told", "1");
        }).empty());
  CHECK(told([](RankAnalysis& r) { r.graphs_as_a_whole = true; }).empty());
  // A board that no row knows is held against the fastest GPU there is.
  CHECK(told([](RankAnalysis& r) { r.devices[0].gpu = "a board nobody knows"; }).empty());
  CHECK(has(told([](RankAnalysis& r) {
              r.devices[0].gpu = "a board nobody knows";
              r.devices[0].kernels[0].total_ns /= 3;
            }),
            "any GPU at this precision"));
  CHECK(told([](RankAnalysis& r) {
          r.devices[0].gpu = "NVIDIA A100-SXM4-80GB MIG 3g.40gb";
          r.devices[0].kernels[0].total_ns /= 3;
        }).empty());
  CHECK(has(told([](RankAnalysis& r) { r.devices[0].kernels.clear(); }),
            "no kernel that multiplies"));
  CHECK(told({}, StepOrigin::kernel_period).empty());
  CHECK(told({}, StepOrigin::profiler_step).empty());  // may be around one micro-batch of four
  CHECK_FALSE(told([](RankAnalysis& r) { r.framework = "megatron_lm"; }, StepOrigin::profiler_step)
                  .empty());
  std::string one = model("gpus: 1\nglobal_batch: 4\n");
  one.replace(one.find("micro_batch: 1"), 14, "micro_batch: 4");
  CHECK_FALSE(told({}, StepOrigin::profiler_step, one).empty());
  // Kernels of no known class may be fused matrix multiplications.
  CHECK(told([](RankAnalysis& r) {
          KernelRow other = r.devices[0].kernels[0];
          other.name = "triton_mm";
          other.cls = "compute_other";
          r.devices[0].kernels.push_back(other);
        }).empty());
  // One stage of several may have less than the mean.
  const Change peer = [](RankAnalysis& r) { r.world_size = 8; };
  const std::string batch = "gpus: 8\nglobal_batch: 32\n";
  CHECK_FALSE(told(peer, StepOrigin::optimizer_burst, model(batch)).empty());
  CHECK(told(peer, StepOrigin::optimizer_burst, model(batch + "pp: 8\n")).empty());
}

TEST_CASE("work share: FP32 is slow on every GPU, which leaves rates out and denies nothing") {
  const FactDb facts = facts_of(model(kFour), 900, [](RankAnalysis& r) {
    r.devices[0].gpu = "NVIDIA RTX 5000 Ada Generation Laptop GPU";
    r.config.precisions = {"fp32"};
  });
  CHECK(has(withheld(facts), "% of 163 TFLOPS, which no GPU exceeds in FP32"));
  CHECK(against(facts).empty());
  // Without the link to launches the records are whole all the same.
  const FactDb unlinked = facts_of(
      model(kFour), 300, [](RankAnalysis& r) { r.devices[0].evidence.step_ops_with_launch = 0; });
  CHECK_FALSE(against(unlinked).empty());
  const FactDb lost =
      facts_of(model(kFour), 300, [](RankAnalysis& r) { r.devices[0].launches_without_op = 500; });
  CHECK(against(lost).empty());
}

TEST_CASE("work share: no step, no rate") {
  const FactDb facts = facts_of(model(kFour), 900, {}, StepOrigin::whole);
  CHECK(value(facts, "SELECT step_count FROM fact_run") == "0");
  CHECK(has(withheld(facts), "mark the steps"));
  for (const char* rate : {"tokens_per_s_per_gpu", "tflops_per_gpu", "mfu"})
    CHECK(value(facts, std::string("SELECT ") + rate + " FROM fact_throughput") == "NULL");
  CHECK(value(facts, "SELECT tokens_per_step FROM fact_throughput") == "16384");
  CHECK(has(value(facts, "SELECT text FROM fact_note WHERE code = 'rate_withheld'"),
            "mark the steps"));
}

TEST_CASE("lone GPU: a rank that never communicates is none of a job with TP, PP, CP, EP or DP") {
  const auto told = [](const std::string& more, const Change& change = {},
                       StepOrigin origin = StepOrigin::optimizer_burst) {
    return against(facts_of("framework: megatron_lm\n" + more, 900, change, origin));
  };
  const char* const kNever = "against one GPU that never communicates";
  for (const char* size : {"tp: 8", "pp: 4", "cp: 2", "ep: 8"}) {
    INFO(size);
    CHECK(has(told(size), kNever));
    CHECK(has(told(size, {}, StepOrigin::profiler_step), kNever));
  }
  CHECK(told("tp: 1\npp: 1").empty());
  CHECK(told("gpus: 1").empty());
  // Gradients are added up where a step ends with the update.
  CHECK(has(told("gpus: 8"), kNever));
  CHECK(has(told("dp: 8"), kNever));
  CHECK(told("gpus: 8", {}, StepOrigin::profiler_step).empty());
  CHECK(told("gpus: 8\nmicro_batch: 2\nglobal_batch: 64", {}, StepOrigin::profiler_step).empty());
  CHECK(has(told("gpus: 8\nmicro_batch: 2\nglobal_batch: 16", {}, StepOrigin::profiler_step),
            kNever));
}

TEST_CASE("lone GPU: not sure where it may be one of many, or plays one") {
  const auto told = [](const Change& change, const char* more = "",
                       StepOrigin origin = StepOrigin::optimizer_burst) {
    return against(facts_of(std::string("framework: megatron_lm\ntp: 8\npp: 4\n") + more, 900,
                            change, origin));
  };
  CHECK_FALSE(told({}).empty());
  CHECK(told({}, "fake_process_group: true").empty());
  CHECK(told([](RankAnalysis& r) { r.rank_source = RankSource::file_name; }).empty());
  CHECK(told([](RankAnalysis& r) { r.world_size = 32; }).empty());
  CHECK(told([](RankAnalysis& r) { r.devices[0].comm = {1000, 0}; }).empty());
  CHECK(told([](RankAnalysis& r) {
          r.devices[0].collectives.push_back(
              made::collective(CommKind::tp, CollectiveOp::all_reduce, 1000));
        }).empty());
  CHECK(told([](RankAnalysis& r) {
          r.communicators.push_back({"GROUP", "1|0|1", {0, 1}, 2, CommKind::other, true, false});
        }).empty());
  CHECK(told([](RankAnalysis& r) { r.graphs_as_a_whole = true; }).empty());
  CHECK(told({}, "", StepOrigin::whole).empty());
}

TEST_CASE("lone GPU: the fact of the run") {
  const auto lone = [](const Change& change, StepOrigin origin = StepOrigin::optimizer_burst) {
    return value(facts_of(model(kFour), 900, change, origin), "SELECT lone_gpu FROM fact_run");
  };
  CHECK(lone({}) == "1");
  CHECK(lone([](RankAnalysis& r) {
          r.world_size = 1;
          r.rank_source = RankSource::file_name;
        }) == "1");
  CHECK(lone([](RankAnalysis& r) { r.rank_source = RankSource::file_name; }) == "0");
  CHECK(lone([](RankAnalysis& r) { r.devices[0].comm = {1000, 0}; }) == "0");
  CHECK(lone({}, StepOrigin::whole) == "0");
}

TEST_CASE("lone GPU: a dry run has no rates") {
  CHECK(has(
      withheld(facts_of(model("gpus: 8\ntp: 8\nglobal_batch: 4\nfake_process_group: true\n"), 900)),
      "fake ranks"));
}

}  // namespace ws
