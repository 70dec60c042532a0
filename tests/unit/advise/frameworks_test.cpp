#include "advise/frameworks.h"

#include <algorithm>

#include "support/catch.h"
#include "support/fact_fixture.h"

using namespace ws;
using namespace ws::test;
using By = Frameworks::By;

namespace {

const std::vector<Action> kActions = {
    {"megatron_lm", "--a", "", ""},        {"any", "first", "", ""},
    {"megatron_bridge", "cfg.a", "1", ""}, {"pytorch", "torch.a", "", ""},
    {"megatron_lm", "--b", "", ""},        {"env", "PYTORCH_CUDA_ALLOC_CONF", "x", ""},
    {"nsys", "nsys profile", "", ""}};

std::string shown(const Frameworks& frameworks) {
  std::string out;
  for (const Action& a : actions_for(kActions, frameworks)) out += a.set + " ";
  return out;
}

FactDb facts_with(const std::string& sql) {
  FactDb facts = exchange_facts();
  exec(facts, "UPDATE fact_run SET framework = NULL, framework_by = NULL");
  if (!sql.empty()) exec(facts, sql);
  return facts;
}

}  // namespace

TEST_CASE("a framework that configuration or names tell has its own settings and no other's") {
  const Frameworks seen = frameworks_of(
      facts_with("UPDATE fact_run SET framework = 'pytorch', framework_by = 'operators'"));
  CHECK(seen.by == By::names);
  CHECK(shown(seen) == "first torch.a PYTORCH_CUDA_ALLOC_CONF nsys profile ");
  CHECK(shown(frameworks_of(facts_with(
            "UPDATE fact_run SET framework = 'megatron_lm', framework_by = 'program'"))) ==
        "--a first --b PYTORCH_CUDA_ALLOC_CONF nsys profile ");
  const Frameworks given = frameworks_of(facts_with(
      "UPDATE fact_run SET framework = 'pytorch', framework_by = 'operators'; UPDATE fact_config "
      "SET framework = 'megatron_bridge'"));
  CHECK(given.by == By::configuration);
  CHECK(shown(given) == "first cfg.a PYTORCH_CUDA_ALLOC_CONF nsys profile ");
}

TEST_CASE("where torch.profiler recorded nsys comes last, and never for AMD") {
  const char* kineto = "UPDATE fact_run SET source_format = 'kineto-json', gpu = ";
  const auto by = [&](const std::string& gpu, const char* framework) {
    return shown(frameworks_of(
        facts_with(kineto + gpu + ", framework = '" + framework + "', framework_by = 'program'")));
  };
  std::vector<Action> nsys_first = kActions;
  std::rotate(nsys_first.begin(), nsys_first.end() - 1, nsys_first.end());
  const Frameworks torch = frameworks_of(facts_with(
      "UPDATE fact_run SET source_format = 'kineto-json', gpu = 'NVIDIA H100', framework = "
      "'pytorch', framework_by = 'operators'"));
  CHECK(actions_for(nsys_first, torch).back().framework == "nsys");
  CHECK(by("'AMD Instinct MI300X'", "megatron_lm") == "--a first --b PYTORCH_CUDA_ALLOC_CONF ");
  const Frameworks nsys = frameworks_of(
      facts_with("UPDATE fact_run SET source_format = 'nsys-sqlite', gpu = 'NVIDIA H100'"));
  CHECK(actions_for(nsys_first, nsys).front().framework == "nsys");
}

TEST_CASE("what several frameworks may be has the settings of each, side by side") {
  const Frameworks core = frameworks_of(
      facts_with("UPDATE fact_run SET framework = 'megatron_lm', framework_by = 'core'"));
  CHECK(core.by == By::core);
  CHECK(shown(core) == "--a --b cfg.a first PYTORCH_CUDA_ALLOC_CONF nsys profile ");
  const Frameworks kernels = frameworks_of(
      facts_with("UPDATE fact_run SET framework = 'pytorch', framework_by = 'kernels'"));
  CHECK(kernels.by == By::kernels);
  CHECK(shown(kernels) == "torch.a --a --b cfg.a first PYTORCH_CUDA_ALLOC_CONF nsys profile ");
  const Frameworks nothing = frameworks_of(facts_with(""));
  CHECK(nothing.by == By::nothing);
  CHECK(nothing.names.size() == 3);
}

TEST_CASE("a program of kernels that nobody else has gets what holds for any program") {
  const Frameworks own = frameworks_of(facts_with("UPDATE fact_kernel SET unclassified = 1"));
  CHECK(own.by == By::own_program);
  CHECK(shown(own) == "first nsys profile ");
  CHECK(frameworks_of(facts_with("UPDATE fact_kernel SET unclassified = 1; UPDATE fact_run SET "
                                 "framework = 'pytorch', framework_by = 'kernels'"))
            .by == By::kernels);
  // Libraries' kernels may be anybody's, and copies are no kernels.
  CHECK(frameworks_of(facts_with("UPDATE fact_kernel SET unclassified = 0; UPDATE fact_kernel SET "
                                 "unclassified = 1, class = 'h2d' WHERE class = 'membound'"))
            .by == By::nothing);
  CHECK(frameworks_of(facts_with("DELETE FROM fact_kernel")).by == By::nothing);
}
