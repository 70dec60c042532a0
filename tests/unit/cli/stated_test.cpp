#include "cli/stated.h"

#include "config/read_config.h"
#include "support/catch.h"

using namespace ws;
using namespace ws::cli;

namespace {

StatedOptions options(const char* key, const char* value) {
  StatedOptions out;
  for (auto& [name, text] : out.values)
    if (name == key) text = value;
  return out;
}

std::string stated(const char* key, const char* value) {
  const auto config = stated_config(options(key, value));
  if (!config) return config.error().message;
  REQUIRE(config->entries.size() == 1);
  CHECK(config->entries[0].place == "command line");
  return shown_value(config->entries[0].value);
}

}  // namespace

TEST_CASE("stated: releases and frameworks in their normal form") {
  CHECK(stated("framework_version", "core_r0.12.0") == "0.12.0");
  CHECK(stated("torch_version", "2.6.0+cu124") == "2.6.0");
  CHECK(stated("framework", "megatron-lm") == "megatron_lm");
  CHECK(stated("framework", "pytorch") == "pytorch");
  CHECK(stated("framework", "nemo") ==
        "--framework: expected one of megatron-lm megatron-bridge pytorch, found 'nemo'");
  CHECK(stated("te_version", "banana") ==
        "--te-version: expected a release of Transformer Engine such as 2.8, found 'banana'");
  CHECK(stated_config(StatedOptions{})->entries.empty());
}

TEST_CASE("stated: in place of what the file says, and told where that differs") {
  auto config = read_config("framework: megatron_lm\nframework_version: 0.16\ntp: 2", "run.yaml");
  REQUIRE(config);
  REQUIRE(put_stated(*config, *stated_config(options("framework_version", "v0.12"))));
  CHECK(text(*config, "framework_version") == "0.12");
  CHECK(config->notes == std::vector<std::string>{"framework_version: 0.12 of the command line is "
                                                  "used, not 0.16 (run.yaml: line 2)"});
  REQUIRE(put_stated(*config, *stated_config(options("framework_version", "0.12"))));
  REQUIRE(put_stated(*config, *stated_config(options("te_version", "2.8"))));
  CHECK(config->notes.size() == 1);
  CHECK(text(*config, "te_version") == "2.8");
  const auto torch = put_stated(*config, *stated_config(options("framework_version", "2.8")));
  REQUIRE_FALSE(torch);
  CHECK(torch.error().message.find("a release of PyTorch is torch_version") != std::string::npos);
}

TEST_CASE("stated: another framework does not have Megatron's defaults") {
  auto config = read_config("torchrun train.py --num-layers 8 --micro-batch-size 1", "run.sh");
  REQUIRE(config);
  CHECK(boolean(*config, "overlap_grad_reduce") == false);
  REQUIRE(put_stated(*config, *stated_config(options("framework", "pytorch"))));
  CHECK_FALSE(boolean(*config, "overlap_grad_reduce"));
  CHECK(integer(*config, "num_layers") == 8);
}
