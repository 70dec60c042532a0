// schemas/run_config.schema.json is the table the reader works by: no spelling may mean two things.
#include "config/key_table.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "support/catch.h"
#include "unit/house/source_tree.h"

namespace ws {

TEST_CASE("every spelling belongs to one key, every key says what it is") {
  const auto schema =
      nlohmann::json::parse(house::read_text(house::root() / "schemas/run_config.schema.json"));
  for (const char* form :
       {"x-megatron-lm", "x-megatron-bridge", "x-huggingface", "x-torchtitan", "x-also"}) {
    std::set<std::string> seen;
    for (const auto& [key, property] : schema["properties"].items()) {
      for (const auto& spelling : property.value(form, nlohmann::json::array())) {
        INFO(form << " " << spelling);
        CHECK(seen.insert(spelling.get<std::string>()).second);
      }
      CHECK(property.at("description").get<std::string>().size() > 3);
    }
  }
}

TEST_CASE("flags, attributes, paths and variables find their key") {
  const KeyTable& t = key_table();
  CHECK(t.keys().size() > 100);
  CHECK(t.by_flag("--tensor-model-parallel-size")->key->name == "tp");
  CHECK(t.by_flag("--tensor_model_parallel_size")->key->name == "tp");
  CHECK(t.by_flag("--grad-reduce-in-bf16")->constant == "false");
  CHECK(t.by_flag("--no-such-flag") == nullptr);
  CHECK(t.by_attribute("check_for_nan_in_loss_and_grad")->constant.empty());
  CHECK(t.by_path("a.b.model.tensor_model_parallel_size")->key->name == "tp");
  CHECK(t.by_path("trainer.devices")->key->name == "gpus_per_node");
  CHECK(t.by_path("elsewhere.devices") == nullptr);
  CHECK(t.by_model_card("num_hidden_layers")->key->name == "num_layers");
  CHECK(t.by_native("mbs")->key->name == "micro_batch");
  CHECK(t.by_variable("PYTORCH_ALLOC_CONF")->front().constant == "expandable_segments:True");
  CHECK(t.find("tp")->type == KeyType::integer);
  CHECK(t.find("no_such_key") == nullptr);
}

TEST_CASE("torchtitan: a key has the name of the release whose names the file has") {
  struct Case {
    const char* key;
    std::vector<std::string> used;
    const char* name;
  };
  const Case cases[] = {
      {"torch_compile", {}, "compile.enable"},
      {"torch_compile", {"training.compile"}, "training.compile"},
      {"torch_compile", {"training.batch_size"}, "training.compile"},
      {"torch_compile", {"parallelism.tensor_parallel_degree"}, "compile.enable"},
      {"tp_comm_overlap", {"training.batch_size"}, "parallelism.enable_async_tensor_parallel"},
      {"tp_comm_overlap",
       {"training.tensor_parallel_degree"},
       "experimental.enable_async_tensor_parallel"},
      {"micro_batch", {"experimental.pipeline_parallel_degree"}, "training.batch_size"},
      {"fused_optimizer", {"experimental.pipeline_parallel_degree"}, "optimizer.implementation"},
      {"fused_optimizer", {"optimizer.fused"}, "optimizer.fused"},
      {"fp8_recipe", {"training.compile"}, "float8.recipe_name"},
      {"fp8_recipe", {"compile.enable"}, "quantize.linear.float8.recipe_name"},
      {"fsdp_shard_size", {"training.data_parallel_degree"}, "training.data_parallel_degree"},
      {"vpp", {}, ""},
      {"num_layers", {"training.compile"}, ""},
  };
  for (const Case& c : cases) {
    INFO(c.key << " " << (c.used.empty() ? "" : c.used.front()));
    CHECK(key_table().in_torchtitan(c.key, c.used) == c.name);
  }
  CHECK(key_table().of_torchtitan("training.batch_size")->name == "micro_batch");
  CHECK(key_table().of_torchtitan("batch_size") == nullptr);
}

TEST_CASE("flags of the table are those of the releases, none of the spellings that never were") {
  for (const char* wrong : {"--fake-init-process-group", "--cpu-offloading", "--overlap-p2p-comm",
                            "--fp8", "--offload-optimizer-states"})
    CHECK(key_table().by_flag(wrong) == nullptr);
}

}  // namespace ws
