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

TEST_CASE("flags of the table are those of the releases, none of the spellings that never were") {
  for (const char* wrong : {"--fake-init-process-group", "--cpu-offloading", "--overlap-p2p-comm",
                            "--fp8", "--offload-optimizer-states"})
    CHECK(key_table().by_flag(wrong) == nullptr);
}

}  // namespace ws
