#include <algorithm>

#include "config/offers.h"

#include "config/read_config.h"
#include "support/catch.h"

namespace ws {
namespace {

RunConfig config_of(const std::string& yaml) {
  const auto config = read_config(yaml, "test.yaml");
  if (!config) FAIL(config.error().message);
  return *config;
}

// Of a GPU, by what a size and a list are.
Offers offers(const std::string& yaml, const MemoryUse& memory = {}) {
  const RunConfig config = config_of(yaml);
  return offers_of(config, layout_of(config), memory, 8);
}

MemoryUse share_of(const char* key, int64_t units) {
  return [=](const RunConfig& config) {
    const double share =
        static_cast<double>(units) / static_cast<double>(integer(config, key).value_or(1));
    return std::optional(MemoryShares{share, share * 1.1, int64_t{1} << 30});
  };
}

}  // namespace

TEST_CASE("offers: CP divides GPUs, sequence and batch and leaves data parallelism") {
  const std::string run = "gpus: 32\ntp: 4\nmicro_batch: 1\nglobal_batch: 32\n";
  CHECK(offers(run + "cp: 2\nseq_len: 131072\n").cp == 4);  // 8 would leave DP 1
  CHECK(offers("gpus: 16\npp: 2\nseq_len: 131072\n").cp == 4);
  CHECK(offers("gpus: 96\ncp: 12\nseq_len: 100000\nmicro_batch: 1\nglobal_batch: 32\n").cp == 12);
  CHECK(offers("seq_len: 131072\n").cp == 32);  // nothing else is known
  CHECK_FALSE(offers("gpus: 32\n").cp);
  // The last one only where nothing else fits.
  CHECK(offers(run + "cp: 2\nseq_len: 131072\n", share_of("cp", 6)).cp == 8);
  // Less, as far as it fits.
  CHECK(offers("gpus: 32\ncp: 16\nseq_len: 8192\n").cp == 2);
  CHECK(offers("gpus: 32\ncp: 16\nseq_len: 8192\n", share_of("cp", 3)).cp == 4);
}

TEST_CASE("offers: the largest EP inside the fast domain that fits, or what it would need") {
  const std::string run = "gpus: 64\nep: 32\netp: 1\nnum_experts: 64\n";
  CHECK(offers(run).ep == 8);
  const Offers none = offers(run, share_of("ep", 16));
  CHECK_FALSE(none.ep);
  CHECK(none.ep_refused == "EP 8 needs 1.0 GiB, 200 %");
  CHECK(offers(run, share_of("ep", 4)).ep_memory == "1.0 GiB, 50 %");
  CHECK_FALSE(offers("gpus: 64\nep: 8\netp: 1\nnum_experts: 64\n").ep);
}

TEST_CASE("offers: shards of FSDP until it fits") {
  const std::string run = "framework: pytorch\ngpus: 64\nfsdp_sharding: optim_grads_params\n";
  CHECK(offers(run + "fsdp_shard_size: 8\n", share_of("fsdp_shard_size", 14)).shards == 16);
  CHECK(offers(run + "fsdp_shard_size: 8\n", share_of("fsdp_shard_size", 90)).shards == 64);
  CHECK_FALSE(offers(run + "fsdp_shard_size: 8\n", share_of("fsdp_shard_size", 4)).shards);
}

TEST_CASE("offers: recompute of moe and the optimizer on the host stay where they are needed") {
  const std::string run =
      "num_experts: 8\nrecompute_granularity: selective\nrecompute_modules: [moe, mlp]\n"
      "optimizer_cpu_offload: true\n";
  const auto by = [](double moe, double host) {
    return [=](const RunConfig& config) {
      const auto names = list(config, "recompute_modules").value_or(std::vector<std::string>{});
      double share = 0.5;
      if (std::find(names.begin(), names.end(), "moe") == names.end()) share += moe;
      if (boolean(config, "optimizer_cpu_offload") != true) share += host;
      return std::optional(MemoryShares{share, share, int64_t{1} << 30});
    };
  };
  using Names = std::vector<std::string>;
  CHECK(offers(run, by(0.1, 0.1)).recompute == Names{"mlp", "layernorm", "moe_act"});
  CHECK(offers(run, by(0.1, 0.1)).moe_needed.empty());
  CHECK(offers(run, by(0.1, 0.1)).without_host == "1.0 GiB, 70 %");
  CHECK(offers(run, by(0.6, 0.1)).recompute == Names{"moe", "mlp"});
  CHECK(offers(run, by(0.6, 0.1)).moe_needed == "1.0 GiB, 110 %");
  CHECK(offers(run, by(0.1, 0.6)).without_host.empty());
}

}  // namespace ws
