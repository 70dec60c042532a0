#include "report/missing_facts.h"

#include <algorithm>

#include "advise/rule.h"
#include "facts/fact_db.h"
#include "support/catch.h"

using namespace ws;

namespace {

// No alias, table or column: a reader's words, or a variable of the environment.
bool is_plain(const std::string& words) {
  const std::string what = words.substr(0, words.find(": "));
  for (size_t at = what.find('_'); at != std::string::npos; at = what.find('_', at + 1))
    if (at == 0 || what[at - 1] < 'A' || what[at - 1] > 'Z') return false;
  return !words.empty();
}

}  // namespace

TEST_CASE("missing facts have words and a way to supply them") {
  CHECK(facts_words({"fact_memory.headroom_share"}) ==
        "memory events: torch.profiler with profile_memory=True, or nsys with "
        "--cuda-memory-usage=true");
  CHECK(facts_words({"fact_config.ep", "fact_config.overlap_grad_reduce"}) ==
        "EP, overlap of the gradient reduction of the run configuration: --config FILE");
  CHECK(facts_words({"fact_config.tp", "fact_layout.bubble_share",
                     "fact_memory.peak_reserved_bytes", "fact_memory.headroom_share"}) ==
        "TP of the run configuration, sizes, GPUs and platform in the run configuration: --config "
        "FILE; memory events: torch.profiler with profile_memory=True, or nsys with "
        "--cuda-memory-usage=true");
  CHECK(facts_words({}).empty());
}

TEST_CASE("of a configuration that was given, the key that it has not is named") {
  Supply given;
  given.config_given = true;
  CHECK(facts_words({"fact_config.cpu_offloading_layers"}, given) ==
        "offloaded layers of the run configuration: add cpu_offloading_layers to the file of "
        "--config");
  given.framework = "megatron_lm";
  CHECK(how_to_supply("fact_config.cpu_offloading_layers", given) ==
        "add --cpu-offloading-num-layers (cpu_offloading_layers) to the file of --config");
  given.framework = "megatron_bridge";
  CHECK(how_to_supply("fact_config.cpu_offloading_layers", given).find("cpu_offloading") !=
        std::string::npos);
  CHECK(how_to_supply("fact_config.cuda_device_max_connections", given) ==
        "add CUDA_DEVICE_MAX_CONNECTIONS (cuda_device_max_connections) to the file of --config");
  CHECK(how_to_supply("fact_config.expandable_segments", given)
            .find("_ALLOC_CONF (expandable_segments)") != std::string::npos);
  // No key of a file: what several make together.
  for (const char* fact : {"fact_layout.bubble_share", "fact_config.graphs_asked", "fact_setting"})
    CHECK(how_to_supply(fact, given) ==
          "`wallsight plan` on the file of --config lists what it lacks");
  for (const FactColumn& c : facts_columns())
    CHECK(facts_words({c.table + "." + c.column}, given).find("--config FILE") ==
          std::string::npos);
}

TEST_CASE("of what is computed, the settings are named that the file lacks for it") {
  Supply given;
  given.config_given = true;
  given.framework = "megatron_lm";
  given.absent = {"micro_batch", "global_batch", "framework_version"};
  CHECK(how_to_supply("fact_layout.accumulation", given) ==
        "add --micro-batch-size (micro_batch), --global-batch-size (global_batch) to the file of "
        "--config");
  CHECK(facts_words({"fact_layout.accumulation"}, given) ==
        "micro-batch, global batch of the run configuration: add --micro-batch-size (micro_batch), "
        "--global-batch-size (global_batch) to the file of --config");
  CHECK(how_to_supply("fact_config.core_release", given) ==
        "add framework_version to the file of --config");
  CHECK(how_to_supply("fact_layout.tokens_per_shard", given) ==
        "`wallsight plan` on the file of --config lists what it lacks");  // it has the sequence
  auto facts = FactDb::in_memory();
  REQUIRE(facts);
  REQUIRE(facts->db().exec("INSERT INTO fact_config (given, gpus, micro_batch) VALUES (1, 8, 1)"));
  const Supply of_run = supply_of(*facts);
  CHECK(of_run.config_given);
  CHECK(std::count(of_run.absent.begin(), of_run.absent.end(), "global_batch") == 1);
  CHECK(std::count(of_run.absent.begin(), of_run.absent.end(), "gpus") == 0);
  // A file that could not have started the run is none to add to.
  Finding another;
  another.disowns_file = true;
  CHECK_FALSE(supply_of(*facts, {another}).config_given);
}

TEST_CASE("the profiler of the recording comes first in what supplies a fact") {
  Supply amd;
  amd.recorders = recorders_for("kineto-json", "AMD Instinct MI300X");
  Supply torch;
  torch.recorders = recorders_for("kineto-json", "NVIDIA H100 80GB HBM3");
  CHECK(how_to_supply("fact_memory", amd) == "torch.profiler with profile_memory=True");
  CHECK(how_to_supply("fact_host", torch).rfind("torch.profiler", 0) == 0);
  for (const FactColumn& c : facts_columns())
    CHECK(how_to_supply(c.table + "." + c.column, amd).find("nsys") == std::string::npos);
}

TEST_CASE("every fact that a rule reads has words and a way, none of them a column's name") {
  const auto rules = load_rules({WS_SOURCE_DIR "/rules"});
  REQUIRE(rules);
  size_t count = 0;
  for (const Rule& rule : rules->rules) {
    for (const Clause& clause : rule.when) {
      for (const TableColumn& c : clause.reads) {
        const std::string fact = c.table + "." + c.column;
        INFO(rule.id << ": " << fact << ": " << facts_words({fact}));
        CHECK(is_plain(facts_words({fact})));
        CHECK(how_to_supply(fact) != "not in this recording");
        ++count;
      }
    }
  }
  CHECK(count > 100);
}

TEST_CASE("any other column and a table alone have words as well") {
  for (const FactColumn& c : facts_columns()) {
    INFO(c.table << "." << c.column);
    CHECK(!facts_words({c.table}).empty());
    CHECK(is_plain(facts_words({c.table + "." + c.column})));
  }
}
