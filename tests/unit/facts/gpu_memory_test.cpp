// Shares of the GPU's memory are of the card that was recorded, wherever they are told.
#include "support/catch.h"
#include "unit/facts/run_facts.h"

namespace ws {
namespace {

constexpr int64_t k40 = 42'298'834'944, k80 = 85'174'583'296;  // as the driver says them

const char* const kModel =
    "framework: megatron_lm\nnum_layers: 32\nhidden_size: 4096\nffn_hidden_size: 11008\n"
    "attention_heads: 32\nvocab_size: 32000\ntp: 8\ngpus: 8\nseq_len: 4096\nmicro_batch: 1\n"
    "global_batch: 8\nbf16: true\n";

FactDb facts_of(const std::string& gpu, int64_t recorded, const std::string& yaml = kModel,
                int64_t peak = -1) {
  DeviceAnalysis device = made::device(made::leaves({{Leaf::gemm, 4'000'000'000}}));
  KernelRow gemm;
  gemm.cls = "gemm";
  gemm.count = 6;
  gemm.total_ns = TimeNs{6} * 4'000'000'000;
  device.kernels = {gemm};
  device.gpu = gpu;
  device.memory.capacity_bytes = recorded;
  device.memory.peak_reserved_bytes = peak;
  RunAnalysis run;
  run.ranks = {made::rank(device, 0, 8)};
  run.ranks[0].config.precisions = {"bf16"};
  return made::run_facts(std::move(run), yaml);
}

using made::value;

double number(const FactDb& facts, const std::string& sql) { return std::stod(value(facts, sql)); }

}  // namespace

TEST_CASE("gpu memory: the estimate is held against the recorded card") {
  const std::string kShare = "SELECT memory_share FROM fact_layout";
  const double bytes =
      number(facts_of("NVIDIA A100-SXM4-80GB", k80), "SELECT memory_bytes FROM fact_layout");
  const auto share = [&](const char* gpu, int64_t recorded, const std::string& yaml = kModel) {
    return number(facts_of(gpu, recorded, yaml), kShare);
  };
  CHECK(share("NVIDIA A100-SXM4-80GB", k80) == Approx(bytes / double(k80)));
  CHECK(share("NVIDIA A100-SXM4-40GB", k40) == Approx(bytes / double(k40)));
  CHECK(share("NVIDIA A100-PG509-200", k40) == Approx(bytes / double(k40)));
  CHECK(share("NVIDIA A100-SXM4-40GB", 0) == Approx(bytes / double(k40)));
  CHECK(share("Tesla V100-SXM2-16GB", 0) == Approx(bytes / double(int64_t{16} << 30)));
  CHECK(share("AMD Instinct MI325X", 0) == Approx(bytes / 274'861'129'728.0));
  // The recording wins, over the table and over what the file says.
  CHECK(share("NVIDIA H100", 102'085'492'736) == Approx(bytes / 102'085'492'736.0));
  CHECK(share("NVIDIA A100-SXM4-40GB", k40, std::string(kModel) + "platform: a100\n") ==
        Approx(bytes / double(k40)));
  CHECK(value(facts_of("a board nobody knows", 0), kShare) == "NULL");
}

TEST_CASE("gpu memory: facts of the run, headroom and the platform's key") {
  const FactDb small = facts_of("NVIDIA A100-SXM4-40GB", 0, kModel, k40 / 2);
  CHECK(value(small, "SELECT gpu_memory_bytes FROM fact_run") == std::to_string(k40));
  CHECK(value(small, "SELECT capacity_bytes FROM fact_memory") == std::to_string(k40));
  CHECK(number(small, "SELECT headroom_share FROM fact_memory") == Approx(0.5));
  CHECK(value(small, "SELECT platform FROM fact_run") == "a100");
  const FactDb recorded = facts_of("NVIDIA A100-PG509-200", k40, kModel, k40 / 4);
  CHECK(number(recorded, "SELECT headroom_share FROM fact_memory") == Approx(0.75));
}

TEST_CASE("gpu memory: peaks are those of the recorded board") {
  const auto peak = [](const char* gpu, int64_t recorded) {
    return value(facts_of(gpu, recorded), "SELECT peak_tflops FROM fact_throughput");
  };
  CHECK(peak("NVIDIA H100 80GB HBM3", 0) == "989.4");
  CHECK(peak("NVIDIA H100 PCIe", 0) == "756.5");
  CHECK(peak("NVIDIA H20", 0) == "148.0");
  // A slice of a GPU has a part of the units, and no table says which.
  CHECK(peak("NVIDIA A100-SXM4-80GB MIG 3g.40gb", 0) == "NULL");
  CHECK(peak("NVIDIA A100-SXM4-80GB", int64_t{10} << 30) == "NULL");
}

TEST_CASE("gpu memory: a file for another card is told, for the same one it is not") {
  const auto told = [](const std::string& platform, const char* gpu, int64_t recorded) {
    const FactDb facts = facts_of(gpu, recorded, kModel + ("platform: " + platform + "\n"));
    return value(facts,
                 "SELECT coalesce(max(text), '') FROM fact_note WHERE code = "
                 "'config_contradicted'");
  };
  CHECK(told("a100", "NVIDIA A100-SXM4-40GB", k40).empty());
  CHECK(told("a100-40gb", "NVIDIA A100-SXM4-40GB", k40).empty());
  CHECK(told("a100-80gb", "NVIDIA A100-PG509-200", k40).find("platform: ") != std::string::npos);
  CHECK(told("h100", "NVIDIA A100-SXM4-40GB", k40).find("platform: ") != std::string::npos);
  CHECK(told("h100", "NVIDIA H100 80GB HBM3", 0).empty());
}

}  // namespace ws
